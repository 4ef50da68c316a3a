/**
 * The functions a plugin registers, as addresses.
 *
 * @module
 */

/** The address of a plugin's function; 0 is NULL. */
export type FunctionPointer = bigint;

/** The functions of a tool. */
export interface ToolFunctions {
  /** Starts a call. */
  readonly execute: FunctionPointer;
  /** One step. */
  readonly poll: FunctionPointer;
  /** Sets the cancel flag. */
  readonly cancel: FunctionPointer;
  /** Frees the handle. */
  readonly destroy: FunctionPointer;
  /** Frees the plugin's strings. */
  readonly free: FunctionPointer;
}

/** A handler and what it needs. */
export interface HandlerFunction {
  /** The function. */
  readonly call: FunctionPointer;
  /** Frees what it returns. */
  readonly free: FunctionPointer;
  /** The plugin's own pointer. */
  readonly userData: bigint;
}

/** The functions behind a {@linkcode Registration}, index by index. */
export interface FunctionTable {
  /** Of the tools. */
  readonly tools: ToolFunctions[];
  /** Of the commands. */
  readonly commands: HandlerFunction[];
  /** Of the providers. */
  readonly providers: HandlerFunction[];
  /** Of the renderers. */
  readonly renderers: HandlerFunction[];
  /** Of the event handlers. */
  readonly events: HandlerFunction[];
  /** Of the resources_discover handlers. */
  readonly discover: HandlerFunction[];
  /** Of the before_agent_start handlers. */
  readonly beforeAgentStart: HandlerFunction[];
  /** Of the login flows. */
  readonly oauth: HandlerFunction[];
}

/**
 * A table without entries.
 *
 * @returns The table.
 */
export function emptyFunctionTable(): FunctionTable {
  return {
    tools: [],
    commands: [],
    providers: [],
    renderers: [],
    events: [],
    discover: [],
    beforeAgentStart: [],
    oauth: [],
  };
}
