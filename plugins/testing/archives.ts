/**
 * Archives for tests, honest and hostile ones, byte by byte.
 *
 * @module
 */

const encoder = new TextEncoder();

/** One entry of a tar archive to be made. */
export interface TarItem {
  name: string;
  /**
   * The type flag.
   *
   * @default {"0"}
   */
  type?: string;
  data?: string | Uint8Array<ArrayBuffer>;
  mode?: number;
  link?: string;
  /** A size field that need not be true. */
  size?: number;
}

/** Makes a tar archive with two end blocks. */
export function makeTar(items: readonly TarItem[]): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = [];
  for (const item of items) {
    const data = typeof item.data === "string"
      ? encoder.encode(item.data)
      : item.data ?? new Uint8Array();
    const header = new Uint8Array(512);
    const put = (at: number, text: string) =>
      header.set(encoder.encode(text), at);
    put(0, item.name);
    put(100, octal(item.mode ?? 0o644, 7));
    put(108, octal(0, 7));
    put(116, octal(0, 7));
    put(124, octal(item.size ?? data.length, 11));
    put(136, octal(0, 11));
    put(148, "        ");
    put(156, item.type ?? "0");
    put(157, item.link ?? "");
    put(257, "ustar\x0000");
    put(148, octal(header.reduce((sum, byte) => sum + byte, 0), 6) + "\0 ");
    blocks.push(header, data);
    if (data.length % 512 !== 0) {
      blocks.push(new Uint8Array(512 - data.length % 512));
    }
  }
  blocks.push(new Uint8Array(1024));
  return join(blocks);
}

/** A pax record: its length counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length++;
  return `${length}${rest}`;
}

/** One entry of a zip archive to be made. */
export interface ZipItem {
  name: string;
  data?: string | Uint8Array<ArrayBuffer>;
  mode?: number;
  deflate?: boolean;
  /** The name in the local header, when it is to differ. */
  localName?: string;
  /** A size in the directory that need not be true. */
  size?: number;
  flags?: number;
  crc?: number;
}

/** Makes a zip archive. */
export async function makeZip(
  items: readonly ZipItem[],
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const item of items) {
    const raw = typeof item.data === "string"
      ? encoder.encode(item.data)
      : item.data ?? new Uint8Array();
    const packed = item.deflate ? await compress(raw, "deflate-raw") : raw;
    const crc = item.crc ?? crc32(raw);
    const fields = (name: Uint8Array, start: number[]) => {
      const bytes: number[] = [];
      const u16 = (n: number) => bytes.push(n & 255, (n >> 8) & 255);
      const u32 = (n: number) => {
        u16(n & 0xffff);
        u16(n >>> 16);
      };
      start.forEach(u16);
      u16(item.flags ?? 0x800);
      u16(item.deflate ? 8 : 0);
      u32(0);
      u32(crc);
      u32(packed.length);
      u32(item.size ?? raw.length);
      u16(name.length);
      return { bytes, u16, u32 };
    };
    const localName = encoder.encode(item.localName ?? item.name);
    const local = fields(localName, [0x4b50, 0x0403, 20]);
    local.u16(0);
    parts.push(new Uint8Array(local.bytes), localName, packed);
    const name = encoder.encode(item.name);
    const entry = fields(name, [0x4b50, 0x0201, 0x031e, 20]);
    entry.u16(0);
    entry.u16(0);
    entry.u16(0);
    entry.u16(0);
    entry.u32(((item.mode ?? 0o100644) << 16) >>> 0);
    entry.u32(offset);
    central.push(new Uint8Array(entry.bytes), name);
    offset += local.bytes.length + localName.length + packed.length;
  }
  const size = central.reduce((sum, part) => sum + part.length, 0);
  const end = new Uint8Array(22);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, items.length, true);
  view.setUint16(10, items.length, true);
  view.setUint32(12, size, true);
  view.setUint32(16, offset, true);
  return join([...parts, ...central, end]);
}

/** Compresses bytes. */
export async function compress(
  bytes: Uint8Array<ArrayBuffer>,
  format: "gzip" | "deflate-raw",
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream()
    .pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The SHA-256 of bytes, in hex. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, "0");
}

function join(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
  }
  return (crc ^ 0xffffffff) >>> 0;
}
