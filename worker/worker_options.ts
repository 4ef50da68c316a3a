/**
 * What a worker is started with, and what is known of its end.
 *
 * @module
 */

import type {
  AgentDriver,
  AgentEnd,
  AgentStart,
  Decider,
  ToolSource,
} from "./agents/driver.ts";
import type { Frame } from "./frame.ts";
import type { FrameLogOptions } from "./frame_log.ts";
import type { PermissionRules } from "./posture.ts";
import type { AskPolicy } from "./session.ts";

/** Why a worker ended; `session-held`: its agent went on with a session that somebody else writes. */
export type EndReason =
  | "child_exited"
  | "shutdown"
  | "idle-release"
  | "session-held";

/** The claim on a session: one without the other is useless. */
export interface SessionClaim {
  /** The session's id. */
  readonly sessionUuid: string;
  /** Who holds it, such as `stream:<short id>`. */
  readonly holder: string;
}

/** Options of {@linkcode runWorker}. */
export interface WorkerOptions
  extends Pick<AgentStart, "sessionId" | "resume" | "model" | "env"> {
  /** The name of the worker under its home; its socket is `<home>/<shortId>/worker.sock`. */
  readonly shortId: string;
  /** The directory of all workers, `<bulkhead home>/workers`. */
  readonly home: string;
  /** The working directory of the session. */
  readonly cwd: string;
  /** The agent. One driver drives one process: make a new one for each worker. */
  readonly driver: AgentDriver;
  /**
   * Who judges calls, in order.
   *
   * @default only the posture, built from `rules` and the project's settings
   */
  readonly deciders?: readonly Decider[];
  /** The host's own rules for the posture; its allow list is the only one that is believed. */
  readonly rules?: PermissionRules;
  /**
   * True when the allow list in the project's settings counts too.
   *
   * @default {false}
   */
  readonly trustProject?: boolean;
  /** The tools the host offers to the agent. */
  readonly tools?: ToolSource;
  /**
   * What becomes of questions that only a person can answer.
   *
   * @default {"attached"}
   */
  readonly asks?: AskPolicy;
  /**
   * How long a question may stay open; 0 for ever.
   *
   * @default {3600000}
   */
  readonly askTimeoutMs?: number;
  /**
   * How long an untouched session at rest is kept; 0 for ever.
   *
   * @default {900000}
   */
  readonly idleGraceMs?: number;
  /**
   * How long a running turn may be silent before `agent_stalled` is recorded; 0 for never.
   *
   * @default {600000}
   */
  readonly stallMs?: number;
  /** Write a row with this name into the home's registry. */
  readonly name?: string;
  /**
   * The claim that is made before anything else. The sessions that the agent is started on, and those it says it
   * writes, are claimed in any case.
   */
  readonly claim?: SessionClaim;
  /**
   * The directory above `.fno/claims`, where all workers of a machine claim their sessions.
   *
   * @default `$FNO_CLAIMS_ROOT`, else `$HOME`
   */
  readonly claimsRoot?: string;
  /** Bounds of the kept frames. */
  readonly frames?: FrameLogOptions;
  /** Start although the session has died several times in a row at once. */
  readonly force?: boolean;
  /** Takes one line for the worker's own log. */
  log?(line: string): void;
}

/** How a worker ended. */
export interface WorkerEnd {
  /** Why. */
  readonly reason: EndReason;
  /** How the agent's process ended. */
  readonly agent: AgentEnd;
}

/** A frame with its number. */
export interface NumberedFrame {
  /** The number of the frame, from 0. */
  readonly index: number;
  /** The frame. */
  readonly frame: Frame;
  /** The agent's own line. */
  readonly raw: string;
  /** True when frames right before this one are no longer kept. */
  readonly gap: boolean;
}
