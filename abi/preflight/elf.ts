/**
 * ELF shared objects, as Linux loads them. Names in capitals are those of elf(5).
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

const ET_REL = 1;
const ET_EXEC = 2;
const ET_DYN = 3;
const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PF_X = 1;
const DT_NEEDED = 1;
const DT_HASH = 4;
const DT_STRTAB = 5;
const DT_SYMTAB = 6;
const DT_STRSZ = 10;
const DT_SYMENT = 11;
const DT_INIT_ARRAYSZ = 27;
const DT_GNU_HASH = 0x6ffffef5;
const DT_FLAGS_1 = 0x6ffffffb;
const DF_1_PIE = 0x08000000;
const SHN_UNDEF = 0;
/** Bindings under which a symbol can be looked up: STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE. */
const FOUND_BINDINGS: readonly number[] = [1, 2, 10];
/** Visibilities that keep a symbol inside: STV_INTERNAL, STV_HIDDEN. */
const HIDDEN_VISIBILITIES: readonly number[] = [1, 2];
/** Types that a function may have: STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC. */
const FUNCTION_TYPES: readonly number[] = [0, 2, 10];

/** The sizes of Elf64_Phdr, Elf64_Dyn and Elf64_Sym, in bytes. */
const PROGRAM_HEADER_BYTES = 56;
const DYNAMIC_BYTES = 16;
const SYMBOL_BYTES = 24;
/** A size of the initializers that says nothing: one address, the compiler's own. */
const OWN_INITIALIZER_BYTES = 8;
/** Many times what linkers write. */
const MAX_PROGRAM_HEADERS = 1024;

interface Segment {
  readonly offset: number;
  readonly address: number;
  readonly size: number;
  readonly memory: number;
  readonly code: boolean;
}

/** What the dynamic section says. */
interface Dynamic {
  /** The first value of each tag. */
  readonly tags: ReadonlyMap<number, number>;
  /** Where the names of the needed libraries begin in the name table. */
  readonly needed: readonly number[];
}

/**
 * Reads an ELF file.
 *
 * @param file The file.
 * @returns What it is.
 */
export function readElf(file: Bytes): Image {
  const arch = readHeader(file);
  const { segments, dynamic } = readSegments(file);
  checkSections(file);
  return { format: "elf", arch, ...readLibrary(file, segments, dynamic) };
}

/** The machine of a shared library; everything else is refused. */
function readHeader(file: Bytes): string {
  if (file.u8("the ELF class", 4) !== 2) {
    throw new Malformed("it is a 32-bit library, the ABI is 64-bit only");
  }
  if (file.u8("the ELF byte order", 5) !== 1) {
    throw new Malformed("it is big-endian, the ABI is little-endian only");
  }
  const type = file.u16("the ELF type", 16);
  const machine = file.u16("the ELF machine", 18);
  switch (type) {
    case ET_DYN:
      return MACHINES.get(machine) ?? `machine ${machine}`;
    case ET_REL:
      throw new Malformed("it is an object file, link it with -shared");
    case ET_EXEC:
      throw new Malformed("it is a program, not a shared library");
    default:
      throw new Malformed(
        `it is an ELF file of type ${type}, not a shared library`,
      );
  }
}

/** What is loaded, and the dynamic section. */
function readSegments(
  file: Bytes,
): { segments: Segment[]; dynamic: Dynamic } {
  const headerSize = file.u16("the program header size", 54);
  const headers = file.u16("the number of program headers", 56);
  const headerStart = file.u64("the program header table", 32);
  if (headers > MAX_PROGRAM_HEADERS) {
    throw new Malformed(`it claims ${headers} program headers`);
  }
  if (headers === 0) throw new Malformed("it has no segments to load");
  if (headerSize !== PROGRAM_HEADER_BYTES) {
    throw new Malformed(
      `its program headers have ${headerSize} bytes, ${PROGRAM_HEADER_BYTES} are right`,
    );
  }
  file.need("the program header table", headerStart, headers * headerSize);
  const segments: Segment[] = [];
  let dynamic: { offset: number; size: number } | undefined;
  for (let i = 0; i < headers; i++) {
    const at = headerStart + i * headerSize;
    const kind = file.u32("a segment type", at);
    if (kind !== PT_LOAD && kind !== PT_DYNAMIC) continue;
    const offset = file.u64("a segment offset", at + 8);
    const size = file.u64("a segment size", at + 32);
    const what = kind === PT_LOAD ? `segment ${i}` : "the dynamic section";
    file.need(what, offset, size);
    if (kind === PT_DYNAMIC) {
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
      code: (file.u32("segment flags", at + 4) & PF_X) !== 0,
    });
  }
  if (segments.length === 0) throw new Malformed("it has no segments to load");
  if (dynamic === undefined) {
    throw new Malformed(
      "it has no dynamic section, so nothing can be looked up in it",
    );
  }
  return { segments, dynamic: readDynamic(file, dynamic) };
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
  { offset, size }: { offset: number; size: number },
): Dynamic {
  const tags = new Map<number, number>();
  const needed: number[] = [];
  const end = offset + size;
  for (let at = offset; at + DYNAMIC_BYTES <= end; at += DYNAMIC_BYTES) {
    const low = file.u32("a dynamic tag", at);
    const high = file.u32("a dynamic tag", at + 4);
    if (low === 0 && high === 0) break;
    if (high !== 0) continue;
    const value = file.u64("a dynamic value", at + 8);
    if (low === DT_NEEDED) needed.push(value);
    else if (!tags.has(low)) tags.set(low, value);
  }
  return { tags, needed };
}

