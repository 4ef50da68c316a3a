/**
 * What a verification is given and what it says.
 *
 * @module
 */

import type { NativePluginOptions } from "../plugin_options.ts";
import type { LibraryReport } from "../preflight.ts";

/** Options of {@linkcode verifyLibrary}. */
export interface VerifyOptions extends
  Pick<
    NativePluginOptions,
    "isolation" | "permissions" | "env" | "onOutput"
  > {
  /** The tool that is called many times; by default the first one that answers a sample call quickly. */
  tool?: string;
  /** Arguments for that tool as JSON text; by default made from its schema. */
  args?: string;
  /**
   * How many times.
   *
   * @default {10000}
   */
  calls?: number;
  /**
   * How long one call may take, in milliseconds.
   *
   * @default {3000}
   */
  callTimeoutMs?: number;
}

/** One thing that was found. */
export interface Finding {
  /** `error`: breaks the ABI; `warning`: works but costs someone; `info`: worth knowing. */
  level: "error" | "warning" | "info";
  /** Which check found it. */
  check: string;
  /** What was found. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** One check and how it went. */
export interface CheckResult {
  /** Its name. */
  name: string;
  /** How it went. */
  status: "passed" | "failed" | "skipped";
  /** What it did or why it was skipped. */
  detail: string;
}

/** What the verification found. */
export interface VerifyReport {
  /** True when there is no finding of level `error`. */
  ok: boolean;
  /** What the library is; absent when it was refused before loading. */
  library?: LibraryReport;
  /** What it registered: counts. */
  registered?: Record<string, number>;
  /** The checks, in order. */
  checks: CheckResult[];
  /** The findings. */
  findings: Finding[];
  /** What was measured. */
  figures: Record<string, number>;
}
