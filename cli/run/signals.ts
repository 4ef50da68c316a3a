import type { Worker } from "@bulkhead/worker";

/** What listens for the signals that end a session. */
export interface EndingSignals extends Disposable {
  /** The exit code that a session which was ended by one has: 130 for Ctrl-C. */
  readonly exitCode: number | undefined;
}

/**
 * The first Ctrl-C interrupts the turn, the second ends the session, and so does
 * every other signal that asks us to end.
 *
 * @param worker The session.
 * @param told Told what a Ctrl-C does.
 * @returns What was heard; listens until it is disposed of.
 */
export function endOnSignals(
  worker: Pick<Worker, "state" | "end" | "interrupt">,
  told: (line: string) => void,
): EndingSignals {
  let interrupted = false;
  let exitCode: number | undefined;
  const onInterrupt = (): void => {
    exitCode ??= 130;
    if (interrupted || worker.state === "idle") return void worker.end();
    interrupted = true;
    told("interrupting the turn; once more ends the session");
    void worker.interrupt();
  };
  const onTerm = (): void => {
    exitCode ??= 143;
    void worker.end();
  };
  const onHangup = (): void => {
    exitCode ??= 129;
    void worker.end();
  };
  const listeners: [Deno.Signal, () => void][] = [
    ["SIGINT", onInterrupt],
    ["SIGTERM", onTerm],
    ["SIGHUP", onHangup],
  ];
  for (const [signal, listener] of listeners) {
    Deno.addSignalListener(signal, listener);
  }
  return {
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      for (const [signal, listener] of listeners) {
        Deno.removeSignalListener(signal, listener);
      }
    },
  };
}
