/**
 * The step `call`.
 *
 * @module
 */

import { resultText, type Tool, type ToolResult } from "@bulkhead/plugins";
import { type JsonObject, string } from "./_plugin_case.ts";
import { type Finding, type Play, stepKeys } from "./_plugin_step.ts";

/** The spellings of a call's keys. */
export const CALL_KEYS = {
  tool: ["name"],
  input: ["args", "arguments"],
  timeoutMs: ["timeout", "timeout_ms"],
  abortAfterMs: ["abortMs", "abortAfter", "cancelAfterMs", "cancelMs"],
  cwd: [],
};

/** Calls a tool of a case. */
export async function callStep(
  play: Play,
  step: JsonObject,
): Promise<Finding> {
  const { tool: named, timeoutMs, abortAfterMs, cwd, ...keys } = stepKeys(
    step,
    CALL_KEYS,
  );
  const name = string(named, "tool");
  const input = keys.input ?? {};
  const tool = toolOf(play, name);
  if (tool === undefined) {
    const text = `there is no tool "${name}"`;
    return { isError: true, text, input, result: { text } };
  }
  const controller = new AbortController();
  const timer = typeof abortAfterMs === "number"
    ? setTimeout(() => controller.abort(), abortAfterMs)
    : undefined;
  let result: ToolResult;
  try {
    result = await tool.execute(input, {
      signal: controller.signal,
      ...(typeof timeoutMs === "number" ? { timeoutMs } : {}),
      ...(typeof cwd === "string" ? { cwd } : {}),
    });
  } finally {
    clearTimeout(timer);
  }
  return {
    isError: result.isError ?? false,
    text: resultText(result),
    result,
    input,
    ...(result.details === undefined ? {} : { details: result.details }),
  };
}

/** By its name on the wire, or by the name it would have if that were plain and nobody else's. */
function toolOf(play: Play, name: string): Tool | undefined {
  const tools = play.loaded?.tools ?? [];
  const exact = tools.find((tool) => tool.name === name);
  if (exact !== undefined) return exact;
  const [plain, other] = tools.filter(({ source }) =>
    `plugin__${source.plugin}__${source.tool}` === name
  );
  return other === undefined ? plain : undefined;
}
