import { namedPermissions } from "./permissions.ts";

/** Options of {@linkcode writeFileAtomic}. */
export interface WriteFileOptions {
  /**
   * Permission bits of the new file.
   *
   * @default {0o600}
   */
  mode?: number;
}

/**
 * Writes a whole file so that a crash at any moment leaves the old or the new one:
 * a temporary file beside it, flushed, renamed over it, the directory flushed.
 *
 * Needs `--allow-read` and `--allow-write` of the file's directory.
 *
 * @param path The file. A link is replaced, not followed.
 * @param data Its new content.
 * @param options The mode.
 * @throws {PermissionRequiredError} when a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { writeFileAtomic } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await writeFileAtomic(`${dir}/state.json`, "{}\n");
 * assertEquals(await Deno.readTextFile(`${dir}/state.json`), "{}\n");
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteFileOptions = {},
): Promise<void> {
  await namedPermissions(`Writing "${path}"`, async () => {
    const dir = directoryOf(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const temporary = `${dir}/.${name}.${crypto.randomUUID()}.tmp`;
    const bytes = typeof data === "string"
      ? new TextEncoder().encode(data)
      : data;
    const mode = options.mode ?? 0o600;
    const file = await Deno.open(temporary, {
      write: true,
      createNew: true,
      mode,
    });
    try {
      try {
        let at = 0;
        while (at < bytes.length) at += await file.write(bytes.subarray(at));
        await file.sync();
      } finally {
        file.close();
      }
      // The mode of open() is subject to the umask.
      if (Deno.build.os !== "windows") await Deno.chmod(temporary, mode);
      await Deno.rename(temporary, path);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw error;
    }
    await syncDirectory(dir);
  });
}

/** Flushes a directory's entries; without it a rename may be lost in a power cut. */
async function syncDirectory(dir: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  const handle = await Deno.open(dir, { read: true });
  try {
    await handle.sync();
  } finally {
    handle.close();
  }
}

function directoryOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "." : at === 0 ? "/" : path.slice(0, at);
}

/** Options of {@linkcode withFileLock}. */
export interface FileLockOptions {
  /** Let other readers in; writers stay out. */
  shared?: boolean;
  /**
   * How long to wait for the lock, in milliseconds.
   *
   * @default {5000}
   */
  timeoutMs?: number;
}

/** Wait between two attempts at a held lock. */
const LOCK_RETRY_MS = 10;

/**
 * Runs a function while holding an advisory lock (flock(2)) on a lock file, which
 * is created when absent and stays. Lock a file of its own, never one that is
 * replaced by a rename.
 *
 * Needs `--allow-read` and `--allow-write` of the lock file.
 *
 * @param lockPath The lock file.
 * @param fn The work.
 * @param options Shared or exclusive, and the wait.
 * @returns what the function returns.
 * @throws {Deno.errors.TimedOut} when the lock is not free in time.
 * @throws {PermissionRequiredError} when a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { withFileLock } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * const sum = await withFileLock(`${dir}/x.lock`, () => Promise.resolve(1 + 1));
 * assertEquals(sum, 2);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function withFileLock<T>(
  lockPath: string,
  fn: () => Promise<T>,
  options: FileLockOptions = {},
): Promise<T> {
  const file = await namedPermissions(
    `Locking "${lockPath}"`,
    () =>
      Deno.open(lockPath, {
        read: true,
        write: true,
        create: true,
        mode: 0o600,
      }),
  );
  try {
    const timeoutMs = options.timeoutMs ?? 5000;
    const deadline = performance.now() + timeoutMs;
    while (!await file.tryLock(!options.shared)) {
      if (performance.now() >= deadline) {
        throw new Deno.errors.TimedOut(
          `Cannot lock "${lockPath}": another process has held it for ${timeoutMs} ms; end that process or try again`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
    }
    return await fn();
  } finally {
    // Closing releases the lock.
    file.close();
  }
}

/**
 * Reads a text file of bounded size. Anything but a regular file is refused before
 * it is opened, so that a FIFO or a device cannot hang or flood the reader.
 *
 * Needs `--allow-read` of the file.
 *
 * @param path The file; links are followed.
 * @param maxBytes The largest size accepted.
 * @returns its content as UTF-8.
 * @throws {RangeError} when it is larger.
 * @throws {TypeError} when it is not a regular file, or not UTF-8.
 * @throws {PermissionRequiredError} when reading is not granted.
 *
 * @example Usage
 * ```ts
 * import { readTextCapped } from "@bulkhead/sandbox";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeTextFile(path, "hello");
 * assertEquals(await readTextCapped(path, 5), "hello");
 * await assertRejects(() => readTextCapped(path, 4), RangeError);
 * await Deno.remove(path);
 * ```
 */
