import { didYouMean } from "./_did_you_mean.ts";
import type { Fields, KeyPath } from "./_fields.ts";
import { PROGRAM_KEYS, type ProgramSpec, programSpec } from "./_program.ts";
import { quote } from "./_text.ts";

/** The moments of a session at which hooks fire. */
export type HookEvent =
  | "session_start"
  | "session_end"
  | "user_prompt"
  | "pre_tool"
  | "post_tool"
  | "post_tool_failure"
  | "pre_compact"
  | "stop";

/** One `[[hooks]]` entry. */
export interface HookSpec extends ProgramSpec {
  /** The event as declared. */
  event: string;
  /** The event it means; undefined for an event that this version does not know, which never fires. */
  fires?: HookEvent;
  /** The tools it is for: exact names joined by `|`, or `*`. */
  matcher: string;
  /** What a hook that fails does: nothing, or block. */
  onError: "ignore" | "block";
  /** The line of the entry in the manifest. */
  line: number;
}

/** Our event names and the names that Claude Code gives the same moments. */
const EVENTS: ReadonlyMap<string, HookEvent> = new Map<string, HookEvent>([
  ["session_start", "session_start"],
  ["SessionStart", "session_start"],
  ["session_end", "session_end"],
  ["SessionEnd", "session_end"],
  ["user_prompt", "user_prompt"],
  ["UserPromptSubmit", "user_prompt"],
  ["pre_tool", "pre_tool"],
  ["PreToolUse", "pre_tool"],
  ["post_tool", "post_tool"],
  ["PostToolUse", "post_tool"],
  ["post_tool_failure", "post_tool_failure"],
  ["PostToolUseFailure", "post_tool_failure"],
  ["pre_compact", "pre_compact"],
  ["PreCompact", "pre_compact"],
  ["stop", "stop"],
  ["Stop", "stop"],
]);

/** Our names of the events, in the order of a session. */
export const HOOK_EVENTS: readonly HookEvent[] = [...new Set(EVENTS.values())];

/** The event that a name means, in our spelling or Claude Code's. */
export function hookEvent(name: string): HookEvent | undefined {
  return EVENTS.get(name);
}

/** Reads one `[[hooks]]` entry; undefined when it must be left out, which is noted. */
export function hookSpec(
  fields: Fields,
  table: Record<string, unknown>,
  at: KeyPath,
): Omit<HookSpec, "line"> | undefined {
  fields.unknownKeys(table, [
    ...PROGRAM_KEYS,
    "event",
    "matcher",
    "on_error",
  ], at);
  const event = fields.string(table, "event", at);
  const matcher = fields.string(table, "matcher", at) ?? "*";
  const onError = fields.string(table, "on_error", at) ?? "ignore";
  const spec = programSpec(fields, table, at);
  if (event === undefined || event.trim() === "") {
    if (spec !== undefined) {
      fields.note(
        [...at, "event"],
        `"event" is missing or blank, entry left out`,
      );
    }
    return undefined;
  }
  if (spec === undefined) return undefined;
  const fires = hookEvent(event);
  if (fires === undefined) {
    fields.note(
      [...at, "event"],
      `${quote(event)} is not an event of this version, kept but never fired${
        didYouMean(event, HOOK_EVENTS)
      }`,
    );
  }
  return {
    event,
    ...(fires === undefined ? {} : { fires }),
    matcher: readMatcher(fields, matcher, at, fires),
    onError: readOnError(fields, onError, at),
    ...spec,
  };
}

function readMatcher(
  fields: Fields,
  matcher: string,
  at: KeyPath,
  event: HookEvent | undefined,
): string {
  const key = [...at, "matcher"];
  if (matcher.trim() === "") return "*";
  if (matcher !== "*" && event !== undefined && !hasTool(event)) {
    fields.note(key, `has no effect on ${quote(event)}, which has no tool`);
    return "*";
  }
  if (matcher !== "*" && /[\\^$()[\]{}+?*]/.test(matcher)) {
    fields.note(
      key,
      `${
        quote(matcher)
      } looks like a pattern; a matcher is exact names joined by "|", or "*"`,
    );
  }
  return matcher;
}

/** A failing guard must not be let through because of a typing error: anything but "ignore" blocks. */
function readOnError(
  fields: Fields,
  value: string,
  at: KeyPath,
): "ignore" | "block" {
  if (value === "ignore" || value === "block") return value;
  fields.note(
    [...at, "on_error"],
    `${quote(value)} is neither "ignore" nor "block", "block" used`,
  );
  return "block";
}

/** True for the events that are about one tool call. */
export function hasTool(event: HookEvent): boolean {
  return event === "pre_tool" || event === "post_tool" ||
    event === "post_tool_failure";
}

/** True when a hook with this matcher is for the tool. */
export function matches(matcher: string, tool: string): boolean {
  return matcher === "*" ||
    matcher.split("|").some((name) => name.trim() === tool);
}
