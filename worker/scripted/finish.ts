/**
 * The frames around a turn: `init` before it, interruption and `result` after.
 *
 * @module
 */
import { SHAPE_VERSION } from "./frames.ts";
import type { Json } from "./output.ts";
import type { Stage, Turn } from "./stage.ts";

const TOOLS = ["Task", "AskUserQuestion", "Bash", "Edit", "Read", "Write"];

/** `system/init`, which is sent at every turn. */
export function emitInit(stage: Stage): void {
  stage.frames.system("init", {
    cwd: stage.cwd,
    session_id: stage.frames.sessionId,
    tools: [...TOOLS, ...stage.mcp.toolNames],
    mcp_servers: stage.mcp.list.map(({ name, status }) => ({ name, status })),
    model: "scripted",
    permissionMode: stage.mode,
    slash_commands: [],
    apiKeySource: "none",
    claude_code_version: SHAPE_VERSION,
    output_style: "default",
    agents: ["general-purpose"],
    skills: [],
    plugins: [],
    analytics_disabled: true,
    product_feedback_disabled: true,
    fast_mode_state: "off",
  });
}

/** Sends what a cut turn owes, and the result. @returns whether it is an error. */
export function finishTurn(
  stage: Stage,
  turn: Turn,
  origin: Json | undefined,
): boolean {
  turn.replay();
  if (turn.aborted) return finishCut(stage, turn, origin);
  const ending = turn.ending ?? {};
  const isError = ending.isError === true;
  const errors = Array.isArray(ending.errors)
    ? ending.errors.map(String)
    : undefined;
  const failed = errors !== undefined ||
    String(ending.subtype ?? "").startsWith("error");
  stage.frames.result({
    subtype: String(ending.subtype ?? "success"),
    isError,
    ...(failed
      ? { errors }
      : { result: String(ending.result ?? turn.lastText) }),
    apiErrorStatus: typeof ending.apiErrorStatus === "number"
      ? ending.apiErrorStatus
      : null,
    durationMs: turn.elapsed(),
    ttftMs: turn.ttftMs,
    numTurns: 1 + turn.userFrames,
    stopReason: turn.stopReason,
    terminalReason: String(ending.terminalReason ?? "completed"),
    messages: turn.messages,
    denials: turn.denials,
    origin,
  }, stage.totals);
  return isError;
}

function finishCut(
  stage: Stage,
  turn: Turn,
  origin: Json | undefined,
): boolean {
  const tools = turn.aborted === "tools";
  const text = tools
    ? "[Request interrupted by user for tool use]"
    : "[Request interrupted by user]";
  stage.frames.user([{ type: "text", text }], undefined);
  turn.userFrames++;
  const stop = tools ? turn.stopReason : null;
  stage.frames.result({
    subtype: "error_during_execution",
    isError: true,
    errors: [
      `[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=${stop}`,
    ],
    durationMs: turn.elapsed(),
    ttftMs: turn.ttftMs,
    numTurns: 1 + turn.userFrames,
    stopReason: stop,
    terminalReason: tools ? "aborted_tools" : "aborted_streaming",
    messages: turn.messages,
    denials: turn.denials,
    origin,
  }, stage.totals);
  return true;
}
