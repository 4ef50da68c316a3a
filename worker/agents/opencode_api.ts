/**
 * OpenCode's server over HTTP.
 *
 * @module
 */

import { readLines } from "@bulkhead/sandbox";
import { isJsonObject, type JsonObject } from "../frame.ts";

/** An event of the server. */
export interface OpenCodeEvent {
  /** The kind, such as `session.idle`. */
  readonly type: string;
  /** What it is about. */
  readonly properties: JsonObject;
  /** The event as it came. */
  readonly raw: string;
}

/** Thrown when the server refuses a request. */
export class OpenCodeApiError extends Error {
  /** The HTTP status. */
  readonly status: number;

  /**
   * Makes the error.
   *
   * @param what What was asked.
   * @param status The HTTP status.
   * @param message What the server said.
   */
  constructor(what: string, status: number, message: string) {
    super(`"${what}" failed with ${status}: ${message}`);
    this.name = "OpenCodeApiError";
    this.status = status;
  }
}

/** Thrown when the server does not answer in time. */
export class OpenCodeLateError extends Error {
  /** The name that stands in front of the message. */
  override name = "OpenCodeLateError";
}

/** Speaks with one server. */
export class OpenCodeApi {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #stop = new AbortController();

  /**
   * Takes a server.
   *
   * @param origin Where it listens.
   * @param password Its password.
   */
  constructor(origin: string, password: string) {
    this.#origin = origin;
    this.#headers = {
      authorization: `Basic ${btoa(`opencode:${password}`)}`,
      "content-type": "application/json",
    };
  }

  /**
   * Asks the server.
   *
   * @param method The HTTP method.
   * @param path The path.
   * @param body The body.
   * @param timeoutMs How long the answer may take.
   * @returns The answer; an empty object when it has none.
   * @throws {OpenCodeApiError} When the server refuses.
   */
  async call(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: JsonObject,
    timeoutMs = 30_000,
  ): Promise<JsonObject> {
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#origin + path, {
        method,
        headers: this.#headers,
        signal: AbortSignal.any([timeout, this.#stop.signal]),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      text = await response.text();
    } catch (cause) {
      if (!timeout.aborted) throw cause;
      throw new OpenCodeLateError(
        `it did not answer "${method} ${path}" within ${timeoutMs} ms`,
      );
    }
    if (!response.ok) {
      throw new OpenCodeApiError(
        `${method} ${path}`,
        response.status,
        messageOf(text),
      );
    }
    return parse(text) ?? {};
  }

  /**
   * Listens to the server.
   *
   * @returns The events, until the server or we end it.
   */
  async events(): Promise<AsyncGenerator<OpenCodeEvent, void, undefined>> {
    const response = await fetch(`${this.#origin}/event`, {
      headers: this.#headers,
      signal: this.#stop.signal,
    });
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      throw new OpenCodeApiError("GET /event", response.status, "no events");
    }
    return read(response.body);
  }

  /** Ends everything that is open. */
  close(): void {
    this.#stop.abort();
  }
}

async function* read(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<OpenCodeEvent, void, undefined> {
  const decoder = new TextDecoder();
  try {
    for await (const line of readLines(body)) {
      const text = decoder.decode(line.bytes);
      if (!text.startsWith("data:")) continue;
      const raw = text.slice(5).trim();
      const event = parse(raw);
      if (event === undefined || typeof event.type !== "string") continue;
      const { properties } = event;
      yield {
        type: event.type,
        properties: isJsonObject(properties) ? properties : {},
        raw,
      };
    }
  } catch {
    // The connection broke: that is the end of the events too.
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(text: string): string {
  const body = parse(text);
  const data = isJsonObject(body?.data) ? body.data : body;
  return typeof data?.message === "string" ? data.message : text.slice(0, 200);
}
