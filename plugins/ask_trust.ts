import { questionText } from "./_question.ts";
import { quote } from "./_text.ts";
import {
  parseTrustAnswer,
  type TrustAnswer,
  trustChoices,
  type TrustHandler,
} from "./trust.ts";

/** Where a person is asked. */
export interface TrustTerminal {
  /** Shows text as it is. */
  write(text: string): void;
  /** Shows a prompt and reads one line; empty or undefined at the end of the input. */
  ask(prompt: string): Promise<string | undefined>;
}

/** Options of {@linkcode askTrust}. */
export interface AskTrustOptions {
  /**
   * The answers that would mean nothing here: an install ends right after the question, so nothing would be left of a
   * "once".
   *
   * @default {[]}
   */
  without?: readonly TrustAnswer[];
}

/** How often the question is put. */
const MAX_ROUNDS = 3;

/**
 * Puts the question of trust to a person at a terminal. Just Enter and the end of the input are a no; what is no answer
 * is told the answers and asked again, and taken as a no in the end.
 *
 * @param terminal Where to ask.
 * @param options Which answers there are.
 * @returns The handler for `loadPlugins()` and installs.
 *
 * @example A plain yes is asked for how long
 * ```ts
 * import { askTrust } from "@bulkhead/plugins";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * const answers = ["y", "o"];
 * let shown = "";
 * const handler = askTrust({
 *   write: (text) => void (shown += text),
 *   ask: () => Promise.resolve(answers.shift()),
 * });
 * const question = {
 *   name: "demo",
 *   version: "1.0.0",
 *   dir: "/plugins/demo",
 *   hash: "sha256:00",
 *   lines: [],
 *   problems: [],
 *   sandbox: "sandbox: bubblewrap",
 * };
 * assertEquals(await handler(question), "once");
 * assertStringIncludes(shown, 'yes for how long? "a"');
 * ```
 */
export function askTrust(
  terminal: TrustTerminal,
  { without = [] }: AskTrustOptions = {},
): TrustHandler {
  const choices = trustChoices(without);
  return async (question): Promise<TrustAnswer> => {
    terminal.write(`A question of trust, to answer with ${choices}\n`);
    terminal.write(`${questionText(question)}\n`);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const word = await terminal.ask(`Trust it? ${choices}: `) ?? "";
      const answer = parseTrustAnswer(word);
      if (answer !== undefined && !without.includes(answer)) return answer;
      terminal.write(
        /^\s*(?:y|yes|ok|true|1)\s*$/i.test(word)
          ? `yes for how long? "a" trusts this content from now on${
            without.includes("once") ? "" : ', "o" only this time'
          }\n`
          : `${quote(word)} is none of the answers: ${choices}\n`,
      );
    }
    terminal.write("Taken as no\n");
    return "no";
  };
}
