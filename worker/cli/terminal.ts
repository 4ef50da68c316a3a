/**
 * A person at a terminal who answers the questions of a session.
 *
 * @module
 */

import { readLines } from "@bulkhead/sandbox";
import { type CommandIo, paint, visible } from "@bulkhead/sandbox/command";
import type { AskAnswer } from "../agents/driver.ts";
import type { OpenAsk } from "../asks.ts";
import {
  optionOf,
  type Question,
  questionsOf,
  withAnswers,
} from "./questions.ts";

export { approvalOf } from "./questions.ts";

/**
 * Reads one line that a person types; nothing at the end of input, or once the
 * signal says that the question is off. A line that is typed later then answers the
 * next question.
 */
export type ReadLine = (signal?: AbortSignal) => Promise<string | undefined>;

/**
 * The lines of standard input, one at a time for whoever asks next. Reading starts
 * with the first question.
 *
 * @param io The terminal.
 * @returns The reader and its end.
 */
export function terminalLines(
  io: Pick<CommandIo, "stdin">,
): { readLine: ReadLine; close(): void } {
  let lines: ReturnType<typeof readLines> | undefined;
  let pending: Promise<string | undefined> | undefined;
  const next = async (): Promise<string | undefined> => {
    lines ??= readLines(io.stdin);
    const { value, done } = await lines.next();
    return done ? undefined : new TextDecoder().decode(value.bytes);
  };
  return {
    async readLine(signal): Promise<string | undefined> {
      if (signal?.aborted) return undefined;
      const line = pending ??= next();
      const off = Promise.withResolvers<undefined>();
      const onAbort = (): void => off.resolve(undefined);
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([
          line.then((text) => {
            if (pending === line && !signal?.aborted) pending = undefined;
            return text;
          }),
          off.promise,
        ]);
      } finally {
        signal?.removeEventListener("abort", onAbort);
      }
    },
    close(): void {
      // A read that is under way ends with the process.
      void lines?.return(undefined).catch(() => {});
    },
  };
}

/** What {@linkcode TerminalAnswers} needs. */
export interface TerminalAnswersOptions {
  /** The terminal. */
  io: Pick<CommandIo, "out" | "color">;
  /** Reads what the person types. */
  readLine: ReadLine;
  /**
   * Hands an answer on.
   *
   * @param id The question.
   * @param answer What the person says.
   * @returns Whether the question was still open.
   */
  answer(id: string, answer: AskAnswer): boolean | Promise<boolean>;
  /**
   * The arguments of a call in a few words.
   *
   * @param input The arguments.
   * @returns The words, safe to print.
   */
  describe(input: unknown): string;
}

/** Puts the questions of a session on the terminal, one after the other. */
export class TerminalAnswers {
  readonly #options: TerminalAnswersOptions;
  readonly #put = new Set<string>();
  #asks: readonly OpenAsk[] = [];
  #open: { id: string; off: AbortController } | undefined;
  #stopped = false;

  /**
   * Takes the terminal.
   *
   * @param options The terminal and where answers go.
   */
  constructor(options: TerminalAnswersOptions) {
    this.#options = options;
  }

  /**
   * Takes all questions that are open now. One that is on the terminal and no longer
   * open (answered by somebody else, withdrawn, out of time) is taken back.
   *
   * @param asks The open questions.
   */
  asked(asks: readonly OpenAsk[]): void {
    this.#asks = asks;
    const open = this.#open;
    if (open === undefined) return void this.#next();
    if (!asks.some(({ id }) => id === open.id)) open.off.abort();
  }

  /** Asks nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#open?.off.abort();
  }

  async #next(): Promise<void> {
    for (;;) {
      const ask = this.#asks.find(({ id }) => !this.#put.has(id));
      if (ask === undefined || this.#stopped) return;
      this.#put.add(ask.id);
      const off = new AbortController();
      this.#open = { id: ask.id, off };
      try {
        const answer = await this.#question(ask, off.signal);
        const taken = !off.signal.aborted &&
          await this.#options.answer(ask.id, answer);
        if (!taken && !this.#stopped) {
          this.#options.io.out("\n(that question is no longer open)\n");
        }
      } catch {
        // The session is gone; whoever follows it says so.
      } finally {
        this.#open = undefined;
      }
    }
  }

  async #question(ask: OpenAsk, signal: AbortSignal): Promise<AskAnswer> {
    const own = questionsOf(ask.input);
    if (ask.tool_name === "AskUserQuestion" && own.length > 0) {
      return await this.#choice(ask.input, own, signal);
    }
    const { io, readLine, describe } = this.#options;
    io.out(
      `${this.#mark} Allow ${this.#bold(visible(ask.tool_name))} ${
        describe(ask.input)
      }? [y/N, or a reason to deny] `,
    );
    const line = (await readLine(signal))?.trim() ?? "";
    if (/^(?:y|yes)$/i.test(line)) return { decision: "allow" };
    const reason = /^(?:n|no)?$/i.test(line)
      ? "the person said no"
      : `the person said no: ${line}`;
    return { decision: "deny", reason };
  }

  async #choice(
    input: unknown,
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<AskAnswer> {
    const { io, readLine } = this.#options;
    const answers: Record<string, string> = {};
    for (const question of questions) {
      io.out(`${this.#mark} ${this.#bold(visible(question.text))}\n`);
      question.options.forEach((option, index) =>
        io.out(`  ${index + 1}) ${visible(option)}\n`)
      );
      let answer: string | undefined;
      while (answer === undefined) {
        io.out("> ");
        const line = (await readLine(signal))?.trim();
        if (line === undefined || line === "") {
          return { decision: "deny", reason: "the person gave no answer" };
        }
        answer = line.startsWith(":")
          ? line.slice(1).trim()
          : optionOf(question, line);
        if (answer === undefined) {
          io.out("None of the options; words of your own go behind a colon.\n");
        }
      }
      answers[question.text] = answer;
    }
    return { decision: "allow", updatedInput: withAnswers(input, answers) };
  }

  get #mark(): string {
    return paint(this.#options.io.color).yellow("?");
  }

  #bold(text: string): string {
    return paint(this.#options.io.color).bold(text);
  }
}
