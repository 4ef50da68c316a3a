// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * The questions of a session that wait for a person. They live here, not in a connection.
 *
 * @module
 */

import { MAX_TIMER_MS } from "@bulkhead/sandbox";
import type { AskAnswer } from "./agents/driver.ts";
import type { ControlRequestFrame } from "./frame.ts";

/** One open question, in the shape clients get. */
export interface OpenAsk {
  /** The id to answer with. */
  id: string;
  /** The tool. */
  tool_name: string;
  /** The arguments. */
  input: unknown;
  /** The tool's name for people. */
  display_name?: string;
  /** The call in one line. */
  description?: string;
  /** The agent's id of the call. */
  tool_use_id?: string;
  /** Set when a subagent asks. */
  agent_id?: string;
  /** Why nobody could decide without a person. */
  reason?: string;
  /** When it was asked, in milliseconds since 1970. */
  opened_at: number;
  /** When it is denied for want of an answer, in milliseconds since 1970; `null` for never. */
  expires_at: number | null;
}

/** Why a question is no longer open. */
export type AskEnd = "answered" | "expired" | "withdrawn";

/** Takes note of what happens to questions. */
export interface AskListener {
  /** A question was opened. */
  opened(ask: OpenAsk): void;
  /** A question is settled; `answer` is absent when the agent withdrew it. */
  settled(ask: OpenAsk, end: AskEnd, answer?: AskAnswer): void;
}

interface Held {
  readonly ask: OpenAsk;
  readonly deadline: number;
}

/** The open questions of one session. One timer runs while there are any, none otherwise. */
export class AskBook {
  readonly #held = new Map<string, Held>();
  readonly #timeoutMs: number;
  readonly #listener: AskListener;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Opens an empty book.
   *
   * @param timeoutMs How long a question may stay open; 0 for ever.
   * @param listener Takes note of what happens.
   */
  constructor(timeoutMs: number, listener: AskListener) {
    this.#timeoutMs = timeoutMs;
    this.#listener = listener;
  }

  /** The open questions, oldest first. */
  get open(): OpenAsk[] {
    return [...this.#held.values()].map((held) => held.ask);
  }

  /** How many questions are open. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Holds a question.
   *
   * @param frame The agent's request.
   * @param reason Why a person is needed.
   */
  hold(frame: ControlRequestFrame, reason: string | undefined): void {
    const now = Date.now();
    const ask: OpenAsk = {
      id: frame.request_id,
      tool_name: frame.tool_name,
      input: frame.input,
      ...(frame.display_name === undefined
        ? {}
        : { display_name: frame.display_name }),
      ...(frame.description === undefined
        ? {}
        : { description: frame.description }),
      ...(frame.tool_use_id === undefined
        ? {}
        : { tool_use_id: frame.tool_use_id }),
      ...(frame.agent_id === undefined ? {} : { agent_id: frame.agent_id }),
      ...(reason === undefined ? {} : { reason }),
      opened_at: now,
      expires_at: this.#timeoutMs > 0 ? now + this.#timeoutMs : null,
    };
    this.#held.set(ask.id, {
      ask,
      deadline: this.#timeoutMs > 0
        ? performance.now() + this.#timeoutMs
        : Infinity,
    });
    this.#listener.opened(ask);
    this.#arm();
  }

  /**
   * Settles a question with an answer.
   *
   * @param id The question.
   * @param answer The answer.
   * @returns False when it is not open.
   */
  answer(id: string, answer: AskAnswer): boolean {
    return this.#settle(id, "answered", answer);
  }

  /**
   * The agent no longer waits for an answer.
   *
   * @param id The question.
   */
  withdraw(id: string): void {
    this.#settle(id, "withdrawn");
  }

  /** The agent has ended: nothing waits any more. */
  withdrawAll(): void {
    for (const id of [...this.#held.keys()]) this.withdraw(id);
  }

  #settle(id: string, end: AskEnd, answer?: AskAnswer): boolean {
    const held = this.#held.get(id);
    if (held === undefined) return false;
    this.#held.delete(id);
    this.#arm();
    this.#listener.settled(held.ask, end, answer);
    return true;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let next = Infinity;
    for (const held of this.#held.values()) {
      next = Math.min(next, held.deadline);
    }
    if (next === Infinity) return;
    const wait = Math.max(
      0,
      Math.min(next - performance.now(), MAX_TIMER_MS),
    );
    this.#timer = setTimeout(() => this.#expire(), wait);
  }

  #expire(): void {
    const now = performance.now();
    for (const [id, held] of [...this.#held]) {
      if (held.deadline > now) continue;
      const reason = `Nobody answered within ${this.#timeoutMs} ms`;
      this.#settle(id, "expired", { decision: "deny", reason });
    }
    this.#arm();
  }
}
