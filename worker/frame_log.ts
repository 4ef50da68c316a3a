/**
 * The frames of a session, the newest ones, each with its number for ever.
 *
 * @module
 */

import { type Frame, parseFrame } from "./frame.ts";
import { LineRing } from "./line_ring.ts";

/** A frame to keep. */
export interface NewEntry {
  /** The frame. */
  readonly frame: Frame;
  /** The line it was read from. */
  readonly raw: string;
  /** The line's bytes, when the frame can be read from the line again. Not kept; copied. */
  readonly bytes?: Uint8Array;
}

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
   * How many bytes of lines are kept. The newest frame stays, however long it is.
   *
   * @default {33554432}
   */
  maxBytes?: number;
}

/** Bounds of one read. */
export interface ReadLimit {
  /**
   * Stop before the lines of the answer pass this many bytes; one frame is always given.
   *
   * @default {Infinity}
   */
  maxBytes?: number;
  /**
   * Give at most this many frames.
   *
   * @default {Infinity}
   */
  maxFrames?: number;
}

/** How many frames are kept when nothing else is asked for, as the stream worker of `fno_agents` does. */
export const MAX_FRAMES = 4096;

/**
 * A ring of frames, bounded by number and by size. Reading does not consume; every reader has its own cursor.
 *
 * A frame that can be read from its line again is kept as the bytes of the line, outside the heap: a session of
 * millions of frames leaves the collector nothing to do. The frames of the newest batch are kept as they are, so that
 * those who follow live cost no second parse.
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
  readonly #maxFrames: number;
  readonly #maxBytes: number;
  readonly #lines: LineRing;
  /** By number modulo the bound: entries that are kept as objects. */
  readonly #whole: (LogEntry | undefined)[] = [];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #recent: LogEntry[] = [];
  #recentFrom = 0;
  #base = 0;
  #end = 0;
  #wholeBytes = 0;

  /**
   * Makes an empty log.
   *
   * @param options The bounds.
   */
  constructor(options: FrameLogOptions = {}) {
    this.#maxFrames = Math.max(1, Math.trunc(options.maxFrames ?? MAX_FRAMES));
    this.#maxBytes = options.maxBytes ?? 33_554_432;
    this.#lines = new LineRing(this.#maxFrames, this.#maxBytes);
  }

  /** The number of the oldest kept frame. */
  get base(): number {
    return this.#base;
  }

  /** The number the next frame will get. */
  get end(): number {
    return this.#end;
  }

  /** About how many bytes of lines are kept. */
  get bytes(): number {
    return this.#wholeBytes + this.#lines.bytes;
  }

  /** The number of the first frame of the newest batch; beyond the end when the batch is not at hand. */
  get batch(): number {
    return this.#recentFrom;
  }

  /** A new batch begins: the frames of the last one are read from their lines from now on. */
  begin(): void {
    if (this.#recent.length > 0) this.#recent = [];
    this.#recentFrom = this.#end;
  }

  /**
   * Keeps one more frame and lets go of the oldest ones over the bounds.
   *
   * @param entry The frame.
   */
  push(entry: NewEntry): void {
    if (this.#end - this.#base === this.#maxFrames) this.#drop();
    const { bytes } = entry;
    if (bytes !== undefined && bytes.length * 4 <= this.#maxBytes) {
      const oldest = this.#lines.push(this.#end, bytes);
      while (this.#base < oldest) this.#drop();
      if (this.#recent.length < MAX_FRAMES) this.#recent.push(entry);
      else this.#forgetRecent();
    } else {
      this.#whole[this.#end % this.#maxFrames] = {
        frame: entry.frame,
        raw: entry.raw,
      };
      this.#wholeBytes += entry.raw.length;
      this.#recent.push(entry);
    }
    this.#end++;
    while (this.bytes > this.#maxBytes && this.#end - this.#base > 1) {
      this.#drop();
    }
  }

  /**
   * The frames from a cursor on.
   *
   * @param cursor The number of the first wanted frame; beyond the end gives nothing and no gap.
   * @param limit Bounds of the answer.
   * @returns The frames and where to go on.
   */
  since(cursor: number, limit: ReadLimit = {}): LogSlice {
    const maxBytes = limit.maxBytes ?? Infinity;
    const maxFrames = limit.maxFrames ?? Infinity;
    const gap = cursor < this.#base;
    const from = gap ? this.#base : Math.min(cursor, this.#end);
    const entries: LogEntry[] = [];
    let next = from;
    let bytes = 0;
    while (next < this.#end && entries.length < maxFrames) {
      const entry = this.#at(next);
      if (entry === undefined) break;
      bytes += entry.raw.length;
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
      next++;
    }
    return { entries, from, next, gap, more: next < this.#end };
  }

  #at(index: number): LogEntry | undefined {
    const recent = this.#recent[index - this.#recentFrom];
    if (recent !== undefined) return recent;
    const line = this.#lines.at(index);
    if (line === undefined) return this.#whole[index % this.#maxFrames];
    const raw = this.#decoder.decode(line);
    return { frame: parseFrame(raw), raw };
  }

  /** A batch longer than the ring is not kept twice. */
  #forgetRecent(): void {
    this.#recent = [];
    this.#recentFrom = this.#end + 1;
  }

  #drop(): void {
    const slot = this.#base % this.#maxFrames;
    this.#wholeBytes -= this.#whole[slot]?.raw.length ?? 0;
    this.#whole[slot] = undefined;
    this.#lines.drop(this.#base);
    this.#base++;
  }
}
