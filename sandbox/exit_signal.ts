/** The signals of Linux by their numbers, but for those of real time. */
const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  10: "SIGUSR1",
  11: "SIGSEGV",
  12: "SIGUSR2",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  16: "SIGSTKFLT",
  24: "SIGXCPU",
  25: "SIGXFSZ",
  26: "SIGVTALRM",
  27: "SIGPROF",
  29: "SIGIO",
  30: "SIGPWR",
  31: "SIGSYS",
};

/**
 * The signal that an exit code stands for: a shell, and the first process of a PID
 * namespace, report the end of a child by a signal as 128 and its number.
 *
 * @param code An exit code.
 * @returns The signal's name; `undefined` for any other code.
 *
 * @example Usage
 * ```ts
 * import { exitSignal } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(exitSignal(139), "SIGSEGV");
 * assertEquals(exitSignal(1), undefined);
 * ```
 */
export function exitSignal(code: number): string | undefined {
  return SIGNALS[code - 128];
}
