/**
 * What a plugin's process prints, on both of its streams.
 *
 * @module
 */

import { OutputLog } from "./output.ts";
import { safely } from "./safely.ts";

/** Collects what a process prints until its pipes are closed. */
export class ChildOutput {
  readonly #log: OutputLog;
  readonly #readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  readonly #ended: Promise<unknown>;

  /**
   * Starts to collect.
   *
   * @param name The plugin's name, put before each line.
   * @param streams The streams.
   * @param onLine Gets the lines.
   */
  constructor(
    name: string,
    streams: readonly ReadableStream<Uint8Array>[],
    onLine: ((line: string) => void) | undefined,
  ) {
    this.#log = new OutputLog({
      name,
      ...onLine === undefined ? {} : {
        onLine: (line: string) => safely(onLine, line),
      },
    });
    this.#ended = Promise.all(streams.map((stream) => this.#collect(stream)));
  }

  /** The last of it. */
  get tail(): string {
    return this.#log.tail;
  }

  /** Waits for the end of the output, but not long: a process that the plugin forked may hold the pipes. */
  async settled(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.#ended, timeout]);
    clearTimeout(timer);
  }

  /** Stops reading. */
  async close(): Promise<void> {
    await this.settled(200);
    await Promise.all(
      this.#readers.map((reader) => reader.cancel().catch(() => {})),
    );
    await this.#ended;
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const reader = stream.getReader();
    this.#readers.push(reader);
    try {
      while (true) {
        const { value, done } = await reader.read();
        if (done) break;
        this.#log.push(value);
      }
    } catch {
      // The pipe broke with the process.
    }
    this.#log.end();
  }
}
