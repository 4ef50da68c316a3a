/**
 * Hooks: programs of plugins that hear of the moments of a session and may object.
 *
 * | the hook | means |
 * |---|---|
 * | exits 0, says nothing | no opinion |
 * | exits 0, prints `{"decision": "allow" \| "deny" \| "ask", …}` | that |
 * | exits 2 | deny, the reason is its stderr |
 * | exits otherwise, cannot be started, times out, prints broken JSON | failed: reported; with `on_error = "block"` also deny |
 *
 * All hooks of an event run, up to 32 at the same time; the strictest answer wins.
 *
 * @module
 */

import { namePermission } from "@bulkhead/sandbox";
import { type HookAnswer, readAnswer } from "./_hook_answer.ts";
import { hasTool, type HookEvent, hookEvent, matches } from "./_hook_spec.ts";
import type { ProgramResult, ProgramRun } from "./_plugin_run.ts";
import { messageOf, printable, quote } from "./_text.ts";

export type { ProgramResult, ProgramRun } from "./_plugin_run.ts";

/** What a hook decides about. */
export type HookDecision = "allow" | "ask" | "deny";

/** A hook of a loaded plugin. */
export interface LoadedHook {
  /** The declared name of the plugin. */
  readonly plugin: string;
  /** The event as declared. */
  readonly event: string;
  /** The event it means; undefined for one that never fires. */
  readonly fires?: HookEvent;
  /** The tools it is for. */
  readonly matcher: string;
  /** What a failure does. */
  readonly onError: "ignore" | "block";
  /** The deadline in milliseconds. */
  readonly timeoutMs: number;
  /** The command line as declared, printable. */
  readonly command: string;
  /** Runs the hook once. */
  readonly program: HookProgram;
}

/** The program behind a hook. */
export interface HookProgram {
  /**
   * Runs once with the payload as its input.
   *
   * @param options The payload, the place and the limits.
   * @returns How the process ended and what it said.
   */
  run(options: ProgramRun): Promise<ProgramResult>;
}

/** What happened, as hooks read it on stdin. */
export interface HookPayload {
  /** The id of the session. */
  "session_id": string;
  /** The working directory of the session. */
  cwd: string;
  /** The workspace of the session. */
  workspace: string;
  /** The tool call, for events about one. */
  tool?: { name: string; input?: unknown; "use_id"?: string };
  /** The answer of the tool, for events after one. */
  result?: { content?: unknown; isError?: boolean };
  /** What the user typed, for `user_prompt`. */
  prompt?: string;
  /** Further keys, passed on as they are. */
  [key: string]: unknown;
}

/** Options of {@linkcode fireHooks}. */
export interface FireOptions {
  /** What happened. */
  payload: HookPayload;
  /** Ends all hooks. */
  signal?: AbortSignal;
}

/** How one hook went. */
export interface HookReport {
  /** The declared name of the plugin. */
  plugin: string;
  /** The event as declared. */
  event: string;
  /** The command line as declared, printable. */
  command: string;
  /** What it decided; undefined for no opinion and for a failure that is ignored. */
  decision?: HookDecision;
  /** Why, in the hook's own words: escape it before a terminal shows it. */
  reason?: string;
  /** What went wrong, one printable line; undefined when nothing did. */
  failure?: string;
  /** Wall time in milliseconds. */
  durationMs: number;
}

/** What all hooks of an event together say. */
export interface HookOutcome {
  /** The strictest decision; undefined when no hook has an opinion. */
  decision?: HookDecision;
  /** The reasons of the hooks that decided so, in the order of plugins and manifests. */
  reason?: string;
  /** The input to use instead, from the first hook that gave one; never with a denial. */
  updatedInput?: Record<string, unknown>;
  /** The declared name of the plugin whose hook gave it. */
  updatedBy?: string;
  /** What to add to the model's context, in the order of plugins and manifests. */
  additionalContext: string[];
  /** How every hook went, in the same order. */
  reports: HookReport[];
}

/**
 * Fires an event: runs every hook that is for it, all at the same time.
 *
 * @param hooks The hooks of all loaded plugins.
 * @param event The event, in our spelling or Claude Code's.
 * @param options What happened.
 * @returns What the hooks say; an event that nobody has a hook for says nothing.
 *
 * @example No hooks, no opinion
 * ```ts
 * import { fireHooks } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const outcome = await fireHooks([], "pre_tool", {
 *   payload: {
 *     session_id: "s1",
 *     cwd: "/work",
 *     workspace: "/work",
 *     tool: { name: "Write", input: { file_path: "/work/a" } },
 *   },
 * });
 * assertEquals(outcome, { additionalContext: [], reports: [] });
 * ```
 */
