/**
 * Judging tool calls: an ordered list of deciders, one verdict per call, and the forms it takes on the wire.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type {
  AskAnswer,
  Decider,
  Decision,
  ToolCall,
  Verdict,
} from "./agents/driver.ts";

/** How many verdicts are kept for the ask that may follow. */
const KEPT = 512;

const RANK: Readonly<Record<Decision, number>> = {
  allow: 0,
  undecided: 1,
  ask: 2,
  deny: 3,
};

interface Known {
  readonly verdict: Verdict | Promise<Verdict>;
  readonly input: unknown;
}

/** Takes each verdict as it falls, for logs. */
export type VerdictListener = (call: ToolCall, verdict: Verdict) => void;

/**
 * Judges calls by an ordered list and remembers each verdict by the id of its call, so that a question of the agent
 * about a call that was judged already gets the same verdict.
 *
 * @example The strictest wins
 * ```ts
 * import { Judge } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const judge = new Judge([
 *   { name: "a", decide: () => ({ decision: "allow" }) },
 *   { name: "b", decide: (call) => call.toolName === "Bash" ? { decision: "deny", reason: "no shell" } : null },
 * ]);
 * assertEquals(await judge.judge({ toolName: "Read", input: {}, cwd: "/" }), { decision: "allow", by: "a" });
 * assertEquals((await judge.judge({ toolName: "Bash", input: {}, cwd: "/" })).reason, "no shell");
 * ```
 */
export class Judge {
  readonly #deciders: readonly Decider[];
  readonly #listener: VerdictListener | undefined;
  readonly #known = new Map<string, Known>();

  /**
   * Makes a judge.
   *
   * @param deciders The judges in order.
   * @param listener Takes each verdict once.
   */
  constructor(deciders: readonly Decider[], listener?: VerdictListener) {
    this.#deciders = deciders;
    this.#listener = listener;
  }

  /**
   * Judges a call before it runs. Plain when every decider answers plainly.
   *
   * @param call The call.
   * @returns The verdict; never rejects.
   */
  judge(call: ToolCall): Verdict | Promise<Verdict> {
    const verdict = this.#whole(call);
    if (call.toolUseId !== undefined) {
      this.#keep(call.toolUseId, { verdict, input: call.input });
    }
    return settle(verdict, (known) => {
      this.#listener?.(call, known);
      return known;
    });
  }

  /**
   * The verdict for a question of the agent: the one that fell when the call was first seen, or a new one.
   *
   * @param call The call as the agent asks about it.
   * @returns The verdict; never rejects.
   */
  recall(call: ToolCall): Verdict | Promise<Verdict> {
    const id = call.toolUseId;
    const known = id === undefined ? undefined : this.#known.get(id);
    if (known === undefined || id === undefined) return this.judge(call);
    this.#known.delete(id);
    // The arguments may have been changed by a hook in between, and the agent may
    // have found that it works outside the directory: both are judged once more.
    if (call.reasonType !== "workingDir" && sameJson(known.input, call.input)) {
      return known.verdict;
    }
    return settle(
      known.verdict,
      (first) =>
        first.decision === "deny"
          ? first
          : this.judge({ ...call, toolUseId: undefined }),
    );
  }

  #keep(id: string, known: Known): void {
    this.#known.delete(id);
    this.#known.set(id, known);
    if (this.#known.size <= KEPT) return;
    const oldest = this.#known.keys().next().value;
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** Judges, and judges changed arguments once more before they count. */
  #whole(call: ToolCall): Verdict | Promise<Verdict> {
    return settle(this.#list(call, 0, undefined), (first) => {
      if (first.updatedInput === undefined || first.decision === "deny") {
        return first;
      }
      const changed = { ...call, input: first.updatedInput };
      return settle(this.#list(changed, 0, undefined), (second) => {
        if (second.decision === "deny") {
          return {
            ...second,
            reason: `${second.reason ?? "denied"} (the call as ${
              first.updatedBy ?? "a decider"
            } changed it)`,
          };
        }
        const stricter = RANK[second.decision] > RANK[first.decision]
          ? second
          : first;
        return {
          ...stricter,
          updatedInput: first.updatedInput,
          ...first.updatedBy === undefined
            ? {}
            : { updatedBy: first.updatedBy },
        };
      });
    });
  }

  #list(
    call: ToolCall,
    at: number,
    sofar: Verdict | undefined,
  ): Verdict | Promise<Verdict> {
    for (let index = at; index < this.#deciders.length; index++) {
      const decider = this.#deciders[index];
      if (decider === undefined) continue;
      const verdict = ask(decider, call);
      if (verdict instanceof Promise) {
        return verdict.then((settled) => {
          const next = merge(sofar, settled, decider.name);
          return next?.decision === "deny"
            ? next
            : this.#list(call, index + 1, next);
        });
      }
      sofar = merge(sofar, verdict, decider.name);
      if (sofar?.decision === "deny") return sofar;
    }
    return sofar ??
      {
        decision: "undecided",
        reason: `nobody has decided about "${call.toolName}"`,
      };
  }
}

/**
 * The answer to an ask that follows from a verdict, or `undefined` when a person has to say.
 *
 * @param verdict The verdict.
 * @returns The answer.
 */
