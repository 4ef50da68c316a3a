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
   * @param agent The agent's name
   * @param why Why it is not up
   * @param end How the process ended
   * @param frames The frames that came before
   */
  constructor(
    agent: string,
    why: string,
    end: AgentEnd,
    frames: readonly AgentFrame[] = [],
  ) {
    const last = end.stderrTail.trim().split("\n").at(-1) ?? "";
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
