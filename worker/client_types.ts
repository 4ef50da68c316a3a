/**
 * What a client of a worker gets.
 *
 * @module
 */

import type { Gate } from "./agents/driver.ts";
import type { OpenAsk } from "./asks.ts";
import type { Frame } from "./frame.ts";
import type { SessionState } from "./turn_state.ts";
import type { TurnOutcome } from "./turns.ts";

/** A frame as a client gets it; with `raw` the agent's own line is in it. */
export type ClientFrame = Frame & {
  /** The agent's own line, when it was asked for. */
  raw?: string;
};

/** The answer of {@linkcode WorkerClient.readFrames}. */
export interface FramesAnswer {
  /** The frames. */
  frames: ClientFrame[];
  /** The cursor to go on with. */
  next: number;
  /** True when frames before the first one were lost. */
  gap: boolean;
  /** Whether the agent's process lives. */
  childAlive: boolean;
  /** True when there is more behind `next` already. */
  more: boolean;
}

/** The answer of {@linkcode WorkerClient.status}. */
export interface SessionStatus {
  /** The agent's process. */
  childPid: number | null;
  /** Whether it lives. */
  childAlive: boolean;
  /** Its exit code, once it has ended by itself. */
  exitCode: number | null;
  /** True when the agent has shown that it is up. */
  childReady: boolean;
  /** What the session does. */
  state: SessionState;
  /** How many questions wait for a person. */
  openAsks: number;
  /** How many background tasks run. */
  openTasks: number;
  /** How many turns are written and not finished. */
  pendingTurns: number;
  /** The running total of the agent's cost figures, in dollars. */
  costUsd: number;
  /** True when a running turn has been silent for too long. */
  stalled: boolean;
  /** The agent's name. */
  agent: string;
  /** The session's id. */
  sessionId: string | null;
  /** The model. */
  model: string | null;
  /** The permission mode. */
  permissionMode: string | null;
  /** The gate. */
  gate: Gate | null;
  /** Who judges a call, by name, in order; empty when the worker does not tell. */
  judgedBy: string[];
  /** The number the next frame will get. */
  next: number;
  /** How long the agent has been silent. */
  silentMs: number;
  /** How many clients are connected. */
  clients: number;
  /** The worker's own process. */
  workerPid: number | null;
}

/** The answer of {@linkcode WorkerClient.writeTurn}. */
export interface WrittenTurn {
  /** How many bytes were queued. */
  written: number;
  /** The id of the turn, when the worker told it. */
  turn: string | undefined;
  /** True when the id was sent before and nothing was written. */
  repeated: boolean;
}

/** How a turn stands: its outcome once it is done. */
export type TurnStatus =
  | { phase: "written" | "delivered" }
  | ({ phase: "done" } & Omit<TurnOutcome, "turns" | "selfStarted">);

/** What a watcher gets. */
export type WatchEvent =
  | {
    type: "frames";
    from: number;
    frames: ClientFrame[];
    next: number;
    gap: boolean;
  }
  | {
    type: "state";
    state: SessionState;
    childAlive: boolean;
    openAsks: number;
    openTasks: number;
    pendingTurns: number;
    costUsd: number;
    stalled: boolean;
  }
  | { type: "asks"; asks: OpenAsk[] }
  | { type: "end"; reason: string };

/** Options of {@linkcode WorkerClient.watch}. */
export interface WatchOptions {
  /**
   * The first wanted frame.
   *
   * @default {0}
   */
  cursor?: number;
  /** Give each frame the agent's own line. */
  raw?: boolean;
  /** Say that this client answers questions. */
  answers?: boolean;
  /** Ends the watch, also while nothing happens. */
  signal?: AbortSignal;
}
