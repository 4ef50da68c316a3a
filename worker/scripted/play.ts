/**
 * Plays a turn: model messages in the real child's order of frames.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { type Block, blocksOf } from "./blocks.ts";
import { playFault } from "./faults.ts";
import type { Json } from "./output.ts";
import { begin, type Call, runCalls } from "./run_calls.ts";
import type { ScriptStep } from "./script.ts";
import { countMessage, type Stage, type Turn } from "./stage.ts";
import { emitPrompt } from "./tasks.ts";
import { pieces } from "./text.ts";

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
  turn.messages++;
  countMessage(stage);
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
