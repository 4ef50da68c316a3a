/**
 * Questions that we put to people ourselves, because the agent's own way of asking has no room for them.
 *
 * @module
 */

import type { Frame } from "../frame.ts";
import type { AskAnswer, ToolCall, Verdict } from "./driver.ts";
import type { BridgeAnswer } from "./bridge.ts";

/** Options of {@linkcode AskDesk}. */
export interface AskDeskOptions {
  /**
   * Judges a call.
   *
   * @param call The call.
   * @returns The verdict.
   */
  judge(call: ToolCall): Verdict | Promise<Verdict>;
  /**
   * Shows a frame.
   *
   * @param frame The frame.
   */
  show(frame: Frame): void;
  /** Ask about calls nobody has an opinion on, because the agent itself will not. */
  readonly askUndecided?: boolean;
}

/** How many answers are remembered for the agent's own question about the same call. */
const KEPT = 1024;

/** Judges calls for the bridge and holds the open questions. */
export class AskDesk {
  readonly #options: AskDeskOptions;
  readonly #open = new Map<string, (answer: AskAnswer) => void>();
  readonly #given = new Map<string, AskAnswer>();
  #last = 0;

  /**
   * Opens a desk.
   *
   * @param options Who judges, who is shown the questions.
   */
  constructor(options: AskDeskOptions) {
    this.#options = options;
  }

  /**
   * Judges a call, and asks when the verdict says so.
   *
   * @param call The call.
   * @param gone Fires when nobody waits for the answer any more.
   * @returns The answer.
   */
  async judge(call: ToolCall, gone: AbortSignal): Promise<BridgeAnswer> {
    const verdict = await this.#options.judge(call);
    const { decision, updatedInput } = verdict;
    const changed = updatedInput === undefined ? {} : { updatedInput };
    if (decision === "deny") {
      return { decision, reason: verdict.reason ?? "denied" };
    }
    const asks = decision === "ask" ||
      (decision === "undecided" && this.#options.askUndecided === true);
    if (!asks) return { decision: "allow", ...changed };
    const answer = await this.#ask(call, verdict.reason, gone);
    if (call.toolUseId !== undefined) this.#keep(call.toolUseId, answer);
    if (answer.decision === "deny") {
      return { decision: "deny", reason: answer.reason ?? "denied" };
    }
    return answer.updatedInput === undefined
      ? { decision: "allow", ...changed }
      : { decision: "allow", updatedInput: answer.updatedInput };
  }

  /**
   * The answer that was already given about a call: the agent may ask about it more than once.
   *
   * @param toolUseId The call.
   * @returns The answer, if there was one.
   */
  given(toolUseId: string): AskAnswer | undefined {
    return this.#given.get(toolUseId);
  }

  /**
   * Answers an open question.
   *
   * @param askId The question.
   * @param answer The answer.
   * @returns False when it is not open here.
   */
  answer(askId: string, answer: AskAnswer): boolean {
    const settle = this.#open.get(askId);
    settle?.(answer);
    return settle !== undefined;
  }

  #keep(toolUseId: string, answer: AskAnswer): void {
    this.#given.set(toolUseId, answer);
    if (this.#given.size <= KEPT) return;
    const [oldest] = this.#given.keys();
    if (oldest !== undefined) this.#given.delete(oldest);
  }

  #ask(
    call: ToolCall,
    reason: string | undefined,
    gone: AbortSignal,
  ): Promise<AskAnswer> {
    const askId = `gate-${++this.#last}`;
    const { promise, resolve } = Promise.withResolvers<AskAnswer>();
    const settle = (answer: AskAnswer): void => {
      this.#open.delete(askId);
      resolve(answer);
    };
    this.#open.set(askId, settle);
    gone.addEventListener("abort", () => {
      if (!this.#open.has(askId)) return;
      settle({ decision: "deny", reason: "the question was withdrawn" });
      this.#options.show({
        kind: "other",
        type_name: "control_cancel_request",
        request_id: askId,
      });
    }, { once: true });
    this.#options.show({
      kind: "control_request",
      request_id: askId,
      subtype: "can_use_tool",
      tool_name: call.toolName,
      input: call.input,
      decision_reason_type: "hook",
      ...(reason === undefined ? {} : { decision_reason: reason }),
      ...(call.toolUseId === undefined ? {} : { tool_use_id: call.toolUseId }),
      ...(call.agentId === undefined ? {} : { agent_id: call.agentId }),
    });
    return promise;
  }
}
