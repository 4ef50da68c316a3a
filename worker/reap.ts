/**
 * Clearing away: what killed workers have left, and those that have ended or rest for too long.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { connect } from "./client.ts";
import {
  askWorker,
  type FleetEntry,
  type FleetOptions,
  hasEnded,
  listWorkers,
  liveAgent,
  rowsOf,
  WORKER_ANSWERS_MS,
} from "./fleet.ts";
import { readClaim } from "./store/claim_file.ts";
import { isClaimLive, releaseClaim } from "./store/claims.ts";
import { appendEvent } from "./store/events.ts";
import { workerFiles, type WorkerHome, workerHome } from "./store/home.ts";
import { endProcess, processInfo } from "./store/processes.ts";
import { findRow, updateRegistry } from "./store/registry.ts";
import { readState, updateState, type WorkerState } from "./store/state.ts";

/** What {@linkcode recoverWorkers} found of one dead worker. */
export interface RecoveredWorker {
  /** The worker. */
  readonly shortId: string;
  /** Pid of an agent that had outlived its worker and was ended. */
  readonly endedAgent: number | null;
  /** Whether a stale socket was removed. */
  readonly removedSocket: boolean;
  /** Whether its claim was let go. */
  readonly releasedClaim: boolean;
}

/**
 * Puts in order what killed workers have left: ends an agent that outlived its worker, removes the
 * stale socket, marks row and state as orphaned, lets the dead claim go. Live workers, those that
 * do not answer too, are not touched.
 *
 * @param home The home, or its path.
 * @param options How long to wait for each worker.
 * @returns What was found of each.
 */
export async function recoverWorkers(
  home: WorkerHome | string,
  options: FleetOptions = {},
): Promise<RecoveredWorker[]> {
  const places = typeof home === "string" ? workerHome(home) : home;
  const recovered: RecoveredWorker[] = [];
  for (const entry of await listWorkers(places, options)) {
    if (entry.state !== "orphaned") continue;
    const found = await recover(places, entry);
    if (found !== undefined) recovered.push(found);
  }
  return recovered;
}

async function recover(
  home: WorkerHome,
  entry: FleetEntry,
): Promise<RecoveredWorker | undefined> {
  const { shortId } = entry;
  const state = await readState(home, shortId).catch(() => undefined);
  const agent = liveAgent(state, await processInfo());
  // First the writer, then what says that there is none.
  const endedAgent = agent !== undefined && await endProcess(agent)
    ? agent.pid
    : null;
  const removedSocket = await removeStale(entry.socketPath);
  const marked = await markOrphaned(home, shortId, state);
  const releasedClaim = await releaseDead(entry);
  if (endedAgent === null && !removedSocket && !marked && !releasedClaim) {
    return undefined;
  }
  await appendEvent(home, {
    type: "worker_recovered",
    source: "fleet",
    data: {
      short_id: shortId,
      ended_agent: endedAgent,
      removed_socket: removedSocket,
      released_claim: releasedClaim,
    },
  });
  return { shortId, endedAgent, removedSocket, releasedClaim };
}

/** Removes a socket that nobody listens on; one that was bound meanwhile stays. */
async function removeStale(path: string): Promise<boolean> {
  if (await askWorker(path, WORKER_ANSWERS_MS) !== "refused") return false;
  return await Deno.remove(path).then(() => true, () => false);
}

async function markOrphaned(
  home: WorkerHome,
  shortId: string,
  state: WorkerState | undefined,
): Promise<boolean> {
  const stateIsOff = state !== undefined &&
    (state.ready || !["orphaned", "failed"].includes(state.status));
  if (stateIsOff) {
    await updateState(home, shortId, { status: "orphaned", ready: false });
  }
  const row = findRow(await rowsOf(home), shortId);
  const rowIsOff = row !== undefined && row.status !== "orphaned";
  if (rowIsOff) {
    await updateRegistry(home, (rows) => {
      const found = findRow(rows, shortId);
      if (found !== undefined) found.status = "orphaned";
    });
  }
  return stateIsOff || rowIsOff;
}

async function releaseDead(entry: FleetEntry): Promise<boolean> {
  if (entry.sessionId === null) return false;
  const key = `session:${entry.sessionId}`;
  const holder = `stream:${entry.shortId}`;
  const claim = await readClaim(key).catch(() => undefined);
  if (claim === undefined || claim.holder !== holder) return false;
  if (await isClaimLive(claim)) return false;
  return await releaseClaim(key, holder, { pid: claim.pid }) === "released";
}

/** Options of {@linkcode reapWorkers}. */
export interface ReapOptions extends FleetOptions {
  /**
   * Stop workers at rest whose agent has been silent for so long.
   *
   * @default none are stopped
   */
  readonly idleMs?: number;
}

/** What {@linkcode reapWorkers} did. */
export interface ReapReport {
  /** Workers that were at rest for too long and were stopped. */
  readonly stopped: string[];
  /** Workers whose remains were put in order. */
  readonly recovered: RecoveredWorker[];
  /** Workers whose row and directory were moved away. */
  readonly removed: string[];
}

/**
 * Clears away workers that have ended: recovers the dead ones, stops those at rest for too long if
 * asked to, drops their rows and moves their directories under `.orphaned`.
 *
 * @param home The home, or its path.
 * @param options Whom to stop.
 * @returns What was done.
 */
export async function reapWorkers(
  home: WorkerHome | string,
  options: ReapOptions = {},
): Promise<ReapReport> {
  const places = typeof home === "string" ? workerHome(home) : home;
  const stopped: string[] = [];
  const { idleMs } = options;
  if (idleMs !== undefined) {
    for (const entry of await listWorkers(places, options)) {
      const rests = entry.state === "idle" && entry.openAsks === 0 &&
        entry.pendingTurns === 0;
      if (!rests || (entry.silentMs ?? 0) < idleMs) continue;
      using client = await connect(entry.socketPath);
      await client.shutdown();
      await untilEnded(places, entry.shortId, options);
      stopped.push(entry.shortId);
    }
  }
  const recovered = await recoverWorkers(places, options);
  const removed: string[] = [];
  for (const entry of await listWorkers(places, options)) {
    if (entry.state !== "exited" && entry.state !== "orphaned") continue;
    await drop(places, entry.shortId);
    removed.push(entry.shortId);
  }
  return { stopped, recovered, removed };
}

/** A worker answers once its agent is gone; its last writes follow. */
async function untilEnded(
  home: WorkerHome,
  shortId: string,
  options: FleetOptions,
): Promise<void> {
  const deadline = performance.now() + (options.timeoutMs ?? WORKER_ANSWERS_MS);
  while (performance.now() < deadline) {
    const state = await readState(home, shortId).catch(() => undefined);
    const socket = await Deno.lstat(workerFiles(home, shortId).socket).catch(
      () => undefined,
    );
    if (hasEnded(state) && socket === undefined) return;
    await pause(10);
  }
}

async function drop(home: WorkerHome, shortId: string): Promise<void> {
  if (findRow(await rowsOf(home), shortId) !== undefined) {
    await updateRegistry(home, (rows) => {
      const at = rows.findIndex((row) => row.short_id === shortId);
      if (at >= 0) rows.splice(at, 1);
    });
  }
  await Deno.mkdir(home.orphaned, { recursive: true, mode: 0o700 });
  const { dir } = workerFiles(home, shortId);
  await Deno.rename(dir, `${home.orphaned}/${shortId}.${Date.now()}`).catch(
    (error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    },
  );
}
