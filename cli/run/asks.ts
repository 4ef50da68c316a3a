import type { CommandIo } from "@bulkhead/sandbox/command";
import type { Session } from "@bulkhead/worker";
import {
  approvalOf,
  type ReadLine,
  TerminalAnswers,
} from "@bulkhead/worker/terminal";
import { shorten } from "./shorten.ts";
import { describeInput } from "./describe.ts";

/**
 * Answers the questions of a session on the terminal, one after the other.
 *
 * @param session The session.
 * @param io The terminal.
 * @param readLine Reads what the person types.
 * @returns A function that stops answering.
 */
export function answerInPlace(
  session: Session,
  io: CommandIo,
  readLine: ReadLine,
): () => void {
  const detach = session.attachAnswerer();
  const person = new TerminalAnswers({
    io,
    readLine,
    answer: (id, answer) => session.answer(id, answer),
    describe: (input) => shorten(describeInput(input), 200),
  });
  const unwatch = session.watch((change) => {
    if (change === "asks") person.asked(session.asks);
  });
  person.asked(session.asks);
  return () => {
    person.stop();
    unwatch();
    detach();
  };
}

/**
 * Answers every question with yes, for a person who said so beforehand.
 *
 * @param session The session.
 * @param told Told each question.
 * @returns A function that stops answering.
 */
export function approveAll(
  session: Session,
  told: (line: string) => void,
): () => void {
  const detach = session.attachAnswerer();
  const answer = (): void => {
    for (const ask of session.asks) {
      const { answer, chose } = approvalOf(ask);
      told(
        `--approve: ${ask.tool_name} ${describeInput(ask.input)}${
          chose === undefined ? "" : `: ${chose}`
        }`,
      );
      session.answer(ask.id, answer);
    }
  };
  const unwatch = session.watch((change) => {
    if (change === "asks") answer();
  });
  answer();
  return () => {
    unwatch();
    detach();
  };
}
