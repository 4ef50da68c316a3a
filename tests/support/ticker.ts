/**
 * An agent whose last breath can be dated, for tests of who may write when.
 *
 * @module
 */

import { assert } from "@std/assert";
import type { AgentScript } from "@bulkhead/worker";
import { eventually } from "./eventually.ts";

/**
 * The lease of tests that wait for its end. The margin is what a busy machine may
 * take to end an agent.
 */
export const SHORT_LEASE = {
  leaseMs: 4_000,
  marginMs: 2_000,
  stopMs: 2_000,
};

/** Many times the pause between two of its words. */
const SILENCE_MS = 300;

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

/**
 * Waits until it works.
 *
 * @param workspace Where it works.
 */
export async function ticks(workspace: string): Promise<void> {
  await eventually(
    "the agent works",
    async () => await lastTick(workspace) > 0,
  );
}

/**
 * Asserts that it has written nothing since another may write: a moment is waited
 * for what it might still say.
 *
 * @param workspace Where it works.
 * @param since When the other one had the right, in milliseconds since the epoch.
 * @returns When it wrote last.
 */
export async function assertSilentSince(
  workspace: string,
  since: number,
): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
  const last = await lastTick(workspace);
  assert(last < since, `it wrote ${last - since} ms after another could begin`);
  return last;
}
