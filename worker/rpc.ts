/**
 * The worker's wire: a four-byte little-endian length, then that many bytes of JSON.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "./frame.ts";

/** The largest body of one message. */
export const MAX_BODY = 16_777_216;

const HEADER = 4;
const U64_MAX = 18_446_744_073_709_551_615n;

/** The codes an error answer may carry. */
export type RpcErrorCode =
  | "malformed_frame"
  | "unknown_method"
  | "invalid_params"
  | "agent_not_found"
  | "agent_exists"
  | "invalid_status"
  | "busy"
  | "lock_timeout"
  | "spawn_failed"
  | "channel_unknown"
  | "internal"
  | "shutting_down";

/** An error of the other side, or one to send to it. */
export class RpcError extends Error {
  /** The code on the wire. */
  readonly code: RpcErrorCode;

  /**
   * Makes the error.
   *
   * @param code The code on the wire.
   * @param message What is wrong.
   */
  constructor(code: RpcErrorCode, message: string) {
    super(message);
    this.name = "RpcError";
    this.code = code;
  }
}

/** A request as it came. */
export interface RpcRequest {
  /** The id as it is written, so that ids above 2^53 go back digit by digit. */
  readonly id: string;
  /** The method. */
  readonly method: string;
  /** The parameters; an empty object when there are none. */
  readonly params: JsonObject;
}

/** What a body turned out to be. */
export type ParsedRequest =
  | { readonly ok: true; readonly request: RpcRequest }
  | {
    readonly ok: false;
    readonly id: string | undefined;
    readonly why: string;
  };

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Puts a JSON text into a frame.
 *
 * @param json The body.
 * @returns Length and body.
 * @throws {RangeError} When the body is larger than a frame may be.
 */
export function encodeMessage(json: string): Uint8Array<ArrayBuffer> {
  // Four characters of one byte each keep the place of the length.
  const message = encoder.encode("\0\0\0\0" + json);
  const length = message.length - HEADER;
  if (length > MAX_BODY) {
    throw new RangeError(
      `Cannot send a message of ${length} bytes: the limit is ${MAX_BODY}`,
    );
  }
  new DataView(message.buffer).setUint32(0, length, true);
  return message;
}

/**
 * Reads a request.
 *
 * @param body The body of a frame.
 * @returns The request, or why it is none and the id when it has one.
 */
export function parseRequest(body: Uint8Array): ParsedRequest {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(body);
    value = JSON.parse(text);
  } catch {
    return { ok: false, id: undefined, why: "the body is no JSON" };
  }
  if (!isJsonObject(value)) {
    return { ok: false, id: undefined, why: "the body is no object" };
  }
  const id = idOf(value.id, text);
  if (id === undefined) {
    return { ok: false, id, why: "the id is no unsigned integer" };
  }
  if (typeof value.method !== "string") {
    return { ok: false, id, why: "the method is no text" };
  }
  return {
    ok: true,
    request: {
      id,
      method: value.method,
      params: isJsonObject(value.params) ? value.params : {},
    },
  };
}

/** The digits of an id. Beyond 2^53 only the text knows them. */
function idOf(id: unknown, text: string): string | undefined {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 0) {
    return undefined;
  }
  if (Number.isSafeInteger(id)) return String(id);
  const digitsOf = new Map<unknown, string | undefined>();
  const digits = new Array<string | undefined>();
  JSON.parse(
    text,
    function (
      this: unknown,
      key: string,
      value: unknown,
      context?: { source?: string },
    ) {
      if (key === "id" && typeof value === "number") {
        digitsOf.set(this, context?.source);
      }
      if (key === "") digits[0] = digitsOf.get(value) ?? digits[0];
      return value;
    },
  );
  const exact = digits[0];
  return exact !== undefined && /^\d+$/.test(exact) &&
      BigInt(exact) <= U64_MAX
    ? exact
    : undefined;
}

/**
 * The JSON of a success.
 *
 * @param id The request's id.
 * @param result The result as JSON.
 * @returns The body.
 */
export function successBody(id: string, result: string): string {
  return `{"id":${id},"result":${result}}`;
}

/**
 * The JSON of an error.
 *
 * @param id The request's id.
 * @param code The code.
 * @param message What is wrong.
 * @returns The body.
 */
export function errorBody(
  id: string,
  code: RpcErrorCode,
  message: string,
): string {
  return `{"id":${id},"error":${JSON.stringify({ code, message })}}`;
}

/** What frames are read from; a `Deno.Conn` is one. */
export interface ByteSource {
  /** Reads some bytes, `null` at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
}

/** Reads frames off a connection, however they are cut into pieces. */
export class MessageReader {
  readonly #source: ByteSource;
  #buffer = new Uint8Array(4096);
  #start = 0;
  #end = 0;

  /**
   * Takes a connection over.
   *
   * @param source The connection.
   */
  constructor(source: ByteSource) {
    this.#source = source;
  }

  /**
   * The next body. It is valid until the next call.
   *
   * @returns The body, or `null` at a clean end.
   * @throws {RangeError} When the frame says that it is larger than a frame may be.
   * @throws {Deno.errors.UnexpectedEof} When the connection ends inside a frame.
   */
  async next(): Promise<Uint8Array | null> {
    for (;;) {
      const held = this.#end - this.#start;
      let wanted = HEADER;
      if (held >= HEADER) {
        wanted += this.#length();
        if (held >= wanted) {
          const at = this.#start + HEADER;
          this.#start += wanted;
          return this.#buffer.subarray(at, this.#start);
        }
      }
      this.#makeRoom(wanted);
      const read = await this.#source.read(this.#buffer.subarray(this.#end));
      if (read !== null) this.#end += read;
      else if (held === 0) return null;
      else {
        throw new Deno.errors.UnexpectedEof(
          `Cannot read a message: the connection ended after ${held} bytes of it`,
        );
      }
    }
  }

  #length(): number {
    const at = this.#buffer.byteOffset + this.#start;
    const length = new DataView(this.#buffer.buffer, at, HEADER)
      .getUint32(0, true);
    if (length > MAX_BODY) {
      throw new RangeError(
        `Cannot read a message of ${length} bytes: the limit is ${MAX_BODY}`,
      );
    }
    return length;
  }

  /** The buffer grows with what has come and not with what was promised. */
  #makeRoom(wanted: number): void {
    const held = this.#end - this.#start;
    if (held === 0) {
      this.#start = this.#end = 0;
    } else if (this.#start > 0 && this.#end === this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
      this.#start = 0;
      this.#end = held;
    }
    if (this.#end < this.#buffer.length) return;
    const size = Math.min(
      this.#buffer.length * 2,
      Math.max(wanted, this.#buffer.length + 1),
    );
    const grown = new Uint8Array(size);
    grown.set(this.#buffer);
    this.#buffer = grown;
  }
}
