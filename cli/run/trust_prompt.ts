import {
  questionText,
  type TrustAnswer,
  type TrustHandler,
} from "@bulkhead/plugins";
import type { CommandIo } from "@bulkhead/sandbox/command";
import type { ReadLine } from "@bulkhead/worker/terminal";
import { paint } from "./paint.ts";

/** What can be typed; everything else is no. */
const ANSWERS: Record<string, TrustAnswer> = {
  o: "once",
  once: "once",
  a: "always",
  always: "always",
  never: "never",
};

/**
 * Puts the question of trust on the terminal. The default answer is no.
 *
 * @param io The terminal.
 * @param readLine Reads the answer.
 * @returns the handler.
 */
export function askTrust(io: CommandIo, readLine: ReadLine): TrustHandler {
  const { yellow } = paint(io.color);
  return async (question) => {
    io.out(`${questionText(question)}\n`);
    io.out(
      `${
        yellow("?")
      } Trust it? [o]nce, [a]lways for this content, never, or no (default): `,
    );
    const line = (await readLine())?.trim().toLowerCase() ?? "";
    return ANSWERS[line] ?? "no";
  };
}
