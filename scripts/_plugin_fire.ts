/**
 * The step `fire`: a hook event.
 *
 * @module
 */

import { fireHooks, type HookPayload } from "@bulkhead/plugins";
import {
  isObject,
  type Json,
  type JsonObject,
  type Stage,
  string,
} from "./_plugin_case.ts";
import { type Finding, type Play, stepKeys } from "./_plugin_step.ts";

/** Fires the hooks of a case. */
export async function fireStep(
  play: Play,
  step: JsonObject,
): Promise<Finding> {
  const keys = stepKeys(step, {
    event: ["name"],
    payload: ["data"],
    tool: ["toolName", "tool_name"],
    input: ["toolInput", "tool_input"],
    abortAfterMs: ["abortMs", "abortAfter", "cancelAfterMs", "cancelMs"],
  });
  const payload = keys.payload ?? {};
  if (!isObject(payload)) throw new TypeError("payload must be an object");
  const controller = new AbortController();
  const timer = typeof keys.abortAfterMs === "number"
    ? setTimeout(() => controller.abort(), keys.abortAfterMs)
    : undefined;
  const given = { ...(keys.input === undefined ? {} : { input: keys.input }) };
  try {
    const outcome = await fireHooks(
      play.loaded?.hooks ?? [],
      string(keys.event, "event"),
      {
        payload: hookPayload({ ...given, ...payload }, keys.tool, play.stage),
        signal: controller.signal,
      },
    );
    const failures = outcome.reports.flatMap((report) => report.failure ?? []);
    return {
      blocked: outcome.decision === "deny",
      decision: outcome.decision,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
      text: JSON.stringify(outcome),
      updatedInput: outcome.updatedInput,
      additionalContext: outcome.additionalContext,
      fired: outcome.reports.length,
      failures,
      lines: failures,
      warnings: failures,
    };
  } finally {
    clearTimeout(timer);
  }
}

/** Cases speak of hooks as `{tool: "read", …}`; ours get the tool as an object. */
function hookPayload(
  payload: JsonObject,
  named: Json | undefined,
  stage: Stage,
): HookPayload {
  const { tool, ...rest } = payload;
  const given = tool ?? named ?? rest.tool_name ?? rest.toolName;
  const full: HookPayload = {
    ...rest,
    "session_id": typeof rest.session_id === "string"
      ? rest.session_id
      : "case",
    cwd: typeof rest.cwd === "string" ? rest.cwd : stage.workspace,
    workspace: stage.workspace,
  };
  const name = isObject(given) ? given.name : given;
  if (typeof name === "string") {
    full.tool = {
      ...(isObject(given) ? given : {}),
      name,
      input: (isObject(given) ? given.input : undefined) ?? rest.input ??
        rest.tool_input ?? rest.toolInput ?? {},
    };
  }
  return full;
}