/** What the library gives and needs, looked up as the loader would. */
function readLibrary(
  file: Bytes,
  segments: readonly Segment[],
  { tags, needed }: Dynamic,
): Omit<Image, "format" | "arch"> {
  if (((tags.get(DT_FLAGS_1) ?? 0) & DF_1_PIE) !== 0) {
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
  const names = tags.get(DT_STRTAB);
  const table = tags.get(DT_SYMTAB);
  if (names === undefined || table === undefined) {
    throw new Malformed("it has no dynamic symbol table");
  }
  if ((tags.get(DT_SYMENT) ?? SYMBOL_BYTES) !== SYMBOL_BYTES) {
    throw new Malformed(`its symbols do not have ${SYMBOL_BYTES} bytes`);
  }
  const nameStart = place("the name table", names);
  const nameSize = tags.get(DT_STRSZ) ?? 0;
  file.need("the name table", nameStart, nameSize);
  const nameAt = (what: string, index: number): string => {
    if (index >= nameSize) {
      throw new Malformed(`${what} lies outside the name table`);
    }
    return file.name(what, nameStart + index, nameStart + nameSize);
  };
  const start = place("the symbol table", table);
  const count = symbolCount(file, tags, place);
  file.need("the symbol table", start, count * SYMBOL_BYTES);
  const isCode = (address: number) =>
    segments.some((s) =>
      s.code && address >= s.address && address < s.address + s.memory
    );
  return {
    ...readSymbols(file, { start, count }, nameAt, isCode),
    needs: needed.map((index) => nameAt("the name of a needed library", index)),
    initializers: (tags.get(DT_INIT_ARRAYSZ) ?? 0) > OWN_INITIALIZER_BYTES,
  };
}

/** The exported symbols: how many there are, and those that concern us. */
function readSymbols(
  file: Bytes,
  { start, count }: { start: number; count: number },
  nameAt: (what: string, index: number) => string,
  isCode: (address: number) => boolean,
): Pick<Image, "symbols" | "exportCount"> {
  const symbols: ExportedSymbol[] = [];
  let exportCount = 0;
  // The first symbol is no symbol.
  for (let i = 1; i < count; i++) {
    const at = start + i * SYMBOL_BYTES;
    const info = file.u8("a symbol", at + 4);
    const visibility = file.u8("a symbol", at + 5) & 3;
    const section = file.u16("a symbol", at + 6);
    if (section === SHN_UNDEF || !FOUND_BINDINGS.includes(info >> 4)) continue;
    if (HIDDEN_VISIBILITIES.includes(visibility)) continue;
    exportCount++;
    const name = nameAt("a symbol name", file.u32("a symbol", at));
    if (!name.startsWith("rpi_")) continue;
    const code = FUNCTION_TYPES.includes(info & 15) &&
      isCode(file.u64("a symbol address", at + 8));
    symbols.push({ name, code });
  }
  return { symbols, exportCount };
}

function symbolCount(
  file: Bytes,
  tags: ReadonlyMap<number, number>,
  place: (what: string, address: number) => number,
): number {
  const classic = tags.get(DT_HASH);
  if (classic !== undefined) {
    const at = place("the hash table", classic);
    return cap(file, file.u32("the number of symbols", at + 4));
  }
  const gnu = tags.get(DT_GNU_HASH);
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
  if (count * SYMBOL_BYTES > file.length) {
    throw new Malformed(
      `it claims ${count} symbols, more than the file can hold`,
    );
  }
  return count;
}
