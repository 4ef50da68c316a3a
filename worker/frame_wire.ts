/**
 * Frames as the bytes that go to clients. A push that several clients wait for is built once.
 *
 * @module
 */

import { cut, type Frame } from "./frame.ts";
import type { FrameLog, LogEntry } from "./frame_log.ts";
import { encodeMessage, MAX_BODY } from "./rpc.ts";

/** Room for what stands around the frames. */
const MARGIN = 1024;

/** Up to this many characters an answer fits whatever they are: a character takes at most three bytes. */
const SURE_CHARS = Math.floor(MAX_BODY / 3) - MARGIN;

/** A string of a frame that alone would not fit is cut to this many characters. */
const STRING_CAP = 262_144;

/** A push ready to be written. */
export interface Push {
  /** The message. */
  readonly bytes: Uint8Array;
  /** The cursor behind it. */
  readonly next: number;
}

/** How many bytes of pushes are kept for clients that follow a little behind. */
const KEPT_BYTES = 4_194_304;

/** Turns slices of a log into messages. */
export class FrameWire {
  readonly #log: FrameLog;
  /** By whether lines go along, and by the cursor they answer: the newest pushes, oldest first. */
  readonly #kept = {
    plain: new Map<number, Push>(),
    raw: new Map<number, Push>(),
  };
  #keptBytes = 0;

  /**
   * Makes the wire side of a log.
   *
   * @param log The log.
   */
  constructor(log: FrameLog) {
    this.#log = log;
  }

  /**
   * The result of `stream.read_frames`. It is cut where it would pass the size of a message; `more` says so then.
   *
   * @param cursor The first wanted frame.
   * @param raw Give each frame its line.
   * @param childAlive Whether the agent lives.
   * @returns The result as JSON.
   */
  readResult(cursor: number, raw: boolean, childAlive: boolean): string {
    const slice = this.#log.since(cursor, { maxBytes: MAX_BODY });
    const { parts, next } = fit(slice.entries, slice.from, raw);
    const more = next < this.#log.end && parts.length > 0 ? ',"more":true' : "";
    // A cursor beyond the end is brought back to it.
    const end = parts.length === 0 ? this.#log.end : next;
    return `{"frames":[${
      parts.join(",")
    }],"next":${end},"gap":${slice.gap},"child_alive":${childAlive}${more}}`;
  }

  /**
   * Builds the push of the newest batch while its frames are at hand, for followers that are still busy with the one
   * before: later the frames would have to be read from their lines again.
   *
   * @param raw Give each frame its line.
   * @param maxBytes About how much it may carry.
   */
  prepare(raw: boolean, maxBytes: number): void {
    this.push(this.#log.batch, raw, maxBytes);
  }

  /**
   * The next push for a cursor. Clients at the same cursor get the same bytes, also a while later.
   *
   * @param cursor The first frame the client has not seen.
   * @param raw Give each frame its line.
   * @param maxBytes About how much it may carry.
   * @returns The push, or `undefined` when there is nothing new.
   */
  push(cursor: number, raw: boolean, maxBytes: number): Push | undefined {
    if (cursor >= this.#log.end) return undefined;
    const kept = raw ? this.#kept.raw : this.#kept.plain;
    const known = kept.get(cursor);
    if (known !== undefined) return known;
    const slice = this.#log.since(cursor, { maxBytes });
    const { parts, next } = fit(slice.entries, slice.from, raw);
    const bytes = encodeMessage(
      `{"event":"frames","from":${slice.from},"frames":[${
        parts.join(",")
      }],"next":${next},"gap":${slice.gap}}`,
    );
    const push = { bytes, next };
    kept.set(cursor, push);
    this.#keptBytes += bytes.length;
    for (const pushes of [this.#kept.plain, this.#kept.raw]) {
      for (const [at, old] of pushes) {
        if (this.#keptBytes <= KEPT_BYTES) break;
        pushes.delete(at);
        this.#keptBytes -= old.bytes.length;
      }
    }
    return push;
  }
}

/** As many frames as a message can hold, one at least. */
function fit(
  entries: readonly LogEntry[],
  from: number,
  raw: boolean,
): { parts: string[]; next: number } {
  const parts: string[] = [];
  let chars = 0;
  let bytes = 0;
  for (const entry of entries) {
    const json = frameJson(entry, raw);
    chars += json.length + 1;
    if (chars > SURE_CHARS) {
      if (bytes === 0) {
        bytes = parts.reduce((sum, part) => sum + byteLength(part) + 1, 0);
      }
      bytes += byteLength(json) + 1;
      if (bytes > MAX_BODY - MARGIN) {
        if (parts.length === 0) {
          parts.push(
            frameJson({ frame: cutFrame(entry.frame), raw: "" }, false),
          );
        }
        break;
      }
    }
    parts.push(json);
  }
  return { parts, next: from + parts.length };
}

function frameJson(entry: LogEntry, raw: boolean): string {
  try {
    return JSON.stringify(
      raw ? { ...entry.frame, raw: entry.raw } : entry.frame,
    );
  } catch {
    // Nested deeper than JSON.stringify goes.
    return JSON.stringify(stubOf(entry.frame, entry.raw.length));
  }
}

function cutFrame(frame: Frame): Frame {
  const json = boundedJson(frame, MAX_BODY - MARGIN);
  if (json === undefined) return stubOf(frame, 0);
  const value: Frame = JSON.parse(json);
  return value;
}

/**
 * A value as JSON that is no longer than a bound; long strings in it are cut when it would be.
 *
 * @param value The value.
 * @param maxBytes The bound.
 * @returns The JSON, or `undefined` when it does not fit, or is nested deeper than JSON goes.
 */
export function boundedJson(
  value: unknown,
  maxBytes: number,
): string | undefined {
  try {
    const whole = JSON.stringify(value);
    if (whole.length * 3 <= maxBytes || byteLength(whole) <= maxBytes) {
      return whole;
    }
    const longest = Math.min(STRING_CAP, Math.floor(maxBytes / 16));
    const shorter = JSON.stringify(
      value,
      (_key, part: unknown) =>
        typeof part === "string" ? cut(part, longest) : part,
    );
    return byteLength(shorter) <= maxBytes ? shorter : undefined;
  } catch {
    return undefined;
  }
}

/** A frame that cannot be sent is told by its kind and id. */
function stubOf(frame: Frame, size: number): Frame {
  const id = frame.uuid === undefined ? {} : { uuid: frame.uuid };
  switch (frame.kind) {
    case "assistant":
      return { kind: "assistant", text: "", ...id };
    case "control_request":
      return { ...frame, input: null, message: undefined };
    case "result":
      return {
        kind: "result",
        subtype: frame.subtype,
        result: null,
        is_error: frame.is_error,
        ...id,
      };
    case "user_echo":
      return { kind: "user_echo", ...id };
    default:
      return { kind: "malformed", size, ...id };
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
