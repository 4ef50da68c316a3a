/**
 * The agent's stdout: one JSON object a line, in the order of the calls, with
 * back-pressure.
 *
 * @module
 */

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Whether a value is a JSON object: no array, no `null`. */
export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const encoder = new TextEncoder();
const BATCH = 64 * 1024;

/** Writes frames; `drained()` waits until the reader has taken them. */
export class FrameOutput {
  #queue: Uint8Array[] = [];
  #queued = 0;
  #pump: Promise<void> | undefined;
  #broken = false;
  readonly #sink: (bytes: Uint8Array) => Promise<void>;

  /** @param sink Where bytes go; the process's stdout by default. */
  constructor(sink: (bytes: Uint8Array) => Promise<void> = writeStdout) {
    this.#sink = sink;
  }

  /** Queues one frame. */
  frame(frame: Json): void {
    this.raw(encoder.encode(JSON.stringify(frame) + "\n"));
  }

  /** Queues bytes as they are. */
  raw(bytes: Uint8Array): void {
    if (this.#broken) return;
    this.#queue.push(bytes);
    this.#queued += bytes.length;
    this.#pump ??= this.#run();
  }

  /** Whether the reader has gone away. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Drops everything from here on, as after `close_stdout`. */
  stop(): void {
    this.#broken = true;
    this.#queue = [];
  }

  /** Resolves when everything queued so far has been written. */
  async drained(): Promise<void> {
    while (this.#pump !== undefined) await this.#pump;
  }

  /** Waits only when much is queued: keeps memory flat while a script floods. */
  async relax(): Promise<void> {
    if (this.#queued > 1024 * 1024) await this.drained();
  }

  async #run(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#queue.length > 0) {
        const batch = this.#take();
        await this.#sink(batch);
      }
    } catch {
      this.#broken = true;
      this.#queue = [];
    } finally {
      this.#queued = 0;
      this.#pump = undefined;
    }
  }

  #take(): Uint8Array {
    const first = this.#queue[0] ?? new Uint8Array();
    if (this.#queue.length === 1 || first.length >= BATCH) {
      this.#queue.shift();
      this.#queued -= first.length;
      return first;
    }
    let size = 0, count = 0;
    for (const part of this.#queue) {
      if (size + part.length > BATCH && count > 0) break;
      size += part.length;
      count++;
    }
    const batch = new Uint8Array(size);
    let at = 0;
    for (const part of this.#queue.splice(0, count)) {
      batch.set(part, at);
      at += part.length;
    }
    this.#queued -= size;
    return batch;
  }
}

async function writeStdout(bytes: Uint8Array): Promise<void> {
  let at = 0;
  while (at < bytes.length) at += await Deno.stdout.write(bytes.subarray(at));
}

/** Writes a line to stderr; a closed stderr is no reason to stop. */
export async function complain(text: string): Promise<void> {
  try {
    let bytes = encoder.encode(text);
    while (bytes.length > 0) {
      bytes = bytes.subarray(await Deno.stderr.write(bytes));
    }
  } catch {
    // Nobody reads it.
  }
}
