/**
 * The questions of a session: answered at once when the rules know the answer, held for a person otherwise.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type { AskAnswer, ToolCall, Verdict } from "./agents/driver.ts";
import { AskBook, type OpenAsk } from "./asks.ts";
import type { ControlRequestFrame } from "./frame.ts";
import { answerOf, type Judge } from "./gate.ts";
import type { SessionOptions } from "./session_options.ts";
import type { TurnState } from "./turn_state.ts";
import type { TurnLedger } from "./turns.ts";

/** What the questions need of their session. */
export interface SessionAsksPort {
  /** The options of the session. */
  readonly options: SessionOptions;
  /** Who judges. */
  readonly judge: Judge;
  /** The state, which an open question changes. */
  readonly state: TurnState;
  /** The turns, which note what was denied. */
  readonly turns: TurnLedger;
  /** The open questions have changed. */
  changed(): void;
  /** The state may have changed. */
  stateChanged(): void;
}

/** The questions of one session. */
export class SessionAsks {
  readonly #port: SessionAsksPort;
  readonly #book: AskBook;
  /** The questions whose arguments a decider has changed: a person says yes to those, so they are what runs. */
  readonly #changed = new Set<string>();
  #answerers = 0;

  /**
   * Opens the book.
   *
   * @param port The session.
   */
  constructor(port: SessionAsksPort) {
    this.#port = port;
    const { options } = port;
    this.#book = new AskBook(options.askTimeoutMs ?? 3_600_000, {
      opened: (ask) => {
        options.event?.("agent_ask_opened", {
          ask_id: ask.id,
          tool_name: ask.tool_name,
        });
        port.changed();
      },
      settled: (ask, end, answer) => this.#settled(ask, end, answer),
    });
  }

  /** How many questions are open. */
  get size(): number {
    return this.#book.size;
  }

  /** The open questions, oldest first. */
  get open(): OpenAsk[] {
    return this.#book.open;
  }

  /**
   * Counts somebody in who answers.
   *
   * @returns Counts them out again.
   */
  attach(): () => void {
    this.#answerers++;
    let attached = true;
    return () => {
      if (attached) this.#answerers--;
      attached = false;
    };
  }

  /**
   * Answers an open question.
   *
   * @param id The question.
   * @param answer The answer.
   * @returns False when it is not open.
   */
  answer(id: string, answer: AskAnswer): boolean {
    return this.#book.answer(id, answer);
  }

  /** Nothing is open any more: the agent has ended. */
  withdrawAll(): void {
    this.#book.withdrawAll();
  }

  /**
   * Answers a question before its frame is kept, when the answer is known; else holds it.
   *
   * @param frame The question.
   * @returns True when it is answered.
   */
  take(frame: ControlRequestFrame): boolean {
    if (frame.request_id === "") return true;
    const call: ToolCall = {
      toolName: frame.tool_name,
      input: frame.input,
      cwd: this.#port.options.cwd,
      ...(frame.tool_use_id === undefined
        ? {}
        : { toolUseId: frame.tool_use_id }),
      ...(frame.agent_id === undefined ? {} : { agentId: frame.agent_id }),
      ...(frame.decision_reason_type === undefined
        ? {}
        : { reasonType: frame.decision_reason_type }),
    };
    const verdict = this.#port.judge.recall(call);
    if (!(verdict instanceof Promise)) {
      return this.#decide(frame, call, verdict);
    }
    verdict.then((settled) => {
      if (!this.#port.state.asks.has(frame.request_id)) return;
      if (this.#decide(frame, call, settled)) {
        this.#port.state.answered(frame.request_id);
        this.#port.stateChanged();
      }
    });
    return false;
  }

  #decide(
    frame: ControlRequestFrame,
    call: ToolCall,
    verdict: Verdict,
  ): boolean {
    const answer = answerOf(verdict);
    if (answer !== undefined) {
      this.#answerAgent(frame.request_id, answer);
      return true;
    }
    const policy = this.#port.options.asks ?? "attached";
    if (policy === "wait" || (policy === "attached" && this.#answerers > 0)) {
      this.#hold(frame, verdict);
      return false;
    }
    const reason = verdict.reason ?? "nobody is there to approve the call";
    this.#port.turns.denied({
      tool: call.toolName,
      ...(call.toolUseId === undefined ? {} : { toolUseId: call.toolUseId }),
      reason,
    });
    this.#port.options.log?.(
      `Denied "${call.toolName}" (ask ${frame.request_id}): ${reason}`,
    );
    this.#answerAgent(frame.request_id, { decision: "deny", reason });
    return true;
  }

  #hold(frame: ControlRequestFrame, verdict: Verdict): void {
    const { updatedInput, updatedBy, reason } = verdict;
    if (updatedInput === undefined) return this.#book.hold(frame, reason);
    this.#changed.add(frame.request_id);
    const changed = `${updatedBy ?? "a decider"} changed the call`;
    this.#book.hold(
      { ...frame, input: updatedInput },
      reason === undefined ? changed : `${changed}; ${reason}`,
    );
  }

  #answerAgent(id: string, answer: AskAnswer): void {
    try {
      const sent = this.#port.options.driver.answer(id, answer);
      if (sent instanceof Promise) {
        sent.catch((error) => this.#answerFailed(id, error));
      }
    } catch (error) {
      this.#answerFailed(id, error);
    }
  }

  #answerFailed(id: string, error: unknown): void {
    this.#port.options.log?.(
      `Cannot answer ask "${id}": ${reasonOf(error)}`,
    );
  }

  #settled(
    ask: OpenAsk,
    end: "answered" | "expired" | "withdrawn",
    answer?: AskAnswer,
  ): void {
    const changed = this.#changed.delete(ask.id);
    if (answer !== undefined) {
      this.#answerAgent(
        ask.id,
        changed && answer.decision === "allow" &&
          answer.updatedInput === undefined
          ? { ...answer, updatedInput: ask.input }
          : answer,
      );
      this.#port.state.answered(ask.id);
      if (answer.decision === "deny") {
        this.#port.turns.denied({
          tool: ask.tool_name,
          ...(ask.tool_use_id === undefined
            ? {}
            : { toolUseId: ask.tool_use_id }),
          ...(answer.reason === undefined ? {} : { reason: answer.reason }),
        });
      }
    }
    this.#port.options.event?.("agent_ask_settled", {
      ask_id: ask.id,
      tool_name: ask.tool_name,
      end,
      ...(answer === undefined ? {} : { decision: answer.decision }),
    });
    this.#port.changed();
    this.#port.stateChanged();
  }

  /** What the agent no longer asks is no longer open: it was interrupted, or the turn is over. */
  withdrawClosed(): void {
    const open = this.#port.state.asks;
    for (const ask of this.#book.open) {
      if (!open.has(ask.id)) this.#book.withdraw(ask.id);
    }
  }
}
