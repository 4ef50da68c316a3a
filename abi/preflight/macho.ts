/**
 * Mach-O libraries, as macOS loads them, thin and universal.
 *
 * @module
 */

import { Bytes, type ExportedSymbol, type Image, Malformed } from "./bytes.ts";

const CPUS: ReadonlyMap<number, string> = new Map([[0x01000007, "x86_64"], [
  0x0100000c,
  "aarch64",
]]);

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
  if (magic === 0xcafebabe || magic === 0xcafebabf) {
    const wide = magic === 0xcafebabf;
    const count = big.u32("the number of architectures", 4);
    if (count > 64) throw new Malformed(`it claims ${count} architectures`);
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
  if (file.u32("the magic number", 0) !== 0xfeedfacf) {
    throw new Malformed("it is not a 64-bit little-endian Mach-O file");
  }
  const cpu = file.u32("the machine", 4);
  const type = file.u32("the file type", 12);
  if (type !== 6 && type !== 8) {
    throw new Malformed(
      `it is a Mach-O file of type ${type}, not a dynamic library`,
    );
  }
  const commands = readCommands(file);
  const codeSections: boolean[] = [];
  const needs: string[] = [];
  let initializers = false;
  for (const { kind, at, size } of commands) {
    if (kind === 0x19) {
      file.need("a segment command", at, 72);
      file.need(
        "a segment",
        file.u64("a segment offset", at + 40),
        file.u64("a segment size", at + 48),
      );
      const code = (file.u32("a segment protection", at + 60) & 4) !== 0;
      const sections = file.u32("the number of sections", at + 64);
      if (72 + sections * 80 > size) {
        throw new Malformed("its sections do not fit into their load command");
      }
      for (let i = 0; i < sections; i++) {
        codeSections.push(code);
        if ((file.u32("section flags", at + 72 + i * 80 + 64) & 0xff) === 9) {
          initializers = true;
        }
      }
    } else if (kind === 0xc || kind === 0x80000018) {
      needs.push(
        file.name(
          "a needed library",
          at + file.u32("a needed library", at + 8),
          at + size,
        ),
      );
    }
  }
  const table = commands.find((c) => c.kind === 2);
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
  file.need("the symbol table", start, count * 16);
  file.need("the name table", names, nameSize);
  const symbols: ExportedSymbol[] = [];
  let exportCount = 0;
  for (let i = 0; i < count; i++) {
    const at = start + i * 16;
    const type = file.u8("a symbol", at + 4);
    // Debugger entries, private externals and undefined symbols are no exports.
    if (
      (type & 0xe0) !== 0 || (type & 0x10) !== 0 || (type & 1) === 0 ||
      (type & 0x0e) !== 0x0e
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
