/** The signals that ask a program to end, with the exit code of one that did. */
const ENDING: readonly (readonly [Deno.Signal, number])[] =
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]];

/** What became of work that may be interrupted. */
export interface Interruptible<T> {
  /** What the work gave. */
  value: T;
  /** The exit code to end with: 130 for Ctrl-C; nothing when nobody interrupted. */
  exitCode?: number;
}

/**
 * Does work that Ctrl-C, TERM and a closed terminal abort: what it started is ended
 * before this program is, instead of being left behind.
 *
 * @param work Ends soon once its signal is aborted.
 * @returns What the work gave, and the exit code of an interruption.
 *
 * @example Usage
 * ```ts
 * import { interruptible } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const { value } = await interruptible((signal) =>
 *   Promise.resolve(signal.aborted)
 * );
 * assertEquals(value, false);
 * ```
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Interruptible<T>> {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const listeners = ENDING.map(([signal, code]) => {
    const stop = (): void => {
      exitCode ??= code;
      controller.abort();
    };
    Deno.addSignalListener(signal, stop);
    return () => Deno.removeSignalListener(signal, stop);
  });
  try {
    const value = await work(controller.signal);
    return exitCode === undefined ? { value } : { value, exitCode };
  } finally {
    for (const remove of listeners) remove();
  }
}
