import { isAbsolutePath, joinPath } from "./paths.ts";

/** Where programs are looked for when a child's environment names no PATH. */
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

/**
 * Finds the file that a command names, as `execvp` would, except that a relative
 * directory in PATH is passed over: what runs must not depend on where we stand.
 *
 * Synchronous, since a few `stat` calls cost less than their promises would and
 * every call of a tool passes here. Needs `--allow-read` of what it looks at.
 *
 * @param command A name to look up on PATH, or a path.
 * @param cwd The directory that a relative path starts from.
 * @param path The PATH; the usual three system directories when there is none.
 * @returns Its absolute path; `null` when there is none; nothing when looking is
 * not permitted.
 *
 * @example Usage
 * ```ts
 * import { findExecutable } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(findExecutable("sh", "/", "/bin"), "/bin/sh");
 * assertEquals(findExecutable("no-such-program", "/", "/bin"), null);
 * ```
 */
export function findExecutable(
  command: string,
  cwd: string,
  path: string | undefined,
): string | null | undefined {
  const candidates = command.includes("/")
    ? [joinPath(cwd, command)]
    : (path ?? DEFAULT_PATH).split(":").filter(isAbsolutePath)
      .map((dir) => joinPath(dir, command));
  let looked = true;
  for (const candidate of candidates) {
    try {
      const info = Deno.statSync(candidate);
      if (info.isFile && ((info.mode ?? 0o111) & 0o111) !== 0) {
        return candidate;
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) looked = false;
    }
  }
  return looked ? null : undefined;
}

/**
 * The interpreter that a script's `#!` line names.
 *
 * @param file The script.
 * @returns Its path as written; nothing for anything that is not a script. For
 * `#!/usr/bin/env name` it is `name`, the program that will run.
 */
export function interpreterOf(file: string): string | undefined {
  try {
    using handle = Deno.openSync(file, { read: true });
    const head = new Uint8Array(256);
    const length = handle.readSync(head) ?? 0;
    const text = new TextDecoder("latin1").decode(head.subarray(0, length));
    const [, program, argument] =
      /^#![ \t]*([^ \t\n]+)(?:[ \t]+([^\n]*))?/.exec(text) ?? [];
    if (program?.endsWith("/env") && argument) {
      return argument.split(/[ \t]+/).find((word) =>
        !word.startsWith("-") && !word.includes("=")
      );
    }
    return program;
  } catch {
    return undefined;
  }
}

/**
 * Why a program cannot be started, in words a person can act on.
 *
 * Needs `--allow-read` of the PATH.
 *
 * @param command The command as it was given.
 * @param cwd The working directory.
 * @param path The child's PATH.
 * @returns The error to throw; nothing when the program looks startable.
 *
 * @example Usage
 * ```ts
 * import { startError } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   startError("prettier", "/", "/no/bin")?.message,
 *   'Cannot start "prettier": it is not on PATH (/no/bin); install it or give its path',
 * );
 * assertEquals(startError("sh", "/", "/bin"), undefined);
 * ```
 */
export function startError(
  command: string,
  cwd: string,
  path: string | undefined,
): Error | undefined {
  const what = `Cannot start "${command}"`;
  const { NotFound, PermissionDenied } = Deno.errors;
  if (!isDirectory(cwd)) {
    return new NotFound(
      `${what}: the working directory "${cwd}" does not exist`,
    );
  }
  const found = findExecutable(command, cwd, path);
  if (found) {
    const interpreter = interpreterOf(found);
    if (interpreter?.endsWith("\r")) {
      return new NotFound(
        `${what}: its "#!" line ends with a carriage return; save the file with LF line endings`,
      );
    }
    if (
      interpreter === undefined ||
      findExecutable(interpreter, cwd, path) !== null
    ) return undefined;
    return new NotFound(
      interpreter.includes("/")
        ? `${what}: its interpreter "${interpreter}" does not exist`
        : `${what}: its interpreter "${interpreter}" is ${notOnPath(path)}`,
    );
  }
  if (!command.includes("/")) {
    return new NotFound(
      `${what}: it is ${notOnPath(path)}; install it or give its path`,
    );
  }
  const file = joinPath(cwd, command);
  switch (kindOf(file)) {
    case "nothing":
      return new NotFound(`${what}: there is no such file, seen from "${cwd}"`);
    case "directory":
      return new PermissionDenied(
        `${what}: it is a directory; name a program in it`,
      );
    case "other":
      return new PermissionDenied(
        `${what}: it is not an executable file; run chmod +x on it`,
      );
  }
}

function notOnPath(path: string | undefined): string {
  return `not on PATH (${path ?? DEFAULT_PATH})`;
}

function kindOf(path: string): "nothing" | "directory" | "other" {
  try {
    return Deno.statSync(path).isDirectory ? "directory" : "other";
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "nothing" : "other";
  }
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    return error instanceof Deno.errors.NotCapable;
  }
}
