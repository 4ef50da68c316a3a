import type { AgentEnd, AgentFrame } from "./driver.ts";

/** Thrown when an agent does not come up: what it was, why, and what it said last. */
export class AgentStartError extends Error {
  /** How the process ended. */
  readonly end: AgentEnd;
  /** The frames that came before. */
  readonly frames: readonly AgentFrame[];

  /**
   * Makes the error.
   *
   * @param agent The agent's name.
   * @param why Why it is not up.
   * @param end How the process ended.
   * @param frames The frames that came before.
   */
  constructor(
    agent: string,
    why: string,
    end: AgentEnd,
    frames: readonly AgentFrame[] = [],
  ) {
    const last = lastWords(end.stderrTail);
    super(
      `Cannot start the agent "${agent}": ${why}${
        last === "" ? "" : `: ${last}`
      }`,
    );
    this.name = "AgentStartError";
    this.end = end;
    this.frames = frames;
  }
}

// deno-lint-ignore no-control-regex -- colours are what is looked for
const COLOUR = /\x1b\[[\d;]*m/g;

/** What a program goes on after is not why it has ended. */
const WARNING = /^\s*warn(?:ing)?\b/i;

/** What comes after a program's own words: where in it, and what runs it. */
const FRAME = /^(?:\s|Stack backtrace|Bun v|Node\.js v|note: )/;

/**
 * The last thing a program has said about itself, without the stack behind it.
 *
 * @param text The end of its standard error.
 * @returns One line; empty when there is none.
 */
export function lastWords(text: string): string {
  const lines = text.replace(COLOUR, "").split("\n").filter((line) =>
    line.trim() !== "" && !WARNING.test(line)
  );
  return (lines.findLast((line) => !FRAME.test(line)) ?? lines.at(-1) ?? "")
    .trim();
}
