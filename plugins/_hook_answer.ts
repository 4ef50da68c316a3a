import type { ProgramResult } from "./_plugin_run.ts";
import { clip, isRecord, jsonText, printable } from "./_text.ts";

/** What one hook says; a failure has nothing else. */
export interface HookAnswer {
  decision?: "allow" | "ask" | "deny";
  reason?: string;
  updatedInput?: Record<string, unknown>;
  additionalContext?: string;
  failure?: string;
}

/** Our words and the ones Claude Code's hooks use. */
const DECISIONS: ReadonlyMap<unknown, "allow" | "ask" | "deny"> = new Map([
  ["allow", "allow"],
  ["approve", "allow"],
  ["ask", "ask"],
  ["deny", "deny"],
  ["block", "deny"],
]);

/** Reads the answer of a hook from how its process ended and what it printed. */
export function readAnswer(
  result: ProgramResult,
  timeoutMs: number,
): HookAnswer {
  const said = result.stderr.trim();
  if (result.timedOut) return { failure: `timed out after ${timeoutMs} ms` };
  if (result.aborted) return { failure: "cancelled" };
  // The exit code alone decides: a hook may deny without a word.
  if (result.code === 2) {
    return { decision: "deny", ...(said === "" ? {} : { reason: said }) };
  }
  if (!result.success) {
    const how = result.signal === null
      ? `exited ${result.code}`
      : `ended by ${result.signal}`;
    return {
      failure: said === "" ? how : `${how}: ${printable(firstLine(said))}`,
    };
  }
  const text = result.stdout.trim();
  // Plain words are no answer; hooks often print what they do, and the answer after it.
  const isAnswer = text.startsWith("{");
  const json = isAnswer ? text : text.slice(text.lastIndexOf("\n") + 1);
  if (!json.startsWith("{")) return {};
  if (result.truncated.stdout) return { failure: "its answer is too long" };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return isAnswer ? { failure: "printed broken JSON" } : {};
  }
  return isRecord(value) ? answerOf(value) : {};
}

function answerOf(value: Record<string, unknown>): HookAnswer {
  const nested = isRecord(value.hookSpecificOutput)
    ? value.hookSpecificOutput
    : {};
  const word = value.decision ?? nested.permissionDecision ??
    (value.continue === false ? "deny" : undefined);
  const reason = value.reason ?? nested.permissionDecisionReason ??
    value.stopReason;
  const input = value.updatedInput ?? nested.updatedInput;
  const context = value.additionalContext ?? nested.additionalContext;
  const answer: HookAnswer = {};
  if (word !== undefined && word !== null) {
    const decision = DECISIONS.get(word);
    if (decision === undefined) {
      return {
        failure: `printed the decision ${
          jsonText(word)
        }, which is none of "allow", "deny", "ask"`,
      };
    }
    answer.decision = decision;
  }
  if (reason !== undefined && reason !== null) {
    if (typeof reason !== "string") {
      return wrongType(answer, "reason", "a string");
    }
    if (reason !== "") answer.reason = reason;
  }
  if (input !== undefined && input !== null) {
    if (!isRecord(input)) {
      return wrongType(answer, "updatedInput", "an object");
    }
    answer.updatedInput = input;
  }
  if (context !== undefined && context !== null) {
    if (typeof context !== "string") {
      return wrongType(answer, "additionalContext", "a string");
    }
    if (context !== "") answer.additionalContext = context;
  }
  return answer;
}

/** A malformed answer fails, but a denial in it stands. */
function wrongType(
  answer: HookAnswer,
  key: string,
  wanted: string,
): HookAnswer {
  return answer.decision === "deny"
    ? answer
    : { failure: `printed "${key}" that is not ${wanted}` };
}

function firstLine(text: string): string {
  return clip(text.split("\n", 1)[0] ?? "", 500);
}
