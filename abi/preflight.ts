/**
 * What can be said about a library before any of its code runs. Opening a library runs its constructors, and a bad one
 * takes the process with it, so the file is read first.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";
import { AbiError } from "./errors.ts";
import { REGISTER_SYMBOL, RETIRED_SYMBOLS } from "./codes.ts";
import { Bytes, type Image, Malformed } from "./preflight/bytes.ts";
import { readElf } from "./preflight/elf.ts";
import { readMachO } from "./preflight/macho.ts";
import { readPe } from "./preflight/pe.ts";

/** The machine a library has to fit. */
export interface LibraryTarget {
  /** The operating system, in Deno's spelling. */
  os: string;
  /** The processor, in Deno's spelling. */
  arch: string;
}

/** Options of {@linkcode inspectLibrary}. */
export interface InspectOptions {
  /** The content the library must have: `sha256:` and 64 hex digits. */
  sha256?: string;
  /**
   * The machine it has to fit.
   *
   * @default this machine
   */
  target?: LibraryTarget;
  /**
   * The largest file that is read.
   *
   * @default {536870912}
   */
  maxBytes?: number;
}

/** What a library is. */
export interface LibraryReport {
  /** The real path. */
  path: string;
  /** The plugin's name: the file's name without extension; a `lib` prefix stays. */
  name: string;
  /** The file format. */
  format: "elf" | "macho" | "pe";
  /** The processor it was built for. */
  arch: string;
  /** The size in bytes. */
  size: number;
  /** The content hash, `sha256:…`. */
  sha256: string;
  /** The entry point. */
  entry: string;
  /** Every exported name that starts with `rpi_`. */
  exports: string[];
  /** Entry points of older ABI versions that it exports as well. */
  retired: string[];
  /** The number of all exported symbols. */
  exportCount: number;
  /** The libraries it needs. */
  needs: string[];
  /** True when code of it runs as soon as it is opened. */
  initializers: boolean;
}

/** What {@linkcode inspectBytes} finds. */
export type ImageReport = Pick<
  LibraryReport,
  | "format"
  | "arch"
  | "entry"
  | "exports"
  | "retired"
  | "exportCount"
  | "needs"
  | "initializers"
>;

/**
 * Reads a library's file and says what it is. Nothing of it is executed.
 *
 * Needs `--allow-read`.
 *
 * @param path The library.
 * @param options A pinned hash, another target.
 * @returns The report; rejects with an {@linkcode AbiError} of code `preflight` that says why it would not load.
 *
 * @example A text file is refused with a reason
 * ```ts
 * import { AbiError, inspectLibrary } from "@bulkhead/abi";
 * import { assertRejects } from "@std/assert";
 *
 * const path = await Deno.makeTempFile({ suffix: ".so" });
 * await Deno.writeTextFile(path, "not a library");
 * await assertRejects(() => inspectLibrary(path), AbiError, "neither ELF, Mach-O nor PE");
 * await Deno.remove(path);
 * ```
 */
export async function inspectLibrary(
  path: string,
  options: InspectOptions = {},
): Promise<LibraryReport> {
  return await namedPermissions(
    "Inspecting a library",
    () => inspect(path, options),
  );
}

async function inspect(
  path: string,
  options: InspectOptions,
): Promise<LibraryReport> {
  const maxBytes = options.maxBytes ?? 536_870_912;
  const refuse = (why: string, fix?: string, cause?: unknown) =>
    new AbiError("preflight", `Cannot load "${path}": ${why}`, {
      plugin: pluginName(path),
      fix,
      cause,
    });
  let real: string;
  let info: Deno.FileInfo;
  try {
    real = await Deno.realPath(path);
    info = await Deno.stat(real);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw refuse(...whyNotFound(error), error);
  }
  if (!info.isFile) {
    throw info.isDirectory
      ? refuse("it is a directory", "name the library in it")
      : refuse("it is not a regular file", "name the library itself");
  }
  if (info.size > maxBytes) {
    throw refuse(
      `it has ${info.size} bytes, at most ${maxBytes} are read`,
      "strip it, or check that it is the library",
    );
  }
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await Deno.readFile(real);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw refuse("it cannot be read", "check its permissions", error);
  }
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const sha256 = `sha256:${new Uint8Array(digest).toHex()}`;
  if (options.sha256 !== undefined && withPrefix(options.sha256) !== sha256) {
    throw refuse(
      `its content is ${sha256}, pinned is ${options.sha256}`,
      "review the change, then pin the new hash",
    );
  }
  try {
    return {
      path: real,
      name: pluginName(path),
      size: bytes.length,
      sha256,
      ...inspectBytes(bytes, options.target ?? Deno.build),
    };
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    throw refuse(error.message, error.fix);
  }
}

