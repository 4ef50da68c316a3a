/**
 * What all drivers share.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type { Frame, JsonObject } from "../frame.ts";
import type { AgentEnd, AgentStatus, ToolCall } from "./driver.ts";
import { AgentStartError } from "./start_error.ts";

/** The end of an agent that never ran. */
export const NEVER: AgentEnd = {
  code: null,
  signal: null,
  stderrTail: "",
  by: "itself",
};

/** How an agent is ended whose start has failed: there is no turn that it could finish. */
export const NOTHING_TO_SAVE = { eofMs: 0, termMs: 2000 };

/** The status of an agent that does not run yet. */
export const NOT_STARTED: AgentStatus = {
  pid: null,
  alive: false,
  exitCode: null,
  signal: null,
};

/**
 * What is thrown at whoever sends a turn to an agent that is gone.
 *
 * @returns The error.
 */
export function notRunning(): Deno.errors.BrokenPipe {
  return new Deno.errors.BrokenPipe(
    "Cannot write to the agent: it does not run",
  );
}

/**
 * Why an agent did not come up.
 *
 * @param name The agent.
 * @param error What went wrong.
 * @param end How its process ended.
 * @returns The error.
 */
export function startError(
  name: string,
  error: unknown,
  end: AgentEnd,
): AgentStartError {
  return new AgentStartError(name, reasonOf(error), end);
}

/**
 * The call that a hook tells about.
 *
 * @param payload What the hook got.
 * @param cwd The directory of the session, for hooks that name none.
 * @returns The call.
 */
export function callOf(payload: JsonObject, cwd: string): ToolCall {
  return {
    toolName: typeof payload.tool_name === "string" ? payload.tool_name : "",
    input: payload.tool_input ?? null,
    cwd: typeof payload.cwd === "string" ? payload.cwd : cwd,
    ...(typeof payload.tool_use_id === "string"
      ? { toolUseId: payload.tool_use_id }
      : {}),
    ...(typeof payload.agent_id === "string"
      ? { agentId: payload.agent_id }
      : {}),
  };
}

/**
 * The frame that says that a question is no longer open.
 *
 * @param askId The question.
 * @returns The frame.
 */
export function withdrawn(askId: string): Frame {
  return {
    kind: "other",
    ["type_name"]: "control_cancel_request",
    ["request_id"]: askId,
  };
}
