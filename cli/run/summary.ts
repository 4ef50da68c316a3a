import { type CommandIo, paint, visible } from "@bulkhead/sandbox/command";
import type { TurnOutcome, WorkerEnd } from "@bulkhead/worker";
import { shorten } from "./shorten.ts";

/** Who refused a call that a person, here or attached, has answered with no. */
export const ANSWER = "the answer";

/** Who refused a call that a person should have allowed and none did. */
export const NOBODY = "nobody";

/** One refused call. */
export interface Denial {
  /** The tool. */
  tool: string;
  /** Its arguments in a few words. */
  input: string;
  /** Who refused it. */
  by: string;
  /** Why. */
  reason: string;
}

/** What a session came to. */
export interface RunSummary {
  /** The agent. */
  agent: string;
  /** The session's id, to resume it. */
  session: string | undefined;
  /** How the turn ended. */
  outcome: TurnOutcome["outcome"] | "kept";
  /** What went wrong. */
  errors: string[];
  /**
   * Files that were written inside the roots, relative to the workspace where they are below it; null when no guard
   * was there to see it.
   */
  written: string[] | null;
  /** Refused calls, subagents' too. */
  denials: Denial[];
  /** What the session cost in dollars, as far as the agent tells. */
  costUsd: number | null;
  /** Milliseconds from start to end. */
  durationMs: number;
  /** How the agent ended; nothing while it is kept. */
  end: WorkerEnd | undefined;
}

/**
 * Prints what a session came to.
 *
 * @param io Where to.
 * @param summary The summary.
 * @param json Print one line of JSON with `type: "summary"` instead.
 */
export function printSummary(
  io: CommandIo,
  summary: RunSummary,
  json: boolean,
): void {
  const { end, ...rest } = summary;
  if (json) {
    io.out(
      `${
        JSON.stringify({
          type: "summary",
          ...rest,
          session: rest.session ?? null,
          exit: end?.agent.code ?? null,
          signal: end?.agent.signal ?? null,
        })
      }\n`,
    );
    return;
  }
  const { dim, bold, red, green } = paint(io.color);
  const row = (name: string, text: string): void =>
    io.out(`${dim(name.padEnd(14))}${text}\n`);
  io.out(`${dim("──")} ${bold("summary")}\n`);
  row(
    "files written",
    summary.written === null
      ? "unknown: no guard watched"
      : summary.written.length === 0
      ? "none"
      : summary.written.map(visible).join(", "),
  );
  row("denials", String(summary.denials.length));
  for (const { tool, input, by, reason } of summary.denials) {
    const why = by === ANSWER
      ? shorten(reason, 120)
      : by === NOBODY
      ? "because nobody answered"
      : `by ${by}`;
    row("", red(`${visible(tool)} ${input}`) + dim(` ${why}`));
  }
  const ok = summary.outcome === "completed" || summary.outcome === "kept";
  row("outcome", (ok ? green : red)(summary.outcome));
  // What an interrupted agent complains of is the interruption.
  const errors = summary.outcome === "aborted" ? [] : summary.errors;
  for (const error of errors) row("", red(visible(error)));
  row("agent", `${visible(summary.agent)}, ${exitText(end)}`);
  if (summary.session !== undefined) row("session", visible(summary.session));
  if (summary.costUsd !== null) row("cost", `$${summary.costUsd.toFixed(4)}`);
  row("duration", `${(summary.durationMs / 1000).toFixed(2)} s`);
}

function exitText(end: WorkerEnd | undefined): string {
  if (end === undefined) return "still running";
  const { code, signal } = end.agent;
  return signal === null ? `exit ${code}` : `ended by ${signal}`;
}
