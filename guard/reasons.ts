/**
 * The words a denied agent reads. The first sentence of each is a contract; the part that
 * names the rule, the resolved target and an inside alternative is appended separately.
 *
 * @module
 */
import type { Effect } from "./effect.ts";
import { showValue } from "./holes.ts";

/** What every reason starts with. */
const REASON_PREFIX = "eval guard: ";

/**
 * The sentence of a denial.
 *
 * @param tool The tool name as the harness spells it.
 * @param effect The effect that is denied.
 * @param roots The allowed roots.
 * @returns One line.
 */
export function denyReason(
  tool: string,
  effect: Effect,
  roots: readonly string[],
): string {
  const allowed = roots.join(", ");
  if (effect.verdict === "protected") {
    return `${REASON_PREFIX}blocked ${tool} (change to the guard's own files) — ${
      showValue(effect.path)
    } keeps the guard armed`;
  }
  switch (effect.rule) {
    case "file-tool":
    case "mcp-tool":
      return `${REASON_PREFIX}${tool} to ${effect.path} is outside the eval sandbox (allowed: ${allowed})`;
    case "patch":
      return `${REASON_PREFIX}${tool} target ${effect.path} is outside the eval sandbox (allowed: ${allowed})`;
    case "patch-unreadable":
      return `${REASON_PREFIX}blocked ${tool} because no patch target path could be determined`;
    default:
      return `${REASON_PREFIX}blocked ${tool} (${effect.label}) — runs outside the eval sandbox`;
  }
}

/**
 * The part that helps the agent go on: what was found, by which rule, and what to do instead.
 *
 * @param effect The effect that is denied.
 * @param roots The allowed roots.
 * @returns The text to append, starting with a full stop.
 */
export function denyHint(effect: Effect, roots: readonly string[]): string {
  const root = roots[0];
  const rule = `rule ${
    effect.verdict === "protected" ? "self-protection" : effect.rule
  }`;
  if (effect.verdict === "protected") {
    return `. The ${rule} matched ${
      effect.target ?? showValue(effect.path)
    }. Leave it alone; the rest of ${root ?? "the sandbox"} is yours.`;
  }
  if (effect.rule === "package") {
    return `. The ${rule} matched "${effect.verb}". Use what is already installed, or ask for the package.`;
  }
  if (effect.rule === "unreadable") {
    return `. The ${rule} applies when a command cannot be read in full and holds a sign of a write. Split it into smaller, complete commands.`;
  }
  if (effect.rule === "patch-unreadable") {
    return `. The ${rule} applies when no file is named. Name each one in a header line such as "*** Update File: path".`;
  }
  if (effect.verdict === "refused") {
    return `. The ${rule} matched "${effect.verb}", which changes something outside ${
      root ?? "the sandbox"
    } wherever it runs. Do without it, or ask.`;
  }
  const found = effect.target !== undefined
    ? `"${effect.verb}" would write ${showValue(effect.target)}`
    : `"${effect.verb}" would write ${
      showValue(effect.path) || "a place"
    }, which cannot be known before it runs`;
  const instead = root === undefined
    ? ""
    : ` Write below ${root} instead, scratch files to ${root}/tmp${
      effect.target === undefined ? ", and spell the path out" : ""
    }.`;
  return `. By the ${rule}, ${found}.${instead}`;
}
