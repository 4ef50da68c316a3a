/**
 * The flags of a session, as `start` hands them on and `--stream` takes them.
 *
 * @module
 */

import { type Flags, UsageError } from "@bulkhead/sandbox/command";
import { ASK_POLICIES, type AskPolicy } from "../session_options.ts";

/** The flags with a value that `start` hands on as they are. */
export const SESSION_FLAGS: readonly string[] = [
  "model",
  "script",
  "idle-grace-ms",
  "ask-timeout-ms",
  "stall-ms",
];

/** The agents that have a name; any other is `acp:COMMAND`. */
const NAMED = ["claude", "codex", "opencode", "scripted", "acp"];

/** What the flags say of a session. */
export interface SessionFlags {
  /** What becomes of questions. */
  readonly asks: AskPolicy | undefined;
  /** How long a question may stay open. */
  readonly askTimeoutMs: number | undefined;
  /** How long a session at rest is kept. */
  readonly idleGraceMs: number | undefined;
  /** How long a running turn may be silent. */
  readonly stallMs: number | undefined;
  /** The session to go on with. */
  readonly resume: string | undefined;
  /** The id of a new session. */
  readonly sessionId: string | undefined;
  /** The model. */
  readonly model: string | undefined;
}

/**
 * Reads the flags of a session.
 *
 * @param flags The parsed command line.
 * @param help The command that shows them.
 * @returns What they say.
 * @throws {UsageError} Naming the flag that is wrong and what it takes.
 */
export function sessionFlags(flags: Flags, help: string): SessionFlags {
  const wrong = (found: string) =>
    new UsageError(`Cannot read the command line: ${found}`, help);
  for (const name of ["model", "resume", "session-id"]) {
    if (flags.text(name)?.trim() === "") throw wrong(`--${name} is empty`);
  }
  if (flags.list("allow").some((tool) => tool.trim() === "")) {
    throw wrong("--allow is empty; it takes the name of a tool");
  }
  const agent = flags.text("agent");
  if (
    agent !== undefined && !NAMED.includes(agent) &&
    !/^acp:\s*\S/.test(agent)
  ) {
    throw wrong(
      `no agent "${agent}"; it is claude, codex, opencode, scripted or acp:COMMAND`,
    );
  }
  if (agent === "acp" && flags.rest.length === 0) {
    throw wrong("the agent's argv is missing");
  }
  const asks = flags.choice("asks", ASK_POLICIES);
  const resume = flags.text("resume");
  const sessionId = flags.text("session-id");
  if (resume !== undefined && sessionId !== undefined) {
    throw wrong("a session is gone on with or new: --resume or --session-id");
  }
  return {
    asks,
    askTimeoutMs: flags.integer("ask-timeout-ms"),
    idleGraceMs: flags.integer("idle-grace-ms"),
    stallMs: flags.integer("stall-ms"),
    resume,
    sessionId,
    model: flags.text("model"),
  };
}
