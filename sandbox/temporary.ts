/**
 * Private directories for temporary files.
 *
 * @module
 */

import { namedPermissions } from "./permissions.ts";
import { reasonOf } from "./reason.ts";

/** How a temporary directory is made. */
export interface TemporaryOptions {
  /** What its name begins with. */
  readonly prefix: string;
  /** Where, instead of `TMPDIR` or `/tmp`. */
  readonly dir?: string;
  /**
   * The most bytes that its path may have, for a socket in it; a comma, which would split a permission flag, is not
   * taken then either. What does not fit is made in `/tmp`.
   */
  readonly maxBytes?: number;
}

/** A temporary directory that cannot be made. */
export class TemporaryDirectoryError extends Error {
  /** What to do. */
  readonly fix = "set TMPDIR to a directory that can be written";

  /**
   * Creates the error.
   *
   * @param message Where it was tried and what was found.
   * @param cause What the system said.
   */
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "TemporaryDirectoryError";
  }
}

/**
 * Makes a new directory for temporary files that nobody else can read.
 *
 * Needs `--allow-write`, of `dir` or of all, and for a relative place `--allow-read`.
 *
 * @param options Its name and how long its path may be.
 * @returns Its absolute path; remove it when it is no longer needed.
 * @throws {TemporaryDirectoryError} Naming the directory that it was to be made in.
 *
 * @example Usage
 * ```ts
 * import { temporaryDirectory } from "@bulkhead/sandbox";
 * import { assert } from "@std/assert";
 *
 * const dir = await temporaryDirectory({ prefix: "mine-", maxBytes: 90 });
 * assert(dir.includes("/mine-"));
 * await Deno.remove(dir);
 * ```
 */
export async function temporaryDirectory(
  { prefix, dir, maxBytes }: TemporaryOptions,
): Promise<string> {
  const made = await make(prefix, dir);
  const path = made.startsWith("/") ? made : await Deno.realPath(made);
  const fits = maxBytes === undefined ||
    new TextEncoder().encode(path).length <= maxBytes && !path.includes(",");
  if (fits) return path;
  await Deno.remove(path);
  return await make(prefix, "/tmp");
}

async function make(prefix: string, dir?: string): Promise<string> {
  try {
    return await namedPermissions(
      "Making a temporary directory",
      () => Deno.makeTempDir(dir === undefined ? { prefix } : { prefix, dir }),
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const place = dir ?? usualPlace();
    throw new TemporaryDirectoryError(
      `Cannot make a temporary directory${
        place === undefined ? "" : ` in "${place}"`
      }: ${reasonOf(error).replace(/: tmpdir$/, "")}`,
      error,
    );
  }
}

/** Where Deno makes them, as far as it may be known without asking. */
function usualPlace(): string | undefined {
  const name = { name: "env", variable: "TMPDIR" } as const;
  return Deno.permissions.querySync(name).state === "granted"
    ? Deno.env.get("TMPDIR") || "/tmp"
    : undefined;
}