export async function fireHooks(
  hooks: readonly LoadedHook[],
  event: string,
  options: FireOptions,
): Promise<HookOutcome> {
  const fired = hookEvent(event);
  const { payload } = options;
  const chosen = fired === undefined
    ? []
    : hooks.filter((hook) =>
      hook.fires === fired &&
      (!hasTool(fired) || matches(hook.matcher, payload.tool?.name ?? ""))
    );
  const timestamp = new Date().toISOString();
  const ran: Ran[] = new Array(chosen.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < chosen.length; index = next++) {
      const hook = chosen[index];
      if (hook === undefined) return;
      const started = performance.now();
      const answer = await runHook(hook, {
        ...payload,
        ...foreignKeys(hook, payload),
        event: fired,
        plugin: hook.plugin,
        timestamp,
      }, options.signal);
      ran[index] = { hook, answer, durationMs: performance.now() - started };
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return combine(ran);
}

/** A hook that is declared under Claude Code's name of an event also gets the keys that it knows. */
function foreignKeys(
  hook: LoadedHook,
  payload: HookPayload,
): Record<string, unknown> {
  if (hook.event === hook.fires) return {};
  const { tool, result } = payload;
  return {
    "hook_event_name": hook.event,
    ...(tool === undefined
      ? {}
      : { "tool_name": tool.name, "tool_input": tool.input ?? {} }),
    ...(result === undefined ? {} : { "tool_response": result }),
  };
}

async function runHook(
  hook: LoadedHook,
  payload: HookPayload,
  signal: AbortSignal | undefined,
): Promise<HookAnswer> {
  try {
    const result = await hook.program.run({
      stdin: JSON.stringify(payload),
      cwd: payload.cwd,
      timeoutMs: hook.timeoutMs,
      signal,
    });
    return readAnswer(result, hook.timeoutMs);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      throw namePermission(`Firing ${hook.event} hooks`, error);
    }
    return { failure: messageOf(error) };
  }
}

interface Ran {
  hook: LoadedHook;
  answer: HookAnswer;
  durationMs: number;
}

/** Hooks that run at the same time; a manifest can hold thousands. */
const PARALLEL = 32;

const STRICTNESS: readonly HookDecision[] = ["allow", "ask", "deny"];

function combine(ran: readonly Ran[]): HookOutcome {
  const outcome: HookOutcome = { additionalContext: [], reports: [] };
  for (const { hook, answer, durationMs } of ran) {
    const report: HookReport = {
      plugin: hook.plugin,
      event: hook.event,
      command: hook.command,
      durationMs,
    };
    if (answer.failure !== undefined) {
      report.failure = answer.failure;
      if (hook.onError === "block") {
        report.decision = "deny";
        report.reason = `hook ${quote(hook.command)} of plugin ${
          quote(hook.plugin)
        } failed: ${answer.failure}`;
      }
    } else {
      if (answer.decision !== undefined) report.decision = answer.decision;
      if (answer.decision !== undefined || answer.reason !== undefined) {
        report.reason = answer.reason ?? defaultReason(hook, answer.decision);
      }
      if (answer.additionalContext !== undefined) {
        outcome.additionalContext.push(answer.additionalContext);
      }
    }
    outcome.reports.push(report);
  }
  for (const decision of STRICTNESS) {
    if (outcome.reports.some((report) => report.decision === decision)) {
      outcome.decision = decision;
    }
  }
  if (outcome.decision !== undefined) {
    outcome.reason = outcome.reports
      .filter((report) => report.decision === outcome.decision)
      .map((report) => report.reason)
      .join("\n");
  }
  if (outcome.decision !== "deny") chooseInput(ran, outcome);
  return outcome;
}

/** The first rewrite counts; a second one is reported, never mixed in. */
function chooseInput(ran: readonly Ran[], outcome: HookOutcome): void {
  ran.forEach(({ hook, answer }, index) => {
    if (answer.updatedInput === undefined) return;
    if (outcome.updatedInput === undefined) {
      outcome.updatedInput = answer.updatedInput;
      outcome.updatedBy = hook.plugin;
      return;
    }
    const report = outcome.reports[index];
    if (report !== undefined) {
      report.failure =
        "its updatedInput was not used: an earlier hook gave one";
    }
  });
}

function defaultReason(
  hook: LoadedHook,
  decision: HookDecision | undefined,
): string {
  const verb = decision === "deny"
    ? "denied"
    : decision === "ask"
    ? "asks"
    : "allowed";
  return `${verb} by hook ${printable(hook.command)} of plugin ${
    quote(hook.plugin)
  }`;
}
