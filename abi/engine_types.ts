/**
 * What goes into the engine and what comes out of it.
 *
 * @module
 */

import type { ActionBridgeOptions, HostStringCounts } from "./action_worker.ts";

/** Limits of the engine. */
export interface EngineLimits {
  /** How long a cancelled tool may go on before its caller is answered. */
  cancelGraceMs: number;
  /** How long after that a stuck function may run before the plugin counts as wedged. */
  stuckMs: number;
  /** How long a plugin's thread waits for an action. */
  actionDeadlineMs: number;
  /** The longest result that is read. */
  maxResultBytes: number;
  /** The longest update that is passed on whole. */
  maxUpdateBytes: number;
}

/**
 * The limits when none are given.
 *
 * @example How long a cancelled tool may go on
 * ```ts
 * import { DEFAULT_LIMITS } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(DEFAULT_LIMITS.cancelGraceMs, 2_000);
 * ```
 */
export const DEFAULT_LIMITS: Readonly<EngineLimits> = {
  cancelGraceMs: 2_000,
  stuckMs: 10_000,
  actionDeadlineMs: 30_000,
  maxResultBytes: 67_108_864,
  maxUpdateBytes: 1_048_576,
};

/** Options of {@linkcode Engine.load}. */
export interface EngineOptions {
  /** The plugin's name, for messages. */
  readonly name: string;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<EngineLimits>;
  /** Answers the plugin's runtime actions. */
  readonly answer: ActionBridgeOptions["answer"];
  /** Count host strings with a `free_string` of our own. */
  readonly accounting?: boolean;
  /** Let callbacks keep the process alive. */
  readonly keepAlive?: boolean;
  /** The session, put into the environment before the plugin is opened. */
  readonly sessionId?: string;
  /** Called when a function of the plugin does not come back. */
  readonly onWedged?: (what: string) => void;
}

/** One tool call. */
export interface EngineCall {
  /** The index of the tool. */
  readonly tool: number;
  /** The caller's id of the call. */
  readonly callId: string;
  /** The arguments as JSON. */
  readonly args: Uint8Array<ArrayBuffer>;
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Gets progress, callback before inline. */
  readonly onUpdate?: (text: string) => void;
}

/** The kinds of handlers that take text and give text. */
export type InvokeKind =
  | "commands"
  | "providers"
  | "renderers"
  | "discover"
  | "beforeAgentStart"
  | "oauth";

/** What a handler gave back. */
export interface InvokeOutcome {
  /** Its code. */
  readonly rc: number;
  /** Its output, whatever the code. */
  readonly text: string;
}

/** How an event is sent to the handlers of one plugin. */
export type DispatchMode = "observe" | "lifecycle" | "arbitrate";

/** What the handlers of one plugin made of an event. */
export interface DispatchOutcome {
  /** `abort` and `claimed` end the fan-out; they count only in the mode that asks for them. */
  readonly verdict: "continue" | "abort" | "claimed";
  /** Handlers that returned another code: their index and the code. */
  readonly failed: [index: number, rc: number][];
  /** Handlers that ran over the budget and still run. */
  readonly late: number[];
}

/** Counters of one plugin. */
export interface EngineStats {
  /** Tool calls so far. */
  calls: number;
  /** Handles that are not destroyed. */
  liveHandles: number;
  /** Strings received from the plugin. */
  stringsReceived: number;
  /** Of those, given back to it. */
  stringsFreed: number;
  /** Progress that came for a call that was over. */
  latePartials: number;
  /** Runtime actions asked. */
  actions: number;
  /** Native calls running now. */
  active: number;
  /** Native calls waiting for a place. */
  queued: number;
  /** Handlers that ran over their budget and still run. */
  lateHandlers: number;
  /** Strings that were no UTF-8. */
  invalidUtf8: number;
  /** How often a tool was polled. */
  polls: number;
  /** How many of those took longer than 50 ms. */
  slowPolls: number;
  /** The longest a single poll took, in milliseconds. */
  longestPollMs: number;
  /** Bytes allocated from malloc in its process; 0 where that is not known. */
  heapBytes: number;
  /** Bytes of memory that its process holds. */
  rssBytes: number;
  /** Strings given to the plugin; only with accounting. */
  hostStrings: HostStringCounts;
}
