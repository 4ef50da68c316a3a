/**
 * What is said when a plugin's process fails, hangs or dies.
 *
 * @module
 */

import type { IsolationBackend } from "@bulkhead/sandbox";
import { AbiError } from "./errors.ts";
import type { Head } from "./rpc.ts";
import { readCode, signalOf } from "./wire.ts";

/** An error that happened in the child. */
export function remoteError(name: string, head: Head, tail: string): AbiError {
  return new AbiError(
    readCode(head.code),
    typeof head.message === "string" ? head.message : `Plugin "${name}" failed`,
    {
      plugin: name,
      ...typeof head.fix === "string" ? { fix: head.fix } : {},
      ...typeof head.rc === "number" ? { exitCode: head.rc } : {},
      stderrTail: tail,
    },
  );
}

/** A function of the plugin did not come back. */
export function wedgedError(
  name: string,
  what: string,
  tail: string,
): AbiError {
  return new AbiError(
    "wedged",
    `Plugin "${name}" was stopped: ${what} did not come back`,
    {
      plugin: name,
      fix: "ask its author to keep poll short and to notice a cancel",
      stderrTail: tail,
    },
  );
}

/** The process ended by itself. */
export function crashError(
  name: string,
  { code, signal }: { code: number | null; signal: string | null },
  isolation: IsolationBackend,
  tail: string,
): AbiError {
  // Inside a PID namespace the first process reports a signal as 128 + n.
  const ended = signal ??
    (isolation === "bubblewrap" ? signalOf(code ?? 0) : undefined);
  const what = ended !== undefined
    ? `Plugin "${name}" crashed (${ended})`
    : `Plugin "${name}" ended its process unexpectedly (exit code ${code})`;
  const last = (tail.split("\n").at(-1) ?? "").slice(0, 200);
  return new AbiError("crashed", tail === "" ? what : `${what}: ${last}`, {
    plugin: name,
    fix: `run "bulkhead abi verify" on it, or ask its author`,
    ...ended === undefined ? {} : { signal: ended },
    ...ended === undefined && code !== null ? { exitCode: code } : {},
    stderrTail: tail,
  });
}
