/**
 * The calls of a model message: announced, checked, run and answered, a subagent's own calls too.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { blocksOf } from "./blocks.ts";
import {
  askHooks,
  asksEarly,
  clear,
  type PendingCall,
  type Subagent,
} from "./call.ts";
import { playFault } from "./faults.ts";
import type { Json } from "./output.ts";
import { judge } from "./permissions.ts";
import type { ScriptStep, ToolStep } from "./script.ts";
import { countMessage, type Stage, type Turn } from "./stage.ts";
import { emitStarted, execute, newSubagent } from "./tasks.ts";
import type { ToolAnswer } from "./tools.ts";

/** A call of a message. */
export interface Call extends PendingCall {
  step: ToolStep;
  /** The subagent, when it was announced while the message was still streaming. */
  subagent?: Subagent;
}

const PARALLEL = ["Read", "Glob", "Grep", "Task", "Agent"];

/** What happens to a call before its message has ended. */
export function begin(stage: Stage, turn: Turn, call: Call): void {
  if (!asksEarly(call.tool)) return;
  const name = call.tool === "Task" ? "Agent" : call.tool;
  if (stage.hooks.some((group) => group.matches(name))) {
    call.hook = askHooks(stage, turn, call);
  } else if (name === "Agent" && call.input.run_in_background !== true) {
    const verdict = judge(
      stage.rules,
      stage.mode,
      stage.cwd,
      call.tool,
      call.input,
    );
    if (verdict.kind !== "allow") return;
    call.subagent = newSubagent(call.input, call.toolUseId);
    emitStarted(stage, call.subagent, call.input, call.toolUseId);
  }
}

/** Runs the calls of a message: readers and subagents side by side, the rest in order. */
export async function runCalls(
  stage: Stage,
  turn: Turn,
  calls: Call[],
): Promise<void> {
  for (let at = 0; at < calls.length;) {
    let end = at + 1;
    if (PARALLEL.includes(calls[at]?.tool ?? "")) {
      while (PARALLEL.includes(calls[end]?.tool ?? "")) end++;
    }
    const batch = calls.slice(at, end).map((call) =>
      settleCall(stage, turn, call)
    );
    for (const [i, answer] of batch.entries()) {
      const call = calls[at + i];
      if (call) emitResult(stage, turn, call, await answer);
    }
    at = end;
    if (turn.aborted) return;
  }
}

/** Checks a call, runs it and gives its answer. */
async function settleCall(
  stage: Stage,
  turn: Turn,
  call: Call,
): Promise<ToolAnswer> {
  stage.toolOpen = true;
  try {
    const clearance = await clear(stage, turn, call);
    if (clearance.kind === "refused") {
      if (clearance.aborts) turn.cut(clearance.aborts);
      return clearance.answer;
    }
    return await execute(stage, turn, call, call.step, clearance.input, {
      subagent: call.subagent,
      play: (agent, steps) => playSubagent(stage, turn, agent, steps),
    });
  } finally {
    stage.toolOpen = false;
  }
}

function emitResult(
  stage: Stage,
  turn: Turn,
  call: PendingCall,
  answer: ToolAnswer,
): void {
  const content: Json = answer.isError
    ? {
      type: "tool_result",
      content: answer.content,
      is_error: true,
      tool_use_id: call.toolUseId,
    }
    : {
      tool_use_id: call.toolUseId,
      type: "tool_result",
      content: answer.content,
      ...(answer.saysFalse ? { is_error: false } : {}),
    };
  stage.frames.user([content], call.agent?.parent, {
    ...(call.agent && !answer.isError
      ? {}
      : { tool_use_result: answer.detail }),
  });
  if (call.agent !== undefined) return;
  turn.userFrames++;
  turn.lastResult = typeof answer.content === "string"
    ? answer.content
    : answer.content.map((part) => String(part.text ?? "")).join("\n");
}

/** Plays a subagent's steps; its last text is its answer and is not a frame. */
async function playSubagent(
  stage: Stage,
  turn: Turn,
  agent: Subagent,
  steps: readonly ScriptStep[],
): Promise<{ text: string; toolUses: number }> {
  let toolUses = 0;
  let text = "";
  for (const [i, step] of steps.entries()) {
    if (turn.aborted) break;
    if ("waitMs" in step) await pause(step.waitMs, turn.abort.signal);
    if ("fault" in step) await playFault(stage, turn, step.fault);
    if (!("say" in step || "tool" in step || "message" in step)) continue;
    const blocks = blocksOf(stage, turn, step);
    const ids = stage.frames.newMessageIds(true);
    countMessage(stage);
    for (const [index, block] of blocks.entries()) {
      if ("say" in block) {
        text = block.say;
        if (i === steps.length - 1) continue;
        stage.frames.assistant(
          ids.message,
          { type: "text", text },
          agent.parent,
        );
      } else if ("tool" in block) {
        toolUses++;
        await subagentCall(
          stage,
          turn,
          agent,
          block,
          ids,
          index,
          blocks.length,
          toolUses,
        );
      }
    }
  }
  return { text, toolUses };
}

async function subagentCall(
  stage: Stage,
  turn: Turn,
  agent: Subagent,
  step: ToolStep,
  ids: { message: string; tool: (block: number, blocks: number) => string },
  index: number,
  count: number,
  toolUses: number,
): Promise<void> {
  const input = step.input ?? {};
  const id = ids.tool(index, count);
  const path = String(input.file_path ?? "");
  const subject = path === ""
    ? step.tool
    : path.slice(path.lastIndexOf("/") + 1);
  const verb =
    { Write: "Writing", Read: "Reading", Edit: "Editing" }[step.tool] ??
      "Using";
  stage.frames.system("task_progress", {
    task_id: agent.agentId,
    tool_use_id: agent.parent.parent_tool_use_id,
    description: `${verb} ${subject}`,
    subagent_type: agent.agentType,
    usage: {
      total_tokens: 11,
      tool_uses: toolUses,
      duration_ms: turn.elapsed(),
    },
    last_tool_name: step.tool,
  });
  stage.frames.assistant(
    ids.message,
    { type: "tool_use", id, name: step.tool, input },
    agent.parent,
  );
  const call: Call = { step, tool: step.tool, input, toolUseId: id, agent };
  emitResult(stage, turn, call, await settleCall(stage, turn, call));
}
