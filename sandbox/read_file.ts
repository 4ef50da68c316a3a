import { reasonOf } from "./reason.ts";
import { namedPermissions } from "./permissions.ts";

/**
 * Reads a text file of bounded size. Anything but a regular file is refused before
 * it is opened, so that a FIFO or a device cannot hang or flood the reader.
 *
 * Needs `--allow-read` of the file.
 *
 * @param path The file; links are followed.
 * @param maxBytes The largest size accepted.
 * @returns Its content as UTF-8.
 * @throws {RangeError} When it is larger.
 * @throws {TypeError} When it is not a regular file, or not UTF-8.
 * @throws {PermissionRequiredError} When reading is not granted.
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
 * @returns The value, not yet validated.
 * @throws {SyntaxError} When it is not JSON; the message names the file and the line.
 * @throws {RangeError} When it is too large.
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
  const reason = reasonOf(error)
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