export function answerOf(verdict: Verdict): AskAnswer | undefined {
  switch (verdict.decision) {
    case "allow":
      return verdict.updatedInput === undefined
        ? { decision: "allow" }
        : { decision: "allow", updatedInput: verdict.updatedInput };
    case "deny":
      return { decision: "deny", reason: verdict.reason ?? "denied" };
    default:
      return undefined;
  }
}

/**
 * The inner answer to a PreToolUse callback: deny, ask, or nothing, which leaves the call to the agent's own rules. It
 * is never an error, because an error lets the call through.
 *
 * @param verdict The verdict.
 * @returns The object for `response.response`.
 */
export function hookAnswer(verdict: Verdict): Record<string, unknown> {
  const output: Record<string, unknown> = { hookEventName: "PreToolUse" };
  if (verdict.decision === "deny") {
    output.permissionDecision = "deny";
    output.permissionDecisionReason = verdict.reason ?? "denied";
  } else if (verdict.decision === "ask" || verdict.updatedInput !== undefined) {
    output.permissionDecision = "ask";
    if (verdict.reason !== undefined) {
      output.permissionDecisionReason = verdict.reason;
    }
  }
  if (verdict.additionalContext !== undefined) {
    output.additionalContext = verdict.additionalContext;
  }
  return Object.keys(output).length === 1 ? {} : { hookSpecificOutput: output };
}

/**
 * The line that answers an ask, in the exact form of the control protocol.
 *
 * @param requestId The ask.
 * @param answer The answer.
 * @param input The call's own arguments as JSON, which go back as they are unless the answer replaces them.
 * @returns One JSON line without its newline.
 */
export function askResponse(
  requestId: string,
  answer: AskAnswer,
  input: string,
): string {
  if (answer.decision === "allow") {
    const updated = answer.updatedInput === undefined
      ? input
      : JSON.stringify(answer.updatedInput);
    return successLine(
      requestId,
      `{"behavior":"allow","updatedInput":${updated}}`,
    );
  }
  const message = answer.reason ?? "denied";
  return controlSuccess(
    requestId,
    answer.interrupt === true
      ? { behavior: "deny", message, interrupt: true }
      : { behavior: "deny", message },
  );
}

/**
 * The line that answers a control request with success.
 *
 * @param requestId The request.
 * @param response The inner answer.
 * @returns One JSON line without its newline.
 */
export function controlSuccess(requestId: string, response: unknown): string {
  return successLine(requestId, JSON.stringify(response));
}

function successLine(requestId: string, response: string): string {
  return `{"type":"control_response","response":{"subtype":"success","request_id":${
    JSON.stringify(requestId)
  },"response":${response}}}`;
}

/**
 * The line that answers a control request with an error. Never for a `hook_callback`: there an error lets the call run.
 *
 * @param requestId The request.
 * @param error What is wrong.
 * @returns One JSON line without its newline.
 */
export function controlError(requestId: string, error: string): string {
  return JSON.stringify({
    type: "control_response",
    response: { subtype: "error", request_id: requestId, error },
  });
}

function ask(
  decider: Decider,
  call: ToolCall,
): Verdict | null | Promise<Verdict | null> {
  try {
    const verdict = decider.decide(call);
    return verdict instanceof Promise
      ? verdict.catch((error) => failed(decider, error))
      : verdict;
  } catch (error) {
    return failed(decider, error);
  }
}

function failed(decider: Decider, error: unknown): Verdict {
  const why = reasonOf(error);
  return {
    decision: "deny",
    reason: `Cannot judge the call: "${decider.name}" failed: ${why}`,
  };
}

/** The stricter of two verdicts; the first one of equals. Changes and context of the other one are kept. */
function merge(
  sofar: Verdict | undefined,
  next: Verdict | null,
  name: string,
): Verdict | undefined {
  if (next === null) return sofar;
  const named: Verdict = {
    ...next,
    by: next.by ?? name,
    ...next.updatedInput === undefined
      ? {}
      : { updatedBy: next.updatedBy ?? next.by ?? name },
  };
  if (sofar === undefined) return named;
  if (named.decision === "deny") return named;
  const [winner, other] = RANK[named.decision] > RANK[sofar.decision]
    ? [named, sofar]
    : [sofar, named];
  const changer = named.updatedInput === undefined ? sofar : named;
  const contexts = [sofar.additionalContext, named.additionalContext].filter((
    text,
  ) => text !== undefined);
  return {
    ...winner,
    ...((winner.reason ?? other.reason) === undefined
      ? {}
      : { reason: winner.reason ?? other.reason }),
    ...(changer.updatedInput === undefined ? {} : {
      updatedInput: changer.updatedInput,
      ...changer.updatedBy === undefined
        ? {}
        : { updatedBy: changer.updatedBy },
    }),
    ...(contexts.length === 0
      ? {}
      : { additionalContext: contexts.join("\n") }),
  };
}

function settle<T, R>(
  value: T | Promise<T>,
  then: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}

function sameJson(a: unknown, b: unknown): boolean {
  try {
    return a === b || JSON.stringify(a) === JSON.stringify(b);
  } catch {
    return false;
  }
}
