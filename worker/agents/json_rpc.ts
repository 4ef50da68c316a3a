/**
 * JSON-RPC in lines with an agent's process: requests of ours and their answers, requests and notices of the agent.
 *
 * @module
 */

import type { AgentChild } from "../agent_child.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";

/** Codes of errors, as JSON-RPC 2.0 has them. */
export const RPC_ERRORS = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
} as const;

/** How much of a line that nobody understands is shown, in characters. */
const SHOWN = 512;

/** The id of a request. */
export type RpcId = string | number;

/** What the other side says on its own. */
export interface RpcHandlers {
  /**
   * Takes a request; it is answered later through {@linkcode JsonRpc.respond}.
   *
   * @param id The request.
   * @param method What is asked.
   * @param params With what.
   * @param raw The line.
   */
  request(id: RpcId, method: string, params: JsonObject, raw: string): void;
  /**
   * Takes a notice.
   *
   * @param method What is told.
   * @param params With what.
   * @param raw The line.
   */
  notice(method: string, params: JsonObject, raw: string): void;
  /**
   * Takes a line that is none of these.
   *
   * @param line The line, or its beginning.
   * @param size Its whole size in bytes.
   */
  malformed(line: string, size: number): void;
}

/** Thrown when the other side answers a request with an error. */
export class RpcError extends Error {
  /** The code of the error. */
  readonly code: number;

  /**
   * Makes the error.
   *
   * @param method What was asked.
   * @param code The code.
   * @param message The words.
   */
  constructor(method: string, code: number, message: string) {
    super(`"${method}" failed: ${message}`);
    this.name = "RpcError";
    this.code = code;
  }
}

interface Pending {
  readonly method: string;
  resolve(result: JsonObject): void;
  reject(error: Error): void;
}

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 30_000;

/** One end of a JSON-RPC conversation over an agent's pipes. */
export class JsonRpc {
  readonly #child: AgentChild;
  readonly #version: JsonObject;
  readonly #pending = new Map<RpcId, Pending>();
  #last = 0;

  /**
   * Begins a conversation.
   *
   * @param child The agent.
   * @param version What every message carries besides its own fields, such as `{ jsonrpc: "2.0" }`.
   */
  constructor(child: AgentChild, version: JsonObject = {}) {
    this.#child = child;
    this.#version = version;
  }

  /**
   * Reads the agent to its end.
   *
   * @param handlers Who takes what it says on its own.
   */
  async read(handlers: RpcHandlers): Promise<void> {
    try {
      for await (const batch of this.#child.lines()) {
        for (const line of batch) {
          if (line.cut) {
            handlers.malformed(line.text.slice(0, SHOWN), line.size);
          } else this.#line(line.text, handlers);
        }
      }
    } finally {
      for (const pending of this.#pending.values()) {
        pending.reject(
          new Error(`it ended before it answered "${pending.method}"`),
        );
      }
      this.#pending.clear();
    }
  }

  /**
   * Asks the agent.
   *
   * @param method What.
   * @param params With what.
   * @param timeoutMs How long the answer may take; 0 for ever.
   * @returns The result.
   * @throws {RpcError} When the agent refuses.
   */
  async request(
    method: string,
    params: JsonObject,
    timeoutMs: number = ANSWER_MS,
  ): Promise<JsonObject> {
    const id = ++this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, { method, resolve, reject });
    const timer = timeoutMs === 0 ? undefined : setTimeout(
      () =>
        reject(
          new Error(`it did not answer "${method}" within ${timeoutMs} ms`),
        ),
      timeoutMs,
    );
    try {
      this.#write({ id, method, params });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }

  /**
   * Tells the agent.
   *
   * @param method What.
   * @param params With what.
   */
  notify(method: string, params?: JsonObject): void {
    this.#write({ method, ...(params === undefined ? {} : { params }) });
  }

  /**
   * Answers a request of the agent.
   *
   * @param id The request.
   * @param result The answer.
   */
  respond(id: RpcId, result: JsonObject): void {
    this.#write({ id, result });
  }

  /**
   * Refuses a request of the agent.
   *
   * @param id The request.
   * @param code The code.
   * @param message The words.
   */
  refuse(id: RpcId, code: number, message: string): void {
    this.#write({ id, error: { code, message } });
  }

  #write(message: JsonObject): void {
    this.#child.writeUrgent(JSON.stringify({ ...this.#version, ...message }));
  }

  #line(text: string, handlers: RpcHandlers): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    if (!isJsonObject(message)) {
      handlers.malformed(text.slice(0, SHOWN), text.length);
      return;
    }
    const { id, method } = message;
    const known = typeof id === "string" || typeof id === "number";
    const params = isJsonObject(message.params) ? message.params : {};
    if (typeof method === "string") {
      if (known) handlers.request(id, method, params, text);
      else handlers.notice(method, params, text);
      return;
    }
    const pending = known ? this.#pending.get(id) : undefined;
    if (pending === undefined) return;
    const { error } = message;
    if (isJsonObject(error)) {
      pending.reject(
        new RpcError(
          pending.method,
          typeof error.code === "number" ? error.code : 0,
          typeof error.message === "string"
            ? error.message
            : JSON.stringify(error),
        ),
      );
    } else pending.resolve(isJsonObject(message.result) ? message.result : {});
  }
}
