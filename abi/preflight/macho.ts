/**
 * Mach-O libraries, as macOS loads them, thin and universal. Names in capitals are those of `<mach-o/loader.h>`,
 * `<mach-o/fat.h>` and `<mach-o/nlist.h>`.
 *
 * @module
 */

import { Bytes, type ExportedSymbol, type Image, Malformed } from "./bytes.ts";

const CPUS: ReadonlyMap<number, string> = new Map([
  [0x01000007, "x86_64"],
  [0x0100000c, "aarch64"],
]);

const FAT_MAGIC = 0xcafebabe;
const FAT_MAGIC_64 = 0xcafebabf;
const MH_MAGIC_64 = 0xfeedfacf;
const MH_DYLIB = 6;
const MH_BUNDLE = 8;
const LC_SYMTAB = 0x2;
const LC_LOAD_DYLIB = 0xc;
const LC_SEGMENT_64 = 0x19;
const LC_LOAD_WEAK_DYLIB = 0x80000018;
const VM_PROT_EXECUTE = 4;
const SECTION_TYPE = 0xff;
const S_MOD_INIT_FUNC_POINTERS = 9;
const N_STAB = 0xe0;
const N_PEXT = 0x10;
const N_TYPE = 0x0e;
const N_SECT = 0x0e;
const N_EXT = 0x01;

/** The sizes of segment_command_64, section_64 and nlist_64, in bytes. */
const SEGMENT_BYTES = 72;
const SECTION_BYTES = 80;
const SYMBOL_BYTES = 16;
/** Many times what tools put into one file. */
const MAX_ARCHITECTURES = 64;

/**
 * Reads a Mach-O file.
 *
 * @param bytes The file's bytes.
 * @param arch The machine wanted from a universal file.
 * @returns What it is.
 */
export function readMachO(bytes: Uint8Array, arch: string): Image {
  const big = new Bytes(bytes, false);
  const magic = big.u32("the magic number", 0);
  if (magic === FAT_MAGIC || magic === FAT_MAGIC_64) {
    const wide = magic === FAT_MAGIC_64;
    const count = big.u32("the number of architectures", 4);
    if (count > MAX_ARCHITECTURES) {
      throw new Malformed(`it claims ${count} architectures`);
    }
    const found: string[] = [];
    for (let i = 0; i < count; i++) {
      const at = 8 + i * (wide ? 32 : 20);
      const name = CPUS.get(big.u32("an architecture", at)) ?? "another";
      found.push(name);
      if (name !== arch) continue;
      const offset = wide
        ? big.u64("an architecture", at + 8)
        : big.u32("an architecture", at + 8);
      const size = wide
        ? big.u64("an architecture", at + 16)
        : big.u32("an architecture", at + 12);
      return readThin(new Bytes(big.slice("an architecture", offset, size)));
    }
    throw new Malformed(
      `it holds ${found.join(", ") || "no architecture"}, ${arch} is wanted`,
    );
  }
  return readThin(new Bytes(bytes));
}

interface Command {
  readonly kind: number;
  readonly at: number;
  readonly size: number;
}

function readThin(file: Bytes): Image {
  if (file.u32("the magic number", 0) !== MH_MAGIC_64) {
    throw new Malformed("it is not a 64-bit little-endian Mach-O file");
  }
  const cpu = file.u32("the machine", 4);
  const type = file.u32("the file type", 12);
  if (type !== MH_DYLIB && type !== MH_BUNDLE) {
    throw new Malformed(
      `it is a Mach-O file of type ${type}, not a dynamic library`,
    );
  }
  const commands = readCommands(file);
  const codeSections: boolean[] = [];
  const needs: string[] = [];
  let initializers = false;
  for (const { kind, at, size } of commands) {
    if (kind === LC_SEGMENT_64) {
      file.need("a segment command", at, SEGMENT_BYTES);
      file.need(
        "a segment",
        file.u64("a segment offset", at + 40),
        file.u64("a segment size", at + 48),
      );
      const code =
        (file.u32("a segment protection", at + 60) & VM_PROT_EXECUTE) !== 0;
      const sections = file.u32("the number of sections", at + 64);
      if (SEGMENT_BYTES + sections * SECTION_BYTES > size) {
        throw new Malformed("its sections do not fit into their load command");
      }
      for (let i = 0; i < sections; i++) {
        codeSections.push(code);
        const section = at + SEGMENT_BYTES + i * SECTION_BYTES;
        const kind = file.u32("section flags", section + 64) & SECTION_TYPE;
        if (kind === S_MOD_INIT_FUNC_POINTERS) initializers = true;
      }
    } else if (kind === LC_LOAD_DYLIB || kind === LC_LOAD_WEAK_DYLIB) {
      needs.push(
        file.name(
          "a needed library",
          at + file.u32("a needed library", at + 8),
          at + size,
        ),
      );
    }
  }
  const table = commands.find((c) => c.kind === LC_SYMTAB);
  if (table === undefined) throw new Malformed("it has no symbol table");
  return {
    format: "macho",
    arch: CPUS.get(cpu) ?? `machine ${cpu}`,
    ...readSymbols(file, table.at, codeSections),
    needs,
    initializers,
  };
}

function readCommands(file: Bytes): Command[] {
  const count = file.u32("the number of load commands", 16);
  const commands: Command[] = [];
  let at = 32;
  for (let i = 0; i < count; i++) {
    const size = file.u32("a load command size", at + 4);
    if (size < 8) throw new Malformed(`load command ${i} has ${size} bytes`);
    file.need("a load command", at, size);
    commands.push({ kind: file.u32("a load command", at), at, size });
    at += size;
  }
  return commands;
}

function readSymbols(
  file: Bytes,
  command: number,
  codeSections: readonly boolean[],
): { symbols: ExportedSymbol[]; exportCount: number } {
  const start = file.u32("the symbol table", command + 8);
  const count = file.u32("the number of symbols", command + 12);
  const names = file.u32("the name table", command + 16);
  const nameSize = file.u32("the size of the name table", command + 20);
  file.need("the symbol table", start, count * SYMBOL_BYTES);
  file.need("the name table", names, nameSize);
  const symbols: ExportedSymbol[] = [];
  let exportCount = 0;
  for (let i = 0; i < count; i++) {
    const at = start + i * SYMBOL_BYTES;
    const type = file.u8("a symbol", at + 4);
    // Debugger entries, private externals and undefined symbols are no exports.
    if (
      (type & N_STAB) !== 0 || (type & N_PEXT) !== 0 || (type & N_EXT) === 0 ||
      (type & N_TYPE) !== N_SECT
    ) continue;
    exportCount++;
    const index = file.u32("a symbol", at);
    if (index >= nameSize) {
      throw new Malformed("a symbol name lies outside the name table");
    }
    const name = file.name("a symbol name", names + index, names + nameSize);
    if (!name.startsWith("_rpi_")) continue;
    symbols.push({
      name: name.slice(1),
      code: codeSections[file.u8("a symbol", at + 5) - 1] ?? false,
    });
  }
  return { symbols, exportCount };
}
