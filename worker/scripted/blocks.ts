/**
 * The blocks of one model message, with their variables filled in.
 *
 * @module
 */
import type {
  AskStep,
  SayStep,
  ScriptStep,
  ThinkStep,
  ToolStep,
} from "./script.ts";
import type { Stage, Turn } from "./stage.ts";
import { fill } from "./text.ts";

/** One block: a text, a thought or a call. */
export type Block = SayStep | ThinkStep | ToolStep;

/** The blocks that a step stands for; none for a step that is no message. */
export function blocksOf(stage: Stage, turn: Turn, step: ScriptStep): Block[] {
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
