/**
 * The brake on a session that dies at once each time: the wait doubles, then it is refused for a while.
 *
 * What it goes by stands in the state file and outlives the worker, so it counts from the boot of the machine and not
 * by the clock of the day, which may jump.
 *
 * @module
 */

import { thisMachine } from "./store/machine.ts";
import { uptimeMs } from "./store/processes.ts";
import type { WorkerState, WorkerStateChange } from "./store/state.ts";

/** A death this soon after the start, without a finished turn, counts as one in a row. */
export const EARLY_DEATH_MS = 10_000;

/** So many early deaths in a row, and the session is not started again for a while. */
const MAX_DEATHS = 5;

/** How long that while is. */
const BRAKE_MS = 600_000;

/** What the brake says to a start. */
export interface BrakeVerdict {
  /** How many early deaths in a row there have been. */
  readonly deaths: number;
  /** How long to wait before the start. */
  readonly waitMs: number;
  /** True when it may not be started at all. */
  readonly refused: boolean;
}

/**
 * Asks the brake.
 *
 * @param before How the last worker of that name was left.
 * @returns Whether and when it may be started.
 */
export async function askBrake(before: WorkerState): Promise<BrakeVerdict> {
  const deaths = before.restart_count;
  const since = await sinceDeath(before);
  if (deaths <= 0 || since === undefined || since >= BRAKE_MS) {
    return { deaths: 0, waitMs: 0, refused: false };
  }
  const wait = deaths < 2 ? 0 : 500 * 2 ** (deaths - 1) - since;
  return { deaths, waitMs: Math.max(0, wait), refused: deaths >= MAX_DEATHS };
}

/**
 * What the state file says after an early death.
 *
 * @param deaths How many in a row it makes.
 * @param why What the agent said last.
 * @returns The change.
 */
export async function earlyDeath(
  deaths: number,
  why: string,
): Promise<WorkerStateChange> {
  const { bootId } = await thisMachine();
  return {
    status: "failed",
    ready: false,
    restart_count: deaths,
    last_restart_at: new Date().toISOString(),
    last_death_boot: bootId ?? null,
    last_death_uptime_ms: Math.round(await uptimeMs()),
    last_error: why,
  };
}

/** Milliseconds since the last early death; `undefined` when that cannot be told. */
async function sinceDeath(before: WorkerState): Promise<number | undefined> {
  const { last_death_boot: boot, last_death_uptime_ms: at } = before;
  const { bootId } = await thisMachine();
  if (bootId !== undefined && boot === bootId && typeof at === "number") {
    return Math.max(0, await uptimeMs() - at);
  }
  const since = Date.now() - Date.parse(before.last_restart_at ?? "");
  // A clock that was set back reads as long ago.
  return since >= 0 ? since : undefined;
}
