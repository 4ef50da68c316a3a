/**
 * Frames between host and child over a unix socket: 4 bytes length, 4 bytes length of the head, the head as JSON, the
 * body as it stands. Texts of plugins travel in the body, so they are never escaped twice.
 *
 * @module
 */

import { isObject } from "./json.ts";

/** The version both sides must speak. */
export const PROTOCOL = 1;

/** The longest frame. */
export const MAX_FRAME_BYTES = 80 * 1024 * 1024;

/** The head of a frame. */
export interface Head {
  /** The kind of frame. */
  readonly t: string;
  /** The request it belongs to. */
  readonly id?: number;
  /** Whatever else the kind needs. */
  readonly [key: string]: unknown;
}

/** Reads exact frames and writes whole ones. */
export class FrameConnection {
  readonly #conn: Deno.Conn;
  #queue: Uint8Array<ArrayBuffer>[] = [];
  #queued = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;
  #broken = false;
  /** Called when everything written has left. */
  onDrain: (() => void) | undefined;

  /**
   * Wraps a connection.
   *
   * @param conn The connection.
   */
  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  /** Bytes that were sent but have not left yet. */
  get queuedBytes(): number {
    return this.#queued;
  }

  /**
   * Sends a frame. A closed connection swallows it: the reader learns of the end.
   *
   * @param head The head.
   * @param body The body.
   */
  send(head: Head, body?: Uint8Array): void {
    if (this.#closed || this.#broken) return;
    const bytes = encodeFrame(head, body);
    this.#queue.push(bytes);
    this.#queued += bytes.length;
    this.#flushing ??= this.#flush();
  }

  /**
   * Waits until everything sent has left.
   *
   * @returns Settles then, or at once when the connection is gone.
   */
  async flushed(): Promise<void> {
    await this.#flushing;
  }

  /**
   * Reads frames until the end of the connection.
   *
   * @param onFrame Gets each frame; what it throws ends the reading.
   * @returns Settles at the end; rejects for a frame that breaks the rules.
   */
  async read(onFrame: (head: Head, body: Uint8Array) => void): Promise<void> {
    let buffer = new Uint8Array(65_536);
    let start = 0;
    let end = 0;
    while (true) {
      while (end - start >= 8) {
        const view = new DataView(buffer.buffer, start, 8);
        const size = view.getUint32(0, true);
        const headSize = view.getUint32(4, true);
        if (size > MAX_FRAME_BYTES || headSize + 4 > size) {
          throw new RangeError(
            `Cannot read a frame: it claims ${size} bytes with a head of ${headSize}`,
          );
        }
        if (end - start < size + 4) {
          if (buffer.length < size + 4) {
            const larger = new Uint8Array(size + 4);
            larger.set(buffer.subarray(start, end));
            end -= start;
            start = 0;
            buffer = larger;
          }
          break;
        }
        const bodyStart = start + 8 + headSize;
        const head = decodeHead(buffer.subarray(start + 8, bodyStart));
        const frameEnd = start + 4 + size;
        // A copy: the buffer is written again before the body is used up.
        onFrame(head, buffer.slice(bodyStart, frameEnd));
        start = frameEnd;
      }
      if (start === end) start = end = 0;
      if (end === buffer.length) {
        buffer.copyWithin(0, start, end);
        end -= start;
        start = 0;
      }
      let read: number | null;
      try {
        read = await this.#conn.read(buffer.subarray(end));
      } catch {
        // Reset or closed under us: the same as the end.
        read = null;
      }
      if (read === null) return;
      end += read;
    }
  }

  /** Closes the connection. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = [];
    this.#queued = 0;
    try {
      this.#conn.close();
    } catch {
      // It was closed by the other side already.
    }
  }

  async #flush(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const batch = this.#queue;
        this.#queue = [];
        const bytes = join(batch);
        for (let at = 0; at < bytes.length;) {
          const written = await this.#conn.write(bytes.subarray(at));
          at += written;
          this.#queued -= written;
        }
      }
    } catch {
      // The reader sees the end of the connection and settles everything.
      this.#broken = true;
      this.#queue = [];
      this.#queued = 0;
    }
    this.#flushing = undefined;
    this.onDrain?.();
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Encodes one frame.
 *
 * @param head The head.
 * @param body The body.
 * @returns The bytes.
 */
export function encodeFrame(
  head: Head,
  body: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const text = encoder.encode(JSON.stringify(head));
  const bytes = new Uint8Array(8 + text.length + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 4 + text.length + body.length, true);
  view.setUint32(4, text.length, true);
  bytes.set(text, 8);
  bytes.set(body, 8 + text.length);
  return bytes;
}

function decodeHead(bytes: Uint8Array): Head {
  const value: unknown = JSON.parse(decoder.decode(bytes));
  if (!isHead(value)) {
    throw new TypeError("Cannot read a frame: its head has the wrong shape");
  }
  return value;
}

function isHead(value: unknown): value is Head {
  return isObject(value) && typeof value.t === "string" &&
    (value.id === undefined || typeof value.id === "number");
}

function join(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const bytes = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Joins texts into one body.
 *
 * @param texts The texts.
 * @returns The body and the length of each text in bytes.
 */
export function packTexts(
  texts: readonly string[],
): { body: Uint8Array; sizes: number[] } {
  const parts = texts.map((text) => encoder.encode(text));
  return { body: join(parts), sizes: parts.map((part) => part.length) };
}

/**
 * Splits a body into its texts.
 *
 * @param body The body.
 * @param sizes The length of each text.
 * @returns The texts.
 */
export function unpackTexts(body: Uint8Array, sizes: unknown): string[] {
  if (!Array.isArray(sizes)) return [];
  let at = 0;
  return sizes.map((size) => {
    const end = at + (typeof size === "number" ? size : 0);
    const text = decoder.decode(body.subarray(at, end));
    at = end;
    return text;
  });
}
