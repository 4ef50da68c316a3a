/**
 * The questions that an agent puts with a tool of its own, AskUserQuestion, and the
 * arguments that carry their answers.
 *
 * @module
 */

/** A question of the agent itself, as Claude Code's AskUserQuestion carries it. */
export interface Question {
  /** The question. */
  text: string;
  /** What can be chosen. */
  options: string[];
}

/**
 * The questions in the arguments of AskUserQuestion.
 *
 * @param input The arguments.
 * @returns The questions; none when they have another shape.
 */
export function questionsOf(input: unknown): Question[] {
  const list = record(input).questions;
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const { question: text, options } = record(entry);
    if (typeof text !== "string") return [];
    const labels = Array.isArray(options)
      ? options.flatMap((option: unknown) => {
        if (typeof option === "string") return [option];
        const { label } = record(option);
        return typeof label === "string" ? [label] : [];
      })
      : [];
    return [{ text, options: labels }];
  });
}

/**
 * The arguments that give the answers to the agent.
 *
 * @param input The arguments as they came.
 * @param answers The answer to each question.
 * @returns The arguments to allow the call with.
 */
export function withAnswers(
  input: unknown,
  answers: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return { ...record(input), answers };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}
