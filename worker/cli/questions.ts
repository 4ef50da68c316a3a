/**
 * The questions that an agent puts with a tool of its own, AskUserQuestion, and the
 * arguments that carry their answers.
 *
 * @module
 */

import { UsageError } from "@bulkhead/sandbox/command";
import type { AskAnswer } from "../agents/driver.ts";
import type { OpenAsk } from "../asks.ts";

/** A question of the agent itself, as Claude Code's AskUserQuestion carries it. */
export interface Question {
  /** The question. */
  text: string;
  /** What can be chosen. */
  options: string[];
  /** Whether more than one of them can be chosen. */
  several: boolean;
}

/** An option that says yes. */
const YES =
  /^(?:y|yes|yep|sure|ok|okay|allow|approve|accept|continue|proceed)\b/i;

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
    const { question: text, options, multiSelect } = record(entry);
    if (typeof text !== "string") return [];
    const labels = Array.isArray(options)
      ? options.flatMap((option: unknown) => {
        if (typeof option === "string") return [option];
        const { label } = record(option);
        return typeof label === "string" ? [label] : [];
      })
      : [];
    return [{ text, options: labels, several: multiSelect === true }];
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

/**
 * The questions of an open ask, when it is the agent's own and not one about a call.
 *
 * @param open The ask.
 * @returns The questions; none when yes or no is the answer.
 */
export function choicesOf(
  open: Pick<OpenAsk, "tool_name" | "input">,
): Question[] {
  return open.tool_name === "AskUserQuestion" ? questionsOf(open.input) : [];
}

/**
 * An ask in one line.
 *
 * @param open The ask.
 * @param call Tells the arguments of a call in a few words.
 * @returns The agent's own questions with their options, or the call it is about; as the agent wrote it.
 */
export function askLine(
  open: Pick<OpenAsk, "tool_name" | "input">,
  call: (input: unknown) => string,
): string {
  const questions = choicesOf(open);
  return questions.length === 0
    ? `${open.tool_name} ${call(open.input)}`
    : questions.map(shown).join(" ");
}

/**
 * The answer to the agent's own questions, one word a question.
 *
 * @param open The ask.
 * @param words The answers: an option's text or number, several with commas where
 * several can be chosen, any text where there are no options.
 * @param other Take text that is none of the options.
 * @returns The answer.
 * @throws {UsageError} Naming the options, when an answer is none of them.
 */
export function chosenAnswer(
  open: OpenAsk,
  words: readonly string[],
  other = false,
): AskAnswer {
  const questions = choicesOf(open);
  if (questions.length !== words.length) {
    throw new UsageError(
      `Cannot answer: there are ${questions.length} questions and ${words.length} answers: ${
        questions.map(shown).join(" ")
      }`,
      "one answer a question, in quotes where it has blanks",
    );
  }
  const answers: Record<string, string> = {};
  questions.forEach((question, at) => {
    const word = words[at] ?? "";
    const answer = optionOf(question, word) ?? (other ? word : undefined);
    if (answer === undefined) {
      throw new UsageError(
        `Cannot answer "${word}": the options are ${listed(question)}`,
        "give one of them, or your own words with --other",
      );
    }
    answers[question.text] = answer;
  });
  return { decision: "allow", updatedInput: withAnswers(open.input, answers) };
}

/**
 * The option that a word means.
 *
 * @param question The question.
 * @param word An option's text or number, several with commas where several can be chosen.
 * @returns The option; `undefined` when it is none, the word itself where there are no options.
 */
export function optionOf(question: Question, word: string): string | undefined {
  const { options, several } = question;
  if (options.length === 0) return word;
  const one = (text: string): string | undefined =>
    options.find((option) => option.toLowerCase() === text.toLowerCase()) ??
      options[Number(text) - 1];
  const whole = one(word);
  if (whole !== undefined || !several) return whole;
  const parts = word.split(",").map((part) => one(part.trim()));
  return parts.every((part) => part !== undefined)
    ? parts.join(", ")
    : undefined;
}

/** A question with its options. */
function shown(question: Question): string {
  return question.options.length === 0
    ? question.text
    : `${question.text} (${listed(question)})`;
}

function listed({ options }: Question): string {
  return options.map((option, at) => `${at + 1}) "${option}"`).join(", ");
}

/**
 * What can be typed to answer an ask.
 *
 * @param open The ask.
 * @returns The words behind its id, fit to be pasted, and what else there is in parentheses.
 */
export function answerWords(open: OpenAsk): string {
  const questions = choicesOf(open);
  if (questions.length === 0) return "allow (or: deny)";
  const [only, ...more] = questions;
  const others = more.length > 0 ? [] : only?.options.slice(1) ?? [];
  const first = questions.map(({ options: [option] }) =>
    option === undefined ? "TEXT" : quoted(option)
  ).join(" ");
  return others.length === 0
    ? first
    : `${first} (or: ${others.map(quoted).join(", ")})`;
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The answer for a person who has said yes to everything beforehand: yes to a call,
 * and to the agent's own questions the option that says yes, else the first. What
 * has no options cannot be answered by a yes.
 *
 * @param open The ask.
 * @returns The answer, and what was chosen in a few words.
 */
export function approvalOf(
  open: OpenAsk,
): { answer: AskAnswer; chose?: string } {
  const questions = choicesOf(open);
  if (questions.length === 0) return { answer: { decision: "allow" } };
  const words = questions.map(({ options }) =>
    options.find((option) => YES.test(option)) ?? options[0]
  );
  const given = words.filter((word) => word !== undefined);
  if (given.length < words.length) {
    return {
      answer: {
        decision: "deny",
        reason: "nobody is there to answer a question without options",
      },
      chose: "not answered, since it has no options",
    };
  }
  return { answer: chosenAnswer(open, given), chose: given.join(", ") };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}
