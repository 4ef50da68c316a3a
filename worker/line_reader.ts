/**
 * The lines of a byte stream in batches, with an end that does not hang on whoever still holds the pipe.
 *
 * @module
 */

import { LineSplitter } from "@bulkhead/sandbox";
import type { AgentLine } from "./agent_child.ts";

const NEWLINE = 0x0a;

/** How much is read at once. */
const CHUNK = 65_536;

/** Chunks of bytes; each is valid until the next is asked for. */
interface ChunkSource {
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

/** A pipe is read into one buffer over and over: a buffer for each chunk would be garbage faster than it is collected. */
function sourceOf(stream: ReadableStream<Uint8Array>): ChunkSource {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: "byob" });
  } catch {
    const plain = stream.getReader();
    return {
      next: async () => (await plain.read()).value,
      cancel: () => plain.cancel(),
    };
  }
  // Two buffers: while the lines of one are looked at, the other is filled.
  let spare = new ArrayBuffer(CHUNK);
  let pending = read(reader, new ArrayBuffer(CHUNK));
  return {
    async next(): Promise<Uint8Array | undefined> {
      const { done, value } = await pending;
      if (done || value === undefined) return undefined;
      pending = read(reader, spare);
      spare = value.buffer;
      return value;
    },
    cancel: () => reader.cancel(),
  };
}

function read(
  reader: ReadableStreamBYOBReader,
  buffer: ArrayBuffer,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  const result = reader.read(new Uint8Array(buffer, 0, CHUNK));
  // Nobody may ask for it any more when the stream fails.
  result.catch(() => {});
  return result;
}

/** Reads lines, one batch for each chunk that completes some. */
export class LineReader {
  /** Resolves when the stream has ended, failed or was given up. */
  readonly ended: Promise<void>;
  readonly #source: ChunkSource;
  readonly #splitter: LineSplitter;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #resolveEnded: () => void = () => {};
  readonly #max: number;
  #held = false;
  #lastRead = 0;
  #over = false;

  /**
   * Takes a stream over.
   *
   * @param stream The stream.
   * @param maxLineBytes How many bytes of one line are kept.
   */
  constructor(stream: ReadableStream<Uint8Array>, maxLineBytes: number) {
    this.#source = sourceOf(stream);
    this.#max = maxLineBytes;
    this.#splitter = new LineSplitter({ maxLineBytes });
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /**
   * All batches to the end of the stream.
   *
   * @returns The batches.
   */
  async *batches(): AsyncGenerator<readonly AgentLine[], void, undefined> {
    try {
      for (;;) {
        const value = await this.#source.next().catch(() => undefined);
        if (value === undefined) break;
        this.#lastRead = performance.now();
        const lines = this.#lines(value);
        if (lines.length > 0) yield lines;
      }
      const rest = this.#splitter.end();
      if (rest.length > 0) {
        yield rest.map((line) =>
          this.#decode(line.bytes, line.size, line.truncated)
        );
      }
    } finally {
      this.#over = true;
      this.#resolveEnded();
    }
  }

  /**
   * Waits for the end of the stream, but only as long as something still comes.
   *
   * @param silenceMs How long nothing may come.
   */
  async drain(silenceMs: number): Promise<void> {
    const start = performance.now();
    while (!this.#over) {
      const since = performance.now() - Math.max(start, this.#lastRead);
      if (since >= silenceMs) break;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, silenceMs - since);
        this.ended.then(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    if (!this.#over) await this.#source.cancel().catch(() => {});
  }

  /** Most lines lie within one chunk: they are decoded where they are, and only what crosses a border is held. */
  #lines(chunk: Uint8Array): AgentLine[] {
    const lines: AgentLine[] = [];
    let start = 0;
    if (this.#held) {
      const end = chunk.indexOf(NEWLINE) + 1;
      for (
        const line of this.#splitter.push(
          end === 0 ? chunk : chunk.subarray(0, end),
        )
      ) {
        lines.push(this.#decode(line.bytes, line.size, line.truncated));
      }
      if (end === 0) return lines;
      start = end;
    }
    for (
      let end = chunk.indexOf(NEWLINE, start);
      end >= 0;
      end = chunk.indexOf(NEWLINE, start)
    ) {
      const size = end - start;
      const cut = size > this.#max;
      lines.push(
        this.#decode(
          chunk.subarray(start, cut ? start + this.#max : end),
          size,
          cut,
        ),
      );
      start = end + 1;
    }
    this.#held = start < chunk.length;
    if (this.#held) this.#splitter.push(chunk.subarray(start));
    return lines;
  }

  #decode(bytes: Uint8Array, size: number, cut: boolean): AgentLine {
    return { text: this.#decoder.decode(bytes), bytes, size, cut };
  }
}
