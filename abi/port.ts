/**
 * A loaded plugin as the host sees it, wherever it runs.
 *
 * @module
 */

import type { IsolationBackend } from "@bulkhead/sandbox";
import type {
  DispatchMode,
  DispatchOutcome,
  EngineStats,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
import type { AbiError } from "./errors.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { Registration } from "./registration.ts";

/** One tool call, ready to go over the border. */
export interface PortCall {
  /** The index of the tool. */
  readonly tool: number;
  /** The caller's id of the call. */
  readonly callId: string;
  /** The arguments as JSON text. */
  readonly args: string;
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Gets progress. */
  readonly onUpdate?: (text: string) => void;
}

/** One event, ready to go over the border. */
export interface PortEvent {
  /** The tag. */
  readonly tag: number;
  /** The strings of the payload. */
  readonly strings: readonly string[];
  /** The error byte of a tool result. */
  readonly isError: boolean;
  /** Which answers count. */
  readonly mode: DispatchMode;
  /** How long each handler may take. */
  readonly budgetMs: number;
}

/** A loaded plugin. Every promise rejects with an `AbiError` once the plugin is gone. */
export interface PluginPort {
  /** What confines it. */
  readonly isolation: IsolationBackend;
  /** Why it is gone, once it is. */
  readonly death: AbiError | undefined;
  /** What it registered. */
  readonly registration: Registration;
  /** Runs a tool. */
  call(call: PortCall): Promise<CallOutcome>;
  /** Calls a handler that takes text and gives text. */
  invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    timeoutMs: number,
  ): Promise<InvokeOutcome>;
  /** Sends an event to its handlers. */
  dispatch(event: PortEvent): Promise<DispatchOutcome>;
  /** Tells it which session is active. */
  setSession(id: string): void;
  /** Its counters. */
  stats(): Promise<EngineStats>;
  /** Ends it. */
  close(): Promise<void>;
}
