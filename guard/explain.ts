/**
 * The arbiter with its shell reader, for callers that can afford to load the parser: hosted
 * sessions, `guard explain` and `guard decide`.
 *
 * @module
 */
import {
  decide,
  type DecideOptions,
  type Decision,
  type ToolCall,
} from "./decide.ts";
import type { Effect } from "./effect.ts";
import type { GuardMarker } from "./marker.ts";
import { addTables } from "./shell/commands.ts";
import { SELDOM } from "./shell/commands_seldom.ts";
import { readShell } from "./shell/effects.ts";
import { fieldsOf } from "./targets.ts";

addTables(SELDOM);

/**
 * Judges one tool call, shell calls included.
 *
 * @param call The call.
 * @param marker The armed marker; a call without a live one is allowed.
 * @param options The clock, and what is known of the surroundings.
 * @returns Allow, or deny with a reason.
 *
 * @example A redirection out of the root
 * ```ts
 * import { decideCall } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const decision = decideCall(
 *   { toolName: "Bash", toolInput: { command: "echo x > /etc/motd" }, cwd: "/work" },
 *   { active: true, allowedRoots: ["/work"] },
 *   { now: 0 },
 * );
 * assertEquals(
 *   decision.allow || decision.reason,
 *   "eval guard: blocked Bash (output redirection to a file) — runs outside the eval sandbox",
 * );
 * ```
 */
export function decideCall(
  call: ToolCall,
  marker: GuardMarker | undefined,
  options: DecideOptions,
): Decision {
  return decide(call, marker, { shell: readShell, ...options });
}

/** The answer of {@linkcode decideLine}. */
export interface DecidedLine {
  /** The line's own id. */
  id: string;
  /** Whether the call may run. */
  allow: boolean;
  /** Why not; empty when it may. */
  reason: string;
  /** What it would do. */
  effects: Effect[];
}

/**
 * Judges one line of `guard decide --jsonl`:
 * `{"id", "harness", "tool_name", "tool_input", "cwd", "roots"}`.
 *
 * @param value The parsed line: untrusted JSON.
 * @param options The clock, and what is known of the surroundings; hints are on by default.
 * @returns The verdict under the line's id.
 * @throws {TypeError} When a field is missing or has the wrong shape; the message names it.
 *
 * @example
 * ```ts
 * import { decideLine } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const line = {
 *   id: "1",
 *   harness: "codex",
 *   tool_name: "Bash",
 *   tool_input: { command: "ls" },
 *   cwd: "/work",
 *   roots: ["/work"],
 * };
 * assertEquals(decideLine(line, { now: 0 }).allow, true);
 * ```
 */
export function decideLine(
  value: unknown,
  options: DecideOptions,
): DecidedLine {
  const fields = fieldsOf(value);
  const text = (name: string): string => {
    const field = fields.get(name);
    if (typeof field === "string") return field;
    throw new TypeError(
      `Cannot judge the line: "${name}" is ${
        describe(field)
      }, expected a string`,
    );
  };
  const roots = fields.get("roots");
  if (
    !Array.isArray(roots) || !roots.every((root) => typeof root === "string")
  ) {
    throw new TypeError(
      `Cannot judge the line: "roots" is ${
        describe(roots)
      }, expected a list of strings`,
    );
  }
  const id = fields.get("id");
  const decision = decideCall(
    {
      toolName: text("tool_name"),
      toolInput: fields.get("tool_input"),
      cwd: text("cwd"),
    },
    { active: true, allowedRoots: roots },
    { hints: true, ...options },
  );
  return {
    id: typeof id === "number" ? String(id) : text("id"),
    allow: decision.allow,
    reason: decision.allow ? "" : decision.reason,
    effects: decision.effects,
  };
}

function describe(value: unknown): string {
  return value === undefined
    ? "missing"
    : Array.isArray(value)
    ? "a list"
    : `a ${typeof value}`;
}