function whyNotFound(error: unknown): [why: string, fix: string] {
  if (error instanceof Deno.errors.PermissionDenied) {
    return ["a directory on its path may not be entered", "check who owns it"];
  }
  if (error instanceof Deno.errors.FilesystemLoop) {
    return ["its links lead in a circle", "link to the library itself"];
  }
  if (error instanceof Deno.errors.NotADirectory) {
    return ["a part of its path is not a directory", "check the path"];
  }
  return ["there is no such file", "check the path"];
}

/** A pin as `sha256sum` prints it is one too. */
function withPrefix(pin: string): string {
  return /^[0-9a-f]{64}$/i.test(pin) ? `sha256:${pin.toLowerCase()}` : pin;
}

/**
 * Reads the bytes of a library.
 *
 * @param bytes The file's bytes.
 * @param target The machine it has to fit.
 * @returns What it is; throws an {@linkcode AbiError} of code `preflight` whose message is the bare reason.
 */
export function inspectBytes(
  bytes: Uint8Array,
  target: LibraryTarget,
): ImageReport {
  const image = readImage(bytes, target.arch);
  const wanted = target.os === "windows"
    ? "pe"
    : target.os === "darwin"
    ? "macho"
    : "elf";
  if (image.format !== wanted) {
    throw refusal(
      `it is a ${
        SYSTEMS[image.format]
      } library, this machine runs ${target.os}`,
      `build it for ${target.os} on ${target.arch}`,
    );
  }
  if (image.arch !== target.arch) {
    throw refusal(
      `it was built for ${image.arch}, this machine is ${target.arch}`,
      `build it for ${target.arch}`,
    );
  }
  const retired = image.symbols.filter((s) => RETIRED_SYMBOLS.includes(s.name))
    .map((s) => s.name);
  const entry = image.symbols.find((s) => s.name === REGISTER_SYMBOL);
  if (entry === undefined) {
    throw retired.length > 0
      ? refusal(
        `it exports only the retired entry point "${retired.join('", "')}"`,
        `rebuild it against version 4 of the ABI, which exports "${REGISTER_SYMBOL}"`,
      )
      : refusal(
        `it does not export "${REGISTER_SYMBOL}" (${image.exportCount} other exports)`,
        "export that function with C linkage and default visibility",
      );
  }
  if (!entry.code) {
    throw refusal(
      `its export "${REGISTER_SYMBOL}" is data, not a function`,
      "export a function of that name",
    );
  }
  return {
    format: image.format,
    arch: image.arch,
    entry: REGISTER_SYMBOL,
    exports: image.symbols.map((s) => s.name).sort(),
    retired,
    exportCount: image.exportCount,
    needs: [...image.needs],
    initializers: image.initializers,
  };
}

const SYSTEMS = {
  elf: "Linux (ELF)",
  macho: "macOS (Mach-O)",
  pe: "Windows (PE)",
} as const;

function readImage(bytes: Uint8Array, arch: string): Image {
  const file = new Bytes(bytes);
  try {
    if (bytes.length === 0) throw new Malformed("it is empty");
    const head = bytes.length >= 4
      ? new Bytes(bytes, false).u32("the magic number", 0)
      : 0;
    if (head === 0x7f454c46) return readElf(file);
    if (head === 0xcffaedfe || head === 0xcafebabe || head === 0xcafebabf) {
      return readMachO(bytes, arch);
    }
    if (bytes[0] === 0x4d && bytes[1] === 0x5a) return readPe(file);
    throw new Malformed("it is neither ELF, Mach-O nor PE");
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw refusal(error.message, "build or copy the library again");
  }
}

function refusal(why: string, fix: string): AbiError {
  return new AbiError("preflight", why, { fix });
}

/**
 * The name of a plugin: the file's name without its extension.
 *
 * @param path The library.
 * @returns The name.
 */
export function pluginName(path: string): string {
  const file = path.split(/[\\/]/).at(-1) ?? path;
  return file.replace(/\.(dll|so|dylib|pyd)$/i, "") || file;
}
