import { processStart } from "./store/processes.ts";

/** How long an agent that outlived its worker gets to finish after TERM. */
const TERM_MS = 5000;

/** How long a killed process may take to disappear. */
const KILL_MS = 2000;

/**
 * Ends an agent that outlived its worker: two agents that write one session tear it apart. The process is told from a
 * later one of the same pid by its start.
 *
 * @param pid The recorded process
 * @param start When it was started, in clock ticks since boot
 * @param log Takes one line when there was one
 * @returns True when one was found; it is gone then
 */
export async function endSurvivor(
  pid: unknown,
  start: unknown,
  log?: (line: string) => void,
): Promise<boolean> {
  if (typeof pid !== "number" || typeof start !== "number" || pid <= 1) {
    return false;
  }
  const lives = async () => (await processStart(pid))?.ticks === start;
  if (!await lives()) return false;
  log?.(`Ending the agent that a former worker has left (pid ${pid})`);
  // TERM first: the agent cleans up its own tools, which have left its group.
  for (
    const [signal, wait] of [["SIGTERM", TERM_MS], [
      "SIGKILL",
      KILL_MS,
    ]] as const
  ) {
    for (const target of [-pid, pid]) {
      try {
        Deno.kill(target, signal);
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
      }
    }
    const deadline = performance.now() + wait;
    while (performance.now() < deadline) {
      if (!await lives()) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  throw new Deno.errors.Busy(
    `Cannot end the agent that a former worker has left (pid ${pid}): it does not die`,
  );
}
