/**
 * The agents that a host starts.
 *
 * @module
 */
import type { AgentDriver } from "../agents/driver.ts";

/** Their names. */
export const HOST_AGENTS: readonly string[] = [
  "claude",
  "codex",
  "opencode",
  "scripted",
];

/** What the driver of one is made of. */
export interface HostAgentOptions {
  /** A file that says what may be written, for agents whose gate is a process of its own. */
  readonly marker?: string | undefined;
  /** Where the scripted agent keeps its sessions. */
  readonly sessions: string;
  /** The file of what the scripted agent plays. */
  readonly script?: string | undefined;
  /** A script that ships with it, by name. */
  readonly example?: string | undefined;
}

/** The driver of an agent; loaded when a session needs it. */
export async function hostDriver(
  agent: string,
  { marker, sessions, script, example }: HostAgentOptions,
): Promise<AgentDriver> {
  const judged = marker === undefined ? {} : { marker };
  switch (agent) {
    case "claude":
      return (await import("../agents/claude.ts")).claudeDriver();
    case "codex":
      return (await import("../agents/codex.ts")).codexDriver(judged);
    case "opencode":
      return (await import("../agents/opencode.ts")).openCodeDriver(judged);
    case "scripted":
      return (await import("../agents/scripted.ts")).scriptedDriver({
        sessions,
        ...script === undefined ? {} : { script },
        ...example === undefined ? {} : { example },
      });
    default:
      throw new RangeError(
        `no agent "${agent}": a host starts ${HOST_AGENTS.join(", ")}`,
      );
  }
}
