/**
 * How a turn ended, on a command line.
 *
 * @module
 */
import {
  type CommandIo,
  printResult,
  visible,
  visibleLines,
} from "@bulkhead/sandbox/command";
import type { TurnStatus } from "../client.ts";

/**
 * Prints a turn's reply, denials and outcome.
 *
 * @param io Where to.
 * @param json Whether to print one object instead.
 * @param turn The turn's id.
 * @param status How it ended.
 * @returns The exit code: 0 for a completed turn, else 1.
 */
export function printTurn(
  io: CommandIo,
  json: boolean,
  turn: string,
  status: Extract<TurnStatus, { phase: "done" }>,
): number {
  if (json) printResult(io, { turn, ...status });
  else {
    if (status.text !== null) io.out(`${visibleLines(status.text)}\n`);
    for (const denied of status.denied) {
      io.err(`denied: ${denied.tool}: ${visible(denied.reason ?? "")}\n`);
    }
    if (status.outcome !== "completed") {
      io.err(`${status.outcome}: ${visible(status.errors.join("; "))}\n`);
    }
  }
  return status.outcome === "completed" ? 0 : 1;
}
