/**
 * Small Mach-O and PE libraries, built byte by byte: no tool for them is needed.
 *
 * @module
 */

/** What to build. */
export interface ImageOptions {
  /** The exported name. */
  symbol?: string;
  /** Export data instead of a function. */
  data?: boolean;
  /** A universal file with another architecture in front. */
  fat?: boolean;
}

class Writer {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
  }

  u16(at: number, value: number): void {
    this.view.setUint16(at, value, true);
  }

  u32(at: number, value: number): void {
    this.view.setUint32(at, value, true);
  }

  u64(at: number, value: number): void {
    this.view.setBigUint64(at, BigInt(value), true);
  }

  text(at: number, text: string): void {
    this.bytes.set(new TextEncoder().encode(text), at);
  }
}

/** A Mach-O dynamic library for x86_64. */
export function machO(options: ImageOptions = {}): Uint8Array<ArrayBuffer> {
  const w = new Writer(1_024);
  w.u32(0, 0xfeedfacf);
  w.u32(4, 0x01000007);
  w.u32(12, 6);
  w.u32(16, 4);
  // __TEXT with one section, __DATA with one section, the symbol table, one needed library.
  let at = 32;
  for (const [name, protection] of [["__TEXT", 5], ["__DATA", 3]] as const) {
    w.u32(at, 0x19);
    w.u32(at + 4, 152);
    w.text(at + 8, name);
    w.u64(at + 40, 0);
    w.u64(at + 48, 512);
    w.u32(at + 60, protection);
    w.u32(at + 64, 1);
    at += 152;
  }
  w.u32(at, 2);
  w.u32(at + 4, 24);
  w.u32(at + 8, 600);
  w.u32(at + 12, 2);
  w.u32(at + 16, 700);
  w.u32(at + 20, 100);
  at += 24;
  w.u32(at, 0xc);
  w.u32(at + 4, 56);
  w.u32(at + 8, 24);
  w.text(at + 24, "/usr/lib/libSystem.B.dylib");
  w.u32(600, 1);
  w.bytes[604] = 0x0f;
  w.bytes[605] = options.data ? 2 : 1;
  w.u32(616, 60);
  w.bytes[620] = 0x01;
  w.text(701, `_${options.symbol ?? "rpi_plugin_register"}`);
  w.text(760, "_free");
  if (!options.fat) return w.bytes;
  const fat = new Uint8Array(2_048);
  const view = new DataView(fat.buffer);
  [0xcafebabe, 2, 0x0100000c, 0, 512, 16, 0, 0x01000007, 0, 1_024, 1_024, 0]
    .forEach((value, index) => view.setUint32(index * 4, value, false));
  fat.set(w.bytes, 1_024);
  return fat;
}

/** A PE library for x86_64. */
export function pe(options: ImageOptions = {}): Uint8Array<ArrayBuffer> {
  const w = new Writer(1_536);
  w.text(0, "MZ");
  w.u32(0x3c, 64);
  w.text(64, "PE");
  w.u16(68, 0x8664);
  w.u16(70, 2);
  w.u16(84, 240);
  w.u16(86, 0x2022);
  const optional = 88;
  w.u16(optional, 0x20b);
  w.u32(optional + 108, 16);
  w.u32(optional + 112, 0x2000);
  w.u32(optional + 116, 200);
  w.u32(optional + 120, 0x2100);
  w.u32(optional + 124, 40);
  const sections = optional + 240;
  for (
    const [index, name, address, offset, flags] of [[
      0,
      ".text",
      0x1000,
      512,
      0x60000020,
    ], [1, ".rdata", 0x2000, 1_024, 0x40000040]] as const
  ) {
    const at = sections + index * 40;
    w.text(at, name);
    w.u32(at + 8, 512);
    w.u32(at + 12, address);
    w.u32(at + 16, 512);
    w.u32(at + 20, offset);
    w.u32(at + 36, flags);
  }
  const place = (address: number) => address - 0x2000 + 1_024;
  w.u32(place(0x2000) + 20, 1);
  w.u32(place(0x2000) + 24, 1);
  w.u32(place(0x2000) + 28, 0x2040);
  w.u32(place(0x2000) + 32, 0x2050);
  w.u32(place(0x2000) + 36, 0x2060);
  w.u32(place(0x2040), options.data ? 0x2080 + 0x100 : 0x1000);
  w.u32(place(0x2050), 0x2070);
  w.text(place(0x2070), options.symbol ?? "rpi_plugin_register");
  w.u32(place(0x2100) + 12, 0x2150);
  w.text(place(0x2150), "KERNEL32.dll");
  return w.bytes;
}
