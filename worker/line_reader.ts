/**
 * The lines of a byte stream in batches, with an end that does not hang on whoever still holds the pipe.
 *
 * @module
 */

import { LineSplitter } from "@bulkhead/sandbox";
import type { AgentLine } from "./agent_child.ts";

/** Reads lines, one batch for each chunk that completes some. */
export class LineReader {
  /** Resolves when the stream has ended, failed or was given up. */
  readonly ended: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #splitter: LineSplitter;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #resolveEnded: () => void = () => {};
  #lastRead = 0;
  #over = false;

  /**
   * Takes a stream over.
   *
   * @param stream The stream
   * @param maxLineBytes How many bytes of one line are kept
   */
  constructor(stream: ReadableStream<Uint8Array>, maxLineBytes: number) {
    this.#reader = stream.getReader();
    this.#splitter = new LineSplitter({ maxLineBytes });
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /**
   * All batches to the end of the stream.
   *
   * @returns The batches
   */
  async *batches(): AsyncGenerator<readonly AgentLine[], void, undefined> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read().catch(() => ({
          done: true as const,
          value: undefined,
        }));
        if (done || value === undefined) break;
        this.#lastRead = performance.now();
        const lines = this.#splitter.push(value);
        if (lines.length > 0) {
          yield lines.map((line) =>
            this.#decode(line.bytes, line.size, line.truncated)
          );
        }
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
   * @param silenceMs How long nothing may come
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
    if (!this.#over) await this.#reader.cancel().catch(() => {});
  }

  #decode(bytes: Uint8Array, size: number, cut: boolean): AgentLine {
    return { text: this.#decoder.decode(bytes), size, cut };
  }
}
