import {
  parseTrustAnswer,
  questionText,
  TRUST_CHOICES,
  type TrustHandler,
} from "@bulkhead/plugins";
import type { CommandIo } from "@bulkhead/sandbox/command";
import type { ReadLine } from "@bulkhead/worker/terminal";
import { paint } from "./paint.ts";

/**
 * Puts the question of trust on the terminal. The default answer is no.
 *
 * @param io The terminal.
 * @param readLine Reads the answer.
 * @returns The handler.
 */
export function askTrust(io: CommandIo, readLine: ReadLine): TrustHandler {
  const { yellow } = paint(io.color);
  return async (question) => {
    io.out(`A question of trust, to answer with ${TRUST_CHOICES}\n`);
    io.out(`${questionText(question)}\n`);
    io.out(`${yellow("?")} Trust it? ${TRUST_CHOICES}: `);
    const answer = parseTrustAnswer(await readLine() ?? "");
    if (answer === undefined) {
      io.out(`That is none of the answers (${TRUST_CHOICES}): taken as no\n`);
    }
    return answer ?? "no";
  };
}
