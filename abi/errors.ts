/**
 * The one error class of this package.
 *
 * @module
 */

/**
 * What went wrong, for programs.
 *
 * - `preflight`: the file was refused before any of its code ran
 * - `open`: the dynamic loader refused it
 * - `register`: its entry point returned a code other than 0
 * - `start`: the child process could not be started or did not answer
 * - `crashed`: the plugin's process died
 * - `wedged`: the plugin did not give a call back and was stopped
 * - `disabled`: it crashed too often
 * - `closed`: the plugin was closed
 * - `timeout`, `aborted`: the caller's deadline or signal ended the call
 * - `tool`: the tool itself reported an error
 * - `handler`: a handler returned a code other than 0
 * - `protocol`: an answer had the wrong shape or was too large
 * - `unsupported`: this machine cannot host native plugins
 */
export type AbiErrorCode =
  | "preflight"
  | "open"
  | "register"
  | "start"
  | "crashed"
  | "wedged"
  | "disabled"
  | "closed"
  | "timeout"
  | "aborted"
  | "tool"
  | "handler"
  | "protocol"
  | "unsupported";

/** More about an {@linkcode AbiError}. */
export interface AbiErrorOptions {
  /** The plugin's name. */
  plugin?: string;
  /** What to do about it, one line. */
  fix?: string;
  /** The signal that ended the plugin's process. */
  signal?: string;
  /** The exit code of the plugin's process, or the code a function of the plugin returned. */
  exitCode?: number;
  /** The end of what the plugin wrote to stderr. */
  stderrTail?: string;
  /** The error behind this one. */
  cause?: unknown;
}

/**
 * A native plugin could not be loaded, or a call into it failed.
 *
 * @example Telling a crash from a tool's own error
 * ```ts
 * import { AbiError } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new AbiError("crashed", 'Plugin "x" crashed (SIGSEGV)', { signal: "SIGSEGV" });
 * assertEquals(error.code, "crashed");
 * assertEquals(error.signal, "SIGSEGV");
 * ```
 */
export class AbiError extends Error {
  /** What went wrong, for programs. */
  readonly code: AbiErrorCode;
  /** The plugin's name. */
  readonly plugin: string | undefined;
  /** What to do about it. */
  readonly fix: string | undefined;
  /** The signal that ended the plugin's process. */
  readonly signal: string | undefined;
  /** The exit code of the plugin's process, or the code a function of the plugin returned. */
  readonly exitCode: number | undefined;
  /** The end of what the plugin wrote to stderr. */
  readonly stderrTail: string | undefined;

  /**
   * Creates the error.
   *
   * @param code What went wrong, for programs.
   * @param message What went wrong, for people.
   * @param options More about it.
   */
  constructor(
    code: AbiErrorCode,
    message: string,
    options: AbiErrorOptions = {},
  ) {
    super(
      message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "AbiError";
    this.code = code;
    this.plugin = options.plugin;
    this.fix = options.fix;
    this.signal = options.signal;
    this.exitCode = options.exitCode;
    this.stderrTail = options.stderrTail;
  }
}

/** What to do about a plugin that breaks the ABI. */
export const VERIFY_IT = 'run "bulkhead abi verify" on it, or ask its author';

/**
 * The text of whatever was thrown. Sandbox has the same, but the modules of the
 * child import nothing by a bare name: it starts without a configuration.
 *
 * @param thrown What a `catch` received.
 * @returns The text, as it came.
 */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
