/**
 * PE libraries, as Windows loads them. Names in capitals are those of `winnt.h`.
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
  [0x14c, "x86"],
  [0x8664, "x86_64"],
  [0xaa64, "aarch64"],
]);

const IMAGE_NT_SIGNATURE = 0x00004550;
const IMAGE_FILE_DLL = 0x2000;
const IMAGE_NT_OPTIONAL_HDR64_MAGIC = 0x20b;
const IMAGE_SCN_MEM_EXECUTE = 0x20000000;
const IMAGE_DIRECTORY_ENTRY_EXPORT = 0;
const IMAGE_DIRECTORY_ENTRY_IMPORT = 1;

/** The sizes of a section's header, a directory's entry and an import's descriptor, in bytes. */
const SECTION_BYTES = 40;
const DIRECTORY_BYTES = 8;
const IMPORT_BYTES = 20;
/** Where the directories begin in the optional header. */
const DIRECTORIES = 112;

interface Section {
  readonly address: number;
  readonly size: number;
  readonly offset: number;
  readonly stored: number;
  readonly code: boolean;
}

/**
 * Reads a PE file.
 *
 * @param file The file.
 * @returns What it is.
 */
export function readPe(file: Bytes): Image {
  const start = file.u32("the PE header offset", 0x3c);
  if (file.u32("the PE header", start) !== IMAGE_NT_SIGNATURE) {
    throw new Malformed("it has no PE header");
  }
  const machine = file.u16("the machine", start + 4);
  const sectionCount = file.u16("the number of sections", start + 6);
  const optionalSize = file.u16("the optional header size", start + 20);
  if ((file.u16("the characteristics", start + 22) & IMAGE_FILE_DLL) === 0) {
    throw new Malformed("it is a program, not a DLL");
  }
  const optional = start + 24;
  if (
    file.u16("the optional header", optional) !== IMAGE_NT_OPTIONAL_HDR64_MAGIC
  ) {
    throw new Malformed("it is not a 64-bit DLL");
  }
  file.need("the optional header", optional, optionalSize);
  const sections: Section[] = [];
  for (let i = 0; i < sectionCount; i++) {
    const at = optional + optionalSize + i * SECTION_BYTES;
    const stored = file.u32("a section", at + 16);
    const offset = file.u32("a section", at + 20);
    if (stored > 0) file.need(`section ${i}`, offset, stored);
    sections.push({
      address: file.u32("a section", at + 12),
      size: Math.max(file.u32("a section", at + 8), stored),
      offset,
      stored,
      code: (file.u32("a section", at + 36) & IMAGE_SCN_MEM_EXECUTE) !== 0,
    });
  }
  const place = (what: string, address: number): number => {
    const home = sections.find((s) =>
      address >= s.address && address < s.address + s.stored
    );
    if (home === undefined) {
      throw new Malformed(`${what} lies outside every section`);
    }
    return address - home.address + home.offset;
  };
  const directories = file.u32("the number of directories", optional + 108);
  const directory = (index: number): [address: number, size: number] => {
    const at = DIRECTORIES + index * DIRECTORY_BYTES;
    if (index >= directories || at + DIRECTORY_BYTES > optionalSize) {
      return [0, 0];
    }
    return [
      file.u32("a directory", optional + at),
      file.u32("a directory", optional + at + 4),
    ];
  };
  return {
    format: "pe",
    arch: MACHINES.get(machine) ?? `machine ${machine}`,
    ...readExports(
      file,
      directory(IMAGE_DIRECTORY_ENTRY_EXPORT),
      sections,
      place,
    ),
    needs: readImports(file, directory(IMAGE_DIRECTORY_ENTRY_IMPORT), place),
    initializers: file.u32("the entry point", optional + 16) !== 0,
  };
}

function readExports(
  file: Bytes,
  [address, size]: [number, number],
  sections: readonly Section[],
  place: (what: string, address: number) => number,
): { symbols: ExportedSymbol[]; exportCount: number } {
  if (address === 0) return { symbols: [], exportCount: 0 };
  const at = place("the export directory", address);
  const count = file.u32("the number of exported names", at + 24);
  const functionCount = file.u32("the number of exports", at + 20);
  if (count === 0) return { symbols: [], exportCount: 0 };
  const functions = place(
    "the export table",
    file.u32("the export table", at + 28),
  );
  const names = place(
    "the export names",
    file.u32("the export names", at + 32),
  );
  const ordinals = place(
    "the export ordinals",
    file.u32("the export ordinals", at + 36),
  );
  file.need("the export names", names, count * 4);
  const symbols: ExportedSymbol[] = [];
  for (let i = 0; i < count; i++) {
    const name = file.name(
      "an export name",
      place("an export name", file.u32("an export name", names + i * 4)),
    );
    if (!name.startsWith("rpi_")) continue;
    const ordinal = file.u16("an export ordinal", ordinals + i * 2);
    if (ordinal >= functionCount) {
      throw new Malformed(`the ordinal of "${name}" is out of range`);
    }
    const target = file.u32("an export", functions + ordinal * 4);
    const forwarded = target >= address && target < address + size;
    const code = forwarded ||
      sections.some((s) =>
        s.code && target >= s.address && target < s.address + s.size
      );
    symbols.push({ name, code });
  }
  return { symbols, exportCount: count };
}

function readImports(
  file: Bytes,
  [address]: [number, number],
  place: (what: string, address: number) => number,
): string[] {
  if (address === 0) return [];
  const needs: string[] = [];
  for (let at = place("the import directory", address);; at += IMPORT_BYTES) {
    const name = file.u32("an import", at + 12);
    if (name === 0) return needs;
    needs.push(
      file.name("an imported library", place("an imported library", name)),
    );
  }
}
