import type { Worker } from "@bulkhead/worker";

/**
 * The first Ctrl-C interrupts the turn, the second ends the session, and so does
 * every other signal that asks us to end.
 *
 * @param worker The session.
 * @param told Told what a Ctrl-C does.
 * @returns A function that stops listening.
 */
export function endOnSignals(
  worker: Pick<Worker, "state" | "end" | "interrupt">,
  told: (line: string) => void,
): () => void {
  let interrupted = false;
  const onInterrupt = (): void => {
    if (interrupted || worker.state === "idle") return void worker.end();
    interrupted = true;
    told("interrupting the turn; once more ends the session");
    void worker.interrupt();
  };
  const onEnd = (): void => void worker.end();
  Deno.addSignalListener("SIGINT", onInterrupt);
  Deno.addSignalListener("SIGTERM", onEnd);
  Deno.addSignalListener("SIGHUP", onEnd);
  return () => {
    Deno.removeSignalListener("SIGINT", onInterrupt);
    Deno.removeSignalListener("SIGTERM", onEnd);
    Deno.removeSignalListener("SIGHUP", onEnd);
  };
}
