/**
 * Plays a turn: model messages in the real child's order of frames, and the
 * tool calls in them.
 *
 * @module
 */
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
import type {
  AskStep,
  SayStep,
  ScriptStep,
  ThinkStep,
  ToolStep,
} from "./script.ts";
import type { Stage, Turn } from "./stage.ts";
import { fill, pieces } from "./text.ts";
import { emitPrompt, emitStarted, execute, newSubagent } from "./tasks.ts";
import type { ToolAnswer } from "./tools.ts";

type Block = SayStep | ThinkStep | ToolStep;

interface Call extends PendingCall {
  step: ToolStep;
  /** The subagent, when it was announced while the message was still streaming. */
  subagent?: Subagent;
}

const PARALLEL = ["Read", "Glob", "Grep", "Task", "Agent"];

/** Plays steps of the main thread, one after the other, until they end or the turn is cut. */
export async function playSteps(
  stage: Stage,
  turn: Turn,
  steps: readonly ScriptStep[],
): Promise<void> {
  for (const step of steps) {
    if (turn.aborted || turn.ending) return;
    if ("repeat" in step) {
      for (let i = 0; i < step.repeat && !turn.aborted && !turn.ending; i++) {
        await playSteps(stage, turn, step.steps);
      }
    } else if ("waitMs" in step) {
      request(stage, turn);
      await pause(step.waitMs, turn.abort.signal);
    } else if ("cron" in step) {
      const { afterMs, steps: later } = step.cron;
      const timer = setTimeout(
        () => stage.enqueue({ steps: later, merges: false }),
        afterMs,
      );
      stage.ended.then(() => clearTimeout(timer));
    } else if ("end" in step) {
      turn.ending = { ...step.end };
    } else if ("fault" in step) {
      request(stage, turn);
      await playFault(stage, turn, step.fault);
    } else {
      await playMessage(stage, turn, blocksOf(stage, turn, step));
    }
  }
}

/** Announces a model request; once until the next message starts. */
function request(stage: Stage, turn: Turn): void {
  if (turn.requested) return;
  turn.requested = true;
  stage.frames.system("status", { status: "requesting" });
}

/** One model message: its blocks, then its calls. */
async function playMessage(
  stage: Stage,
  turn: Turn,
  blocks: Block[],
): Promise<void> {
  const limit = stage.args.maxTurns ?? stage.script.maxTurns;
  if (limit !== undefined && turn.messages >= limit) {
    turn.ending = {
      subtype: "error_max_turns",
      isError: true,
      errors: [`Reached maximum number of turns (${limit})`],
      terminalReason: "max_turns",
    };
    return;
  }
  for (const merged of stage.takeMerged()) {
    if (merged.user) {
      stage.frames.replay(merged.user.message, merged.user.uuid, false);
    }
  }
  request(stage, turn);
  turn.requested = false;
  const startedAt = performance.now();
  const ids = stage.frames.newMessageIds(false);
  countMessage(stage, turn);
  turn.ttftMs ||= turn.elapsed();
  stage.frames.stream(
    { type: "message_start", message: stage.frames.message(ids.message, []) },
    { ttft_ms: Math.round(performance.now() - startedAt) },
  );
  const calls: Call[] = [];
  for (const [index, block] of blocks.entries()) {
    await streamBlock(stage, turn, ids, index, blocks.length, block, calls);
    if (turn.aborted) return;
  }
  const stop = calls.length > 0 ? "tool_use" : "end_turn";
  turn.stopReason = stop;
  stage.frames.stream({
    type: "message_delta",
    delta: { stop_reason: stop, stop_sequence: null },
    usage: { output_tokens: stage.script.tokens?.output ?? 5 },
  });
  stage.frames.stream({ type: "message_stop" });
  stage.totals.apiMs += Math.round(performance.now() - startedAt);
  await stage.output.relax();
  await runCalls(stage, turn, calls);
}

function countMessage(stage: Stage, turn: Turn): void {
  turn.messages++;
  stage.totals.messages++;
  stage.totals.costUsd = round(
    stage.totals.costUsd + (stage.script.costUsd ?? 0),
  );
}

async function streamBlock(
  stage: Stage,
  turn: Turn,
  ids: { message: string; tool: (block: number, blocks: number) => string },
  index: number,
  count: number,
  block: Block,
  calls: Call[],
): Promise<void> {
  const { frames } = stage;
  const start = (content: Json) =>
    frames.stream({
      type: "content_block_start",
      index,
      content_block: content,
    });
  const delta = (content: Json) =>
    frames.stream({ type: "content_block_delta", index, delta: content });
  if ("tool" in block) {
    const input = block.input ?? {};
    const id = ids.tool(index, count);
    start({ type: "tool_use", id, name: block.tool, input: {} });
    delta({ type: "input_json_delta", partial_json: JSON.stringify(input) });
    turn.replay();
    frames.assistant(ids.message, {
      type: "tool_use",
      id,
      name: block.tool,
      input,
    }, undefined);
    const call: Call = { step: block, tool: block.tool, input, toolUseId: id };
    calls.push(call);
    begin(stage, turn, call);
    frames.stream({ type: "content_block_stop", index });
    if (call.subagent) emitPrompt(stage, call.subagent, input);
    return;
  }
  if ("think" in block) {
    start({ type: "thinking", thinking: "", signature: "" });
    for (const piece of pieces(block.think, 4)) {
      delta({ type: "thinking_delta", thinking: piece });
    }
    delta({ type: "signature_delta", signature: "scripted" });
    turn.replay();
    const thinking = {
      type: "thinking",
      thinking: block.think,
      signature: "scripted",
    };
    frames.assistant(ids.message, thinking, undefined);
    frames.stream({ type: "content_block_stop", index });
    return;
  }
  start({ type: "text", text: "" });
  let said = "";
  for (const piece of pieces(block.say, block.chunk ?? 4)) {
    if (said !== "" && block.delayMs) {
      await pause(block.delayMs, turn.abort.signal);
    }
    if (turn.aborted) break;
    said += piece;
    delta({ type: "text_delta", text: piece });
  }
  turn.replay();
  frames.assistant(ids.message, { type: "text", text: said }, undefined);
  turn.lastText = said;
  if (!turn.aborted) frames.stream({ type: "content_block_stop", index });
}

/** What happens to a call before its message has ended. */
function begin(stage: Stage, turn: Turn, call: Call): void {
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
async function runCalls(
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
    stage.totals.messages++;
    stage.totals.costUsd = round(
      stage.totals.costUsd + (stage.script.costUsd ?? 0),
    );
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

function blocksOf(stage: Stage, turn: Turn, step: ScriptStep): Block[] {
  const expand = <T>(value: T): T => fill(value, stage, turn);
  if ("message" in step) {
    return step.message.flatMap((part) => blocksOf(stage, turn, part));
  }
  if ("say" in step) return [{ ...step, say: expand(step.say) }];
  if ("think" in step) return [{ ...step, think: expand(step.think) }];
  if ("tool" in step) {
    return [{
      ...step,
      input: expand(step.input ?? {}),
      result: expand(step.result),
    }];
  }
  if ("ask" in step) return [question(expand(step))];
  return [];
}

function question(step: AskStep): ToolStep {
  const options = step.options ?? ["yes", "no"];
  return {
    tool: "AskUserQuestion",
    input: {
      questions: [{
        question: step.ask,
        header: step.header ?? "Question",
        options: options.map((label) => ({ label, description: label })),
        multiSelect: false,
      }],
    },
  };
}

/** Waits, or returns early when the signal fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

function round(usd: number): number {
  return Number(usd.toFixed(9));
}
