/**
 * The options of a native plugin.
 *
 * @module
 */

import type { IsolationLevel, IsolationPolicy } from "@bulkhead/sandbox";
import type { HostActions } from "./actions.ts";
import type { HostContext, NativeToolResult } from "./codec.ts";
import type { EngineLimits } from "./engine_types.ts";
import type { AbiError } from "./errors.ts";

/** When a crashed plugin is started again. */
export interface RestartPolicy {
  /**
   * The pause before each restart in a row; the last one repeats.
   *
   * @default {[200, 1000, 5000]}
   */
  backoffMs: readonly number[];
  /**
   * So many restarts within `windowMs` are made; the crash after them disables the plugin.
   *
   * @default {3}
   */
  maxRestarts: number;
  /**
   * The window in milliseconds.
   *
   * @default {60000}
   */
  windowMs: number;
}

/** Options of {@linkcode loadNativePlugin}. */
export interface NativePluginOptions {
  /**
   * Where the plugin runs: `isolated` in a child process of its own, `process` inside this one. In this process a call
   * is faster by some 100 µs, and a fault, an `exit` or a bad constructor of the plugin ends your program; end it with
   * `Deno.exit`, since threads of the plugin may live on.
   *
   * @default {"isolated"}
   */
  mode?: "isolated" | "process";
  /**
   * The plugin's name.
   *
   * @default the library's file name without extension
   */
  name?: string;
  /** The content the library must have: `sha256:…`. */
  sha256?: string;
  /**
   * What the child may touch besides its own files. Nothing by default: no network, no files but the system's.
   *
   * @default {}
   */
  permissions?: IsolationPolicy;
  /**
   * How much confinement is asked for.
   *
   * @default {"required"}
   */
  isolation?: IsolationLevel;
  /**
   * Environment variables for the child on top of the short list every child gets.
   *
   * @default {}
   */
  env?: Readonly<Record<string, string>>;
  /**
   * The child's working directory.
   *
   * @default the library's directory
   */
  cwd?: string;
  /**
   * What tools are told about where they run, under `__rpi`; `cwd` of a call wins.
   *
   * @default `cwd`, else the current directory; no session
   */
  context?: HostContext;
  /** The runtime actions this host has; the headless default answers or refuses the others. */
  actions?: Partial<HostActions>;
  /** Limits that differ from the defaults. */
  limits?: Partial<EngineLimits>;
  /** When a crashed plugin is started again. */
  restart?: Partial<RestartPolicy>;
  /**
   * How long a plugin may take from start to registered, in milliseconds.
   *
   * @default {10000}
   */
  startTimeoutMs?: number;
  /** Gets each line a plugin prints, with its name in front, at most 100 a second. */
  onOutput?: (line: string) => void;
  /** Learns of each crash. */
  onCrash?: (error: AbiError) => void;
  /**
   * Count every string given to the plugin. Slow; `verify` uses it.
   *
   * @default {false}
   */
  accounting?: boolean;
}

/** Options of {@linkcode NativePlugin.callTool}. */
export interface CallToolOptions {
  /** Stops the call: cancel, a grace, then the caller is answered whatever the tool does. */
  signal?: AbortSignal;
  /** A deadline in milliseconds; none by default. */
  timeoutMs?: number;
  /** The caller's id of the call. */
  toolCallId?: string;
  /** The working directory the tool is told under `__rpi`. */
  cwd?: string;
  /** Gets progress: what the plugin sends by callback before what it returns from the same poll. */
  onUpdate?: (partial: NativeToolResult) => void;
}

/** Options of the handlers that take text and give text. */
export interface InvokeOptions {
  /** A deadline in milliseconds. */
  timeoutMs?: number;
}
