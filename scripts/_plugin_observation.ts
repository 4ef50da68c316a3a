/**
 * What a step of a case brought to light, which expectations are checked against.
 *
 * @module
 */

import type { Json } from "./_plugin_case.ts";

/** What a step brought to light. Absent parts do not apply to the step. */
export interface Observation {
  /** `loaded`, `blocked`, `disabled` or `error`. */
  outcome?: string;
  tools?: ObservedTool[];
  plugins?: string[];
  /** Every hook, those that never fire included. */
  hooks?: { plugin: string; event: string; command: string }[];
  versions?: Record<string, string>;
  /** Warnings about plugins. */
  warnings?: string[];
  /** Everything a person gets to see, the warnings included. */
  lines?: string[];
  prompts?: string[];
  text?: string;
  isError?: boolean;
  result?: unknown;
  input?: Json;
  details?: {
    exitCode: number | null;
    signal: string | null;
    timedOut: boolean;
    aborted: boolean;
  };
  ok?: boolean;
  error?: string;
  blocked?: boolean;
  decision?: string | undefined;
  reason?: string;
  updatedInput?: unknown;
  additionalContext?: string[];
  failures?: string[];
  fired?: number;
  elapsedMs: number;
  blockedMs: number;
  rssGrowthMB: number;
  /** True when an OS sandbox is in force. */
  sandboxed: boolean;
  /** The workspace, by which left-over processes are found. */
  workspace: string;
  startedAt: number;
}

/** A tool as a model sees it. */
export interface ObservedTool {
  name: string;
  plugin: string;
  tool: string;
  description: string;
  inputSchema: unknown;
}

/** Checks one expectation; what does not hold, or undefined. */
export type Check = (
  wanted: Json,
  seen: Observation,
) => string | undefined | Promise<string | undefined>;
