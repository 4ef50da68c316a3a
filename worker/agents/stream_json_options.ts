/**
 * What a driver for stream-json is made with.
 *
 * @module
 */

import type { AgentStart } from "./driver.ts";

/** Options of {@linkcode StreamJsonDriver}. */
export interface StreamJsonOptions {
  /** The agent's name. */
  readonly name: string;
  /**
   * The argv of one start.
   *
   * @param start What is to be started.
   * @returns The program and its arguments.
   */
  argv(start: AgentStart): readonly string[];
  /** Variables on top of the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Register the PreToolUse callback before any turn and wait until the agent has confirmed it.
   *
   * @default {true}
   */
  readonly gate?: boolean;
  /**
   * Give every turn an id of ours. Without it a turn has exactly the bytes that the stream worker of
   * `fno_agents` writes.
   *
   * @default the value of `gate`
   */
  readonly stampsTurns?: boolean;
  /**
   * Leave the claims on the session to the caller.
   *
   * @default {false}
   */
  readonly callersSession?: boolean;
  /**
   * The name under which the host's tools are served.
   *
   * @default {"bulkhead"}
   */
  readonly serverName?: string;
  /**
   * How long the agent may take to confirm the gate.
   *
   * @default {30000}
   */
  readonly readyMs?: number;
  /**
   * How long a verdict may take before the call is denied. The agent itself waits 30 s.
   *
   * @default {25000}
   */
  readonly judgeMs?: number;
  /** How many bytes of turns may wait for the agent. */
  readonly maxQueueBytes?: number;
  /** What the agent gets when our process dies. */
  readonly parentDeath?: "SIGTERM" | "SIGKILL" | "none";
  /** Have what the agent starts ended even when our process is killed. */
  readonly watchdog?: boolean;
  /** The command that installs the program, for when it is not there. */
  readonly install?: string;
}
