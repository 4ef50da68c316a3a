/**
 * ELF shared objects, as Linux loads them.
 *
 * @module
 */

import {
  type Bytes,
  type ExportedSymbol,
  type Image,
  Malformed,
} from "./bytes.ts";

const MACHINES: ReadonlyMap<number, string> = new Map([
  [3, "x86"],
  [40, "arm"],
  [62, "x86_64"],
  [183, "aarch64"],
  [243, "riscv64"],
]);

interface Segment {
  readonly offset: number;
  readonly address: number;
  readonly size: number;
  readonly memory: number;
  readonly code: boolean;
}

/**
 * Reads an ELF file.
 *
 * @param file The file.
 * @returns What it is.
 */
export function readElf(file: Bytes): Image {
  if (file.u8("the ELF class", 4) !== 2) {
    throw new Malformed("it is a 32-bit library, the ABI is 64-bit only");
  }
  if (file.u8("the ELF byte order", 5) !== 1) {
    throw new Malformed("it is big-endian, the ABI is little-endian only");
  }
  const type = file.u16("the ELF type", 16);
  const machine = file.u16("the ELF machine", 18);
  const arch = MACHINES.get(machine) ?? `machine ${machine}`;
  if (type === 1) {
    throw new Malformed("it is an object file, link it with -shared");
  }
  if (type === 2) throw new Malformed("it is a program, not a shared library");
  if (type !== 3) {
    throw new Malformed(
      `it is an ELF file of type ${type}, not a shared library`,
    );
  }
  const headerSize = file.u16("the program header size", 54);
  const headers = file.u16("the number of program headers", 56);
  const headerStart = file.u64("the program header table", 32);
  if (headers > 1024) {
    throw new Malformed(`it claims ${headers} program headers`);
  }
  if (headers === 0) throw new Malformed("it has no segments to load");
  if (headerSize !== 56) {
    throw new Malformed(
      `its program headers have ${headerSize} bytes, 56 are right`,
    );
  }
  file.need("the program header table", headerStart, headers * headerSize);

  const segments: Segment[] = [];
  let dynamic: { offset: number; size: number } | undefined;
  for (let i = 0; i < headers; i++) {
    const at = headerStart + i * headerSize;
    const kind = file.u32("a segment type", at);
    if (kind !== 1 && kind !== 2) continue;
    const offset = file.u64("a segment offset", at + 8);
    const size = file.u64("a segment size", at + 32);
    file.need(
      kind === 1 ? `segment ${i}` : "the dynamic section",
      offset,
      size,
    );
    if (kind === 2) {
      dynamic = { offset, size };
      continue;
    }
    const memory = file.u64("a segment memory size", at + 40);
    if (memory < size) {
      throw new Malformed(`segment ${i} is larger in the file than in memory`);
    }
    segments.push({
      offset,
      address: file.u64("a segment address", at + 16),
      size,
      memory,
      code: (file.u32("segment flags", at + 4) & 1) !== 0,
    });
  }
  if (segments.length === 0) throw new Malformed("it has no segments to load");
  if (dynamic === undefined) {
    throw new Malformed(
      "it has no dynamic section, so nothing can be looked up in it",
    );
  }
  checkSections(file);
  return {
    format: "elf",
    arch,
    ...readDynamic(file, segments, dynamic.offset, dynamic.size),
  };
}

/** A file cut after its last segment opens, but whoever cut it did not mean to ship it. */
function checkSections(file: Bytes): void {
  const start = file.u64("the section table", 40);
  if (start === 0) return;
  file.need(
    "the file was cut: its section table",
    start,
    file.u16("the section size", 58) * file.u16("the number of sections", 60),
  );
}

