/**
 * The frames of a session, the newest ones, each with its number for ever.
 *
 * @module
 */

import type { Frame } from "./frame.ts";

/** One kept frame. */
export interface LogEntry {
  /** The frame. */
  readonly frame: Frame;
  /** The line it was read from. */
  readonly raw: string;
}

/** What a reader gets for a cursor. */
export interface LogSlice {
  /** The frames from the cursor on. */
  entries: LogEntry[];
  /** The number of the first frame in `entries`, or `next` when there is none. */
  from: number;
  /** The cursor to go on with. */
  next: number;
  /** True when frames before `from` that the reader has not seen are gone. */
  gap: boolean;
  /** True when more frames are kept behind `next`, because the answer was cut at its size. */
  more: boolean;
}

/** Bounds of a {@linkcode FrameLog}. */
export interface FrameLogOptions {
  /**
   * How many frames are kept.
   *
   * @default {4096}
   */
  maxFrames?: number;
  /**
   * How many characters of lines are kept. The newest frame stays, however long it is.
   *
   * @default {33554432}
   */
  maxChars?: number;
}

/** Bounds of one read. */
export interface ReadLimit {
  /**
   * Stop before the lines of the answer pass this many characters; one frame is always given.
   *
   * @default {Infinity}
   */
  maxChars?: number;
  /**
   * Give at most this many frames.
   *
   * @default {Infinity}
   */
  maxFrames?: number;
}

/** The seed's bound on the number of frames. */
export const MAX_FRAMES = 4096;

/**
 * A ring of frames, bounded by number and by size. Reading does not consume; every reader has its own cursor.
 *
 * @example A reader that comes late
 * ```ts
 * import { FrameLog, parseFrame } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const log = new FrameLog({ maxFrames: 2 });
 * for (const line of ["1", "2", "3"]) log.push({ frame: parseFrame(line), raw: line });
 * const slice = log.since(0);
 * assertEquals(slice.entries.map((entry) => entry.raw), ["2", "3"]);
 * assertEquals([slice.next, slice.gap], [3, true]);
 * ```
 */
export class FrameLog {
  readonly #ring: (LogEntry | undefined)[] = [];
  readonly #maxFrames: number;
  readonly #maxChars: number;
  #base = 0;
  #end = 0;
  #chars = 0;

  /**
   * Makes an empty log.
   *
   * @param options The bounds
   */
  constructor(options: FrameLogOptions = {}) {
    this.#maxFrames = Math.max(1, Math.trunc(options.maxFrames ?? MAX_FRAMES));
    this.#maxChars = options.maxChars ?? 33_554_432;
  }

  /** The number of the oldest kept frame. */
  get base(): number {
    return this.#base;
  }

  /** The number the next frame will get. */
  get end(): number {
    return this.#end;
  }

  /** How many characters of lines are kept. */
  get chars(): number {
    return this.#chars;
  }

  /**
   * Keeps one more frame and lets go of the oldest ones over the bounds.
   *
   * @param entry The frame
   */
  push(entry: LogEntry): void {
    const slot = this.#end % this.#maxFrames;
    if (this.#end - this.#base === this.#maxFrames) this.#drop();
    this.#ring[slot] = entry;
    this.#end++;
    this.#chars += entry.raw.length;
    while (this.#chars > this.#maxChars && this.#end - this.#base > 1) {
      this.#drop();
    }
  }

  /**
   * The frames from a cursor on.
   *
   * @param cursor The number of the first wanted frame; beyond the end gives nothing and no gap
   * @param limit Bounds of the answer
   * @returns The frames and where to go on
   */
  since(cursor: number, limit: ReadLimit = {}): LogSlice {
    const maxChars = limit.maxChars ?? Infinity;
    const maxFrames = limit.maxFrames ?? Infinity;
    const gap = cursor < this.#base;
    const from = gap ? this.#base : Math.min(cursor, this.#end);
    const entries: LogEntry[] = [];
    let next = from;
    let chars = 0;
    while (next < this.#end && entries.length < maxFrames) {
      const entry = this.#ring[next % this.#maxFrames];
      if (entry === undefined) break;
      chars += entry.raw.length;
      if (entries.length > 0 && chars > maxChars) break;
      entries.push(entry);
      next++;
    }
    return { entries, from, next, gap, more: next < this.#end };
  }

  #drop(): void {
    const slot = this.#base % this.#maxFrames;
    this.#chars -= this.#ring[slot]?.raw.length ?? 0;
    this.#ring[slot] = undefined;
    this.#base++;
  }
}