export async function readTextCapped(
  path: string,
  maxBytes: number,
): Promise<string> {
  return await namedPermissions(`Reading "${path}"`, async () => {
    const info = await Deno.stat(path);
    if (!info.isFile) {
      throw new TypeError(`Cannot read "${path}": it is not a regular file`);
    }
    const tooLarge = (size: string) =>
      new RangeError(
        `Cannot read "${path}": it has ${size} bytes, at most ${maxBytes} are accepted`,
      );
    if (info.size > maxBytes) throw tooLarge(String(info.size));
    using file = await Deno.open(path, { read: true });
    const bytes = new Uint8Array(maxBytes + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = await file.read(bytes.subarray(length));
      if (read === null) break;
      length += read;
    }
    // It may have grown since it was looked at.
    if (length > maxBytes) throw tooLarge(`more than ${maxBytes}`);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
        .decode(bytes.subarray(0, length));
    } catch (cause) {
      throw new TypeError(`Cannot read "${path}": it is not UTF-8 text`, {
        cause,
      });
    }
  });
}

/** Options of {@linkcode readJsonFile}. */
export interface ReadJsonOptions {
  /**
   * The largest size accepted, in bytes.
   *
   * @default {1048576}
   */
  maxBytes?: number;
}

/**
 * Reads a JSON file of bounded size.
 *
 * Needs `--allow-read` of the file.
 *
 * @param path The file.
 * @param options The bound.
 * @returns the value, not yet validated.
 * @throws {SyntaxError} when it is not JSON; the message names the file and the line.
 * @throws {RangeError} when it is too large.
 *
 * @example Usage
 * ```ts
 * import { readJsonFile } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeTextFile(path, '{"a":1}');
 * assertEquals(await readJsonFile(path), { a: 1 });
 * await Deno.remove(path);
 * ```
 */
export async function readJsonFile(
  path: string,
  options: ReadJsonOptions = {},
): Promise<unknown> {
  const text = await readTextCapped(path, options.maxBytes ?? 1024 * 1024);
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (cause) {
    throw new SyntaxError(
      `Cannot parse "${path}" as JSON: ${jsonProblem(text, cause)}`,
      { cause },
    );
  }
}

/** The line and the reason without the excerpt of the text, which V8 adds to some messages in place of the position. */
function jsonProblem(text: string, error: unknown): string {
  const reason = (error instanceof Error ? error.message : String(error))
    .replace(/, (?:\.\.\.)?".*is not valid JSON$/s, "")
    .replace(/(?: in JSON)? at position .*$/s, "")
    .replaceAll("\n", "\\n");
  return `line ${brokenLine(text)}: ${reason}`;
}

/**
 * The line that JSON breaks on: the first one with which the text is more than unfinished. Found by halves, since each
 * try parses all lines up to it.
 */
function brokenLine(text: string): number {
  const ends = [...text.matchAll(/\n/g)].map((match) => match.index + 1);
  ends.push(text.length);
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isUnfinished(text.slice(0, ends[middle]))) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

function isUnfinished(start: string): boolean {
  try {
    JSON.parse(start);
    return true;
  } catch (error) {
    const { message } = error instanceof Error ? error : { message: "" };
    const [, position] = /at position (\d+)/.exec(message) ?? [];
    return position === undefined
      ? message.startsWith("Unexpected end")
      : Number(position) >= start.length;
  }
}

/**
 * Makes sure that a directory exists and that only its owner can enter it (0700).
 *
 * Needs `--allow-read` and `--allow-write` of the directory.
 *
 * @param path The directory; missing parents are made too.
 * @throws {PermissionRequiredError} when a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { ensurePrivateDir } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await ensurePrivateDir(`${dir}/a/b`);
 * const mode = (await Deno.stat(`${dir}/a/b`)).mode ?? 0;
 * assertEquals(mode & 0o777, 0o700);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function ensurePrivateDir(path: string): Promise<void> {
  await namedPermissions(`Creating the directory "${path}"`, async () => {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    if (Deno.build.os === "windows") return;
    const mode = (await Deno.stat(path)).mode ?? 0;
    if ((mode & 0o077) !== 0) await Deno.chmod(path, 0o700);
  });
}