function readDynamic(
  file: Bytes,
  segments: readonly Segment[],
  offset: number,
  size: number,
): Omit<Image, "format" | "arch"> {
  const tags = new Map<number, number>();
  const needed: number[] = [];
  for (let at = offset; at + 16 <= offset + size; at += 16) {
    const low = file.u32("a dynamic tag", at);
    const high = file.u32("a dynamic tag", at + 4);
    if (low === 0 && high === 0) break;
    if (high !== 0) continue;
    const value = file.u64("a dynamic value", at + 8);
    if (low === 1) needed.push(value);
    else if (!tags.has(low)) tags.set(low, value);
  }
  if (((tags.get(0x6ffffffb) ?? 0) & 0x08000000) !== 0) {
    throw new Malformed(
      "it is a program (position independent), not a shared library",
    );
  }
  const place = (what: string, address: number): number => {
    const home = segments.find((s) =>
      address >= s.address && address < s.address + s.size
    );
    if (home === undefined) {
      throw new Malformed(`${what} lies outside every segment`);
    }
    return address - home.address + home.offset;
  };
  const names = tags.get(5);
  const table = tags.get(6);
  if (names === undefined || table === undefined) {
    throw new Malformed("it has no dynamic symbol table");
  }
  if ((tags.get(11) ?? 24) !== 24) {
    throw new Malformed("its symbols do not have 24 bytes");
  }
  const nameStart = place("the name table", names);
  const nameSize = tags.get(10) ?? 0;
  file.need("the name table", nameStart, nameSize);
  const nameAt = (what: string, index: number): string => {
    if (index >= nameSize) {
      throw new Malformed(`${what} lies outside the name table`);
    }
    return file.name(what, nameStart + index, nameStart + nameSize);
  };
  const symbolStart = place("the symbol table", table);
  const count = symbolCount(file, tags, place);
  file.need("the symbol table", symbolStart, count * 24);
  const symbols: ExportedSymbol[] = [];
  let exportCount = 0;
  for (let i = 1; i < count; i++) {
    const at = symbolStart + i * 24;
    const info = file.u8("a symbol", at + 4);
    const binding = info >> 4;
    const visibility = file.u8("a symbol", at + 5) & 3;
    const section = file.u16("a symbol", at + 6);
    if (section === 0 || (binding !== 1 && binding !== 2 && binding !== 10)) {
      continue;
    }
    if (visibility === 1 || visibility === 2) continue;
    exportCount++;
    const name = nameAt("a symbol name", file.u32("a symbol", at));
    if (!name.startsWith("rpi_")) continue;
    const kind = info & 15;
    const address = file.u64("a symbol address", at + 8);
    const inCode = segments.some((s) =>
      s.code && address >= s.address && address < s.address + s.memory
    );
    symbols.push({
      name,
      code: inCode && (kind === 2 || kind === 10 || kind === 0),
    });
  }
  return {
    symbols,
    exportCount,
    needs: needed.map((index) => nameAt("the name of a needed library", index)),
    // One entry is the compiler's own.
    initializers: (tags.get(27) ?? 0) > 8,
  };
}

function symbolCount(
  file: Bytes,
  tags: ReadonlyMap<number, number>,
  place: (what: string, address: number) => number,
): number {
  const classic = tags.get(4);
  if (classic !== undefined) {
    const at = place("the hash table", classic);
    return cap(file, file.u32("the number of symbols", at + 4));
  }
  const gnu = tags.get(0x6ffffef5);
  if (gnu === undefined) {
    throw new Malformed(
      "it has no hash table, so nothing can be looked up in it",
    );
  }
  const at = place("the hash table", gnu);
  const buckets = file.u32("the hash table", at);
  const first = file.u32("the hash table", at + 4);
  const bloom = file.u32("the hash table", at + 8);
  const bucketStart = at + 16 + bloom * 8;
  const chainStart = bucketStart + buckets * 4;
  file.need("the hash table", bucketStart, buckets * 4);
  let last = 0;
  for (let i = 0; i < buckets; i++) {
    last = Math.max(last, file.u32("a hash bucket", bucketStart + i * 4));
  }
  if (last < first) return cap(file, first);
  while (
    (file.u32("a hash chain", chainStart + (last - first) * 4) & 1) === 0
  ) last++;
  return cap(file, last + 1);
}

function cap(file: Bytes, count: number): number {
  if (count * 24 > file.length) {
    throw new Malformed(
      `it claims ${count} symbols, more than the file can hold`,
    );
  }
  return count;
}
