/**
 * What a session is made with, and what it tells.
 *
 * @module
 */

import type {
  AgentDriver,
  Decider,
  ToolCall,
  ToolSource,
  Verdict,
} from "./agents/driver.ts";
import type { FrameLogOptions } from "./frame_log.ts";

/**
 * What becomes of a question that only a person can answer: `deny` it at once, `wait` for somebody, or wait while a
 * client that answers is `attached` and deny otherwise.
 */
export type AskPolicy = "deny" | "wait" | "attached";

/** Every {@linkcode AskPolicy}, as command lines take it. */
export const ASK_POLICIES: readonly AskPolicy[] = ["attached", "wait", "deny"];

/** Options of {@linkcode Session}. */
export interface SessionOptions {
  /** The agent. */
  readonly driver: AgentDriver;
  /** The working directory. */
  readonly cwd: string;
  /** Who judges calls, in order. */
  readonly deciders: readonly Decider[];
  /** The tools the host offers. */
  readonly tools?: ToolSource;
  /**
   * What becomes of questions.
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
   * How long a running turn may say nothing before a stall is reported; 0 for never.
   *
   * @default {600000}
   */
  readonly stallMs?: number;
  /** Bounds of the kept frames. */
  readonly frames?: FrameLogOptions;
  /** Takes one line for the worker's own log. */
  log?(line: string): void;
  /** Takes an event for the record. */
  event?(type: string, data: Record<string, unknown>): void;
}

/** A turn that was taken. */
export interface SentTurn {
  /** The id of the turn. */
  readonly turn: string;
  /** How many bytes were queued for the agent; 0 for one that was sent before. */
  readonly written: number;
  /** True when the same id was sent before and nothing was written. */
  readonly repeated: boolean;
}

/** A verdict with the call it is about. */
export interface JudgedCall {
  /** The call. */
  readonly call: ToolCall;
  /** The verdict. */
  readonly verdict: Verdict;
}

/** Something a watcher may want to look at again. */
export type SessionChange = "frames" | "state" | "asks" | "ended";
