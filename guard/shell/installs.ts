/**
 * What package managers have in common.
 *
 * @module
 */
import type { Call } from "./call.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";

/** Installs that are denied wherever they would write. */
export const INSTALL = {
  rule: "package",
  label: "package install/add",
} as const;
/** Installs of Python packages, with words of their own. */
export const PIP = { rule: "package", label: "pip install" } as const;

/**
 * Runs a program that a package manager starts.
 *
 * @param call The manager's call.
 * @param argv The program and its arguments.
 * @returns Its output.
 */
export function runs(call: Call, argv: readonly string[]): Stream {
  if (argv.length === 0) return UNKNOWN_STREAM;
  return call.context.nested(() =>
    call.context.run.argv(argv, call.state.fork(), call.stdin)
  );
}
