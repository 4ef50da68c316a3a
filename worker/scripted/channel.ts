/**
 * Questions to the host and its answers: `control_request` out,
 * `control_response` in, matched by id.
 *
 * @module
 */
import { type FrameOutput, isJson, type Json } from "./output.ts";

/** How a question ended. */
export type Reply =
  | { kind: "success"; response: Json; echo: () => void }
  | { kind: "error"; error: string }
  | { kind: "closed" }
  | { kind: "cancelled" };

/** The open questions of one session. */
export class ControlChannel {
  readonly #output: FrameOutput;
  readonly #echoes: boolean;
  readonly #open = new Map<string, (reply: Reply) => void>();
  #closed = false;

  /** @param output Where requests go. @param echoes Whether accepted answers come back on stdout. */
  constructor(output: FrameOutput, echoes: boolean) {
    this.#output = output;
    this.#echoes = echoes;
  }

  /** Whether stdin has ended, so that nothing can be asked any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Sends a question and waits for as long as it takes, or `timeoutMs`, or until `signal`. */
  async ask(
    request: Json,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<Reply> {
    if (this.#closed) return { kind: "closed" };
    const id = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#open.set(id, resolve);
    const cancel = () => {
      if (!this.#open.delete(id)) return;
      this.#output.frame({ type: "control_cancel_request", request_id: id });
      resolve({ kind: "cancelled" });
    };
    const timer = options.timeoutMs === undefined
      ? undefined
      : setTimeout(cancel, options.timeoutMs);
    options.signal?.addEventListener("abort", cancel, { once: true });
    this.#output.frame({ type: "control_request", request_id: id, request });
    if (options.signal?.aborted) cancel();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", cancel);
    }
  }

  /** Takes a `control_response` line; an unknown id is ignored. */
  settle(line: Json): void {
    const response = line.response;
    if (!isJson(response)) return;
    const { request_id: id, subtype, error, response: body } = response;
    const resolve = typeof id === "string" ? this.#open.get(id) : undefined;
    if (typeof id !== "string" || resolve === undefined) return;
    this.#open.delete(id);
    if (subtype !== "success") {
      return resolve({ kind: "error", error: String(error ?? "") });
    }
    const echo = () => {
      if (this.#echoes) {
        this.#output.frame({ type: "control_response", response });
      }
    };
    resolve({ kind: "success", response: isJson(body) ? body : {}, echo });
  }

  /** Stdin has ended: every open question is closed. */
  close(): void {
    this.#closed = true;
    for (const [, resolve] of this.#open) resolve({ kind: "closed" });
    this.#open.clear();
  }
}
