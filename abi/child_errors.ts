/**
 * What is said when a plugin's process fails, hangs or dies.
 *
 * @module
 */

import { exitSignal, type IsolationBackend } from "@bulkhead/sandbox";
import { AbiError, reasonOf, VERIFY_IT } from "./errors.ts";
import { type Head, PROTOCOL } from "./rpc.ts";
import { readCode } from "./wire.ts";

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

/** The plugin was closed by its host. */
export function closedError(plugin: string): AbiError {
  return new AbiError(
    "closed",
    `Cannot call plugin "${plugin}": it was closed`,
    { plugin },
  );
}

/** It was not registered in time. */
export function lateStartError(
  plugin: string,
  where: string,
  ms: number,
): AbiError {
  return new AbiError(
    "start",
    `Cannot load plugin "${plugin}": ${where} within ${ms} ms`,
    { plugin, fix: "look at what its entry point and its constructors do" },
  );
}

/** Host and child are of different versions. */
export function protocolError(plugin: string, theirs: unknown): AbiError {
  return new AbiError(
    "start",
    `Cannot load plugin "${plugin}": its process speaks protocol ${theirs}, not ${PROTOCOL}`,
    { plugin, fix: "update @bulkhead/abi as a whole" },
  );
}

/** More than is passed on. */
export function inputTooLong(
  plugin: string,
  bytes: number,
  max: number,
): AbiError {
  return new AbiError(
    "protocol",
    `Cannot call plugin "${plugin}": the input has ${bytes} bytes, at most ${max} are passed on`,
    { plugin },
  );
}

/** What came over the socket was no frame. */
export function framingError(plugin: string, error: unknown): AbiError {
  const why = reasonOf(error);
  return new AbiError("protocol", `Plugin "${plugin}" was stopped: ${why}`, {
    plugin,
    fix: VERIFY_IT,
  });
}

/** The socket was closed while the process lives on. */
export function disconnectedError(plugin: string): AbiError {
  return new AbiError(
    "crashed",
    `Plugin "${plugin}" was stopped: it closed its connection to the host`,
    { plugin, fix: VERIFY_IT },
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
  loading = false,
): AbiError {
  // Inside a PID namespace the first process reports a signal as 128 + n.
  const ended = signal ??
    (isolation === "bubblewrap" ? exitSignal(code ?? 0) : undefined);
  const when = loading ? " while it was loaded" : "";
  const what = ended !== undefined
    ? `Plugin "${name}" crashed (${ended})${when}`
    : `Plugin "${name}" ended its process unexpectedly (exit code ${code})${when}`;
  const said = lastWords(tail, ended);
  return new AbiError("crashed", said === "" ? what : `${what}: ${said}`, {
    plugin: name,
    fix: VERIFY_IT,
    ...ended === undefined ? {} : { signal: ended },
    ...ended === undefined && code !== null ? { exitCode: code } : {},
    stderrTail: tail,
  });
}

/**
 * What a dying process said of it.
 *
 * @param tail The end of what it wrote to stderr.
 * @param signal The signal that ended it.
 * @returns The message of the panic that made it abort or leave, else the last line that is no back trace.
 */
export function lastWords(tail: string, signal: string | undefined): string {
  const lines = tail.split("\n");
  const panics = signal === undefined || signal === "SIGABRT"
    ? [...lines.entries()].reverse()
    : [];
  for (const [i, line] of panics) {
    const [, where] = /^thread .* panicked at (.*?):?$/.exec(line) ?? [];
    const message = lines[i + 1] ?? "";
    // That one follows from another panic, which is the one to tell of.
    if (where === undefined || message.includes("cannot unwind")) continue;
    return `panicked at ${where}: ${message}`.slice(0, 200);
  }
  const last = lines.findLast((line) => line !== "" && !NOISE.test(line));
  return (last ?? "").slice(0, 200);
}

/** Lines of a back trace, and the hint how to get one. */
const NOISE =
  /^note: |^stack backtrace:|^=+ |^#|^\s+\S+(\(\+0x|: )|^\s+at |^thread caused non-unwinding/;
