/**
 * What we ask an agent over its control channel, and its answers.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../frame.ts";

interface Pending {
  resolve(response: JsonObject): void;
  reject(error: Error): void;
}

/** Our requests to one agent. */
export class ControlRequests {
  readonly #write: (line: string) => void;
  readonly #pending = new Map<string, Pending>();
  #last = 0;

  /**
   * Opens the channel.
   *
   * @param write Takes one line for the agent.
   */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /**
   * Asks the agent.
   *
   * @param request What is asked.
   * @param timeoutMs How long the answer may take.
   * @returns The answer.
   */
  async request(request: JsonObject, timeoutMs: number): Promise<JsonObject> {
    const id = `bulkhead-${++this.#last}-${crypto.randomUUID().slice(0, 8)}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, { resolve, reject });
    const timer = setTimeout(() => {
      reject(
        new Error(
          `the agent did not answer "${request.subtype}" within ${timeoutMs} ms`,
        ),
      );
    }, timeoutMs);
    try {
      this.#write(
        JSON.stringify({
          type: "control_request",
          ["request_id"]: id,
          request,
        }),
      );
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }

  /**
   * Takes an answer. The echo of an answer of ours looks the same; only an id that we asked with counts.
   *
   * @param id The request.
   * @param value The whole line.
   */
  settle(id: string, value: JsonObject | undefined): void {
    const pending = this.#pending.get(id);
    const response = value?.response;
    if (pending === undefined || !isJsonObject(response)) return;
    if (response.subtype === "success") {
      pending.resolve(isJsonObject(response.response) ? response.response : {});
      return;
    }
    const { error } = response;
    pending.reject(
      new Error(typeof error === "string" ? error : "the agent refused"),
    );
  }

  /** The agent says nothing more. */
  end(): void {
    for (const pending of this.#pending.values()) {
      pending.reject(new Error("the agent's output has ended"));
    }
  }
}
