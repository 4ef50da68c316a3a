import { joinBytes } from "./bytes.ts";

/** One line of a byte stream, without its newline. */
export interface Line {
  /** The line's bytes; only the first ones when it was cut. */
  bytes: Uint8Array;
  /** True when the line was longer than the limit. */
  truncated: boolean;
  /** The line's length in bytes as it came, newline not counted. */
  size: number;
  /** True when the stream ended before the newline came. */
  unfinished: boolean;
}

/** Options of {@linkcode LineSplitter} and {@linkcode readLines}. */
export interface LineOptions {
  /**
   * Bytes kept of one line; what is over is counted and dropped.
   *
   * @default {67108864}
   */
  maxLineBytes?: number;
}

const NEWLINE = 0x0a;

/**
 * Splits a byte stream at 0x0A and nothing else, with a bound on what one line can
 * hold in memory. Bytes are not decoded, so a character cut by a chunk border is
 * whole again in its line.
 *
 * A line that lies within one chunk is a view of that chunk: copy it to keep it
 * beyond the chunk's own life.
 *
 * @example Usage
 * ```ts
 * import { LineSplitter } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const splitter = new LineSplitter();
 * const encode = (text: string) => new TextEncoder().encode(text);
 * const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
 * const first = splitter.push(encode("one\ntw"));
 * const second = splitter.push(encode("o\n"));
 * assertEquals([...first, ...second].map((l) => decode(l.bytes)), ["one", "two"]);
 * ```
 */
export class LineSplitter {
  readonly #max: number;
  #parts: Uint8Array[] = [];
  #kept = 0;
  #size = 0;

  /**
   * Creates a splitter.
   *
   * @param options The bound on a line.
   */
  constructor(options: LineOptions = {}) {
    this.#max = options.maxLineBytes ?? 64 * 1024 * 1024;
  }

  /**
   * Takes the next chunk.
   *
   * @param chunk Bytes as they came.
   * @returns The lines that this chunk completes.
   */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (;;) {
      const at = chunk.indexOf(NEWLINE, start);
      if (at < 0) break;
      lines.push(this.#complete(chunk.subarray(start, at), false));
      start = at + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
    return lines;
  }

  /**
   * Ends the stream.
   *
   * @returns The last line when it had no newline, else nothing.
   */
  end(): Line[] {
    return this.#size > 0 ? [this.#complete(new Uint8Array(0), true)] : [];
  }

  #hold(part: Uint8Array): void {
    this.#size += part.length;
    const room = this.#max - this.#kept;
    if (room <= 0) return;
    // The chunk's buffer may be used again by its owner, so the part is copied.
    const kept = part.slice(0, room);
    this.#parts.push(kept);
    this.#kept += kept.length;
  }

  #complete(tail: Uint8Array, unfinished: boolean): Line {
    if (this.#size === 0 && tail.length <= this.#max) {
      return { bytes: tail, truncated: false, size: tail.length, unfinished };
    }
    this.#hold(tail);
    const bytes = joinBytes(this.#parts, this.#kept);
    const size = this.#size;
    this.#parts = [];
    this.#kept = this.#size = 0;
    return { bytes, truncated: size > bytes.length, size, unfinished };
  }
}

/**
 * Reads a byte stream line by line.
 *
 * @param stream The stream; it is read to its end or cancelled with the loop.
 * @param options The bound on a line.
 * @returns The lines, the last one also without its newline.
 *
 * @example Usage
 * ```ts
 * import { readLines } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const sizes = [];
 * for await (const line of readLines(new Blob(["a\nbcd"]).stream())) {
 *   sizes.push(line.size);
 * }
 * assertEquals(sizes, [1, 3]);
 * ```
 */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  options: LineOptions = {},
): AsyncGenerator<Line, void, undefined> {
  const splitter = new LineSplitter(options);
  for await (const chunk of stream) yield* splitter.push(chunk);
  yield* splitter.end();
}
