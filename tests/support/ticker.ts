/**
 * An agent whose last breath can be dated.
 *
 * @module
 */

import type { AgentScript } from "@bulkhead/worker";

/** Writes the time into a file all the while, without asking. */
export const TICKER: AgentScript = {
  schema: 1,
  turns: [{
    steps: [{
      tool: "Bash",
      input: {
        command: "while :; do date +%s%3N >> ticks; sleep 0.02; done",
        timeout: 120_000,
      },
    }, { say: "never" }],
  }],
};

/**
 * When it wrote last.
 *
 * @param workspace Where it works.
 * @returns Milliseconds since the epoch; zero before its first word.
 */
export async function lastTick(workspace: string): Promise<number> {
  const text = await Deno.readTextFile(`${workspace}/ticks`).catch(() => "");
  return Number(text.trim().split("\n").at(-1) ?? 0);
}
