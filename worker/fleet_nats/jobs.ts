/**
 * Sessions that wait for a machine, and what became of each.
 *
 * @module
 */
import { pause, reasonOf } from "@bulkhead/sandbox";
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import {
  checkWorkspace,
  decodeJob,
  encodeJob,
  type FleetJob,
  type JobRecord,
  type JobState,
} from "./job_record.ts";
import { queueSubject } from "./names.ts";
import { insistently, untilAnswered } from "./provision.ts";
import { valuesOf } from "./values.ts";

/** A job that is over may be queued again, to go on with its session. */
const OVER: readonly JobState[] = ["ended", "orphaned", "unplaceable"];

/** How often the end of a job is tried to be written, each time after a longer pause. */
const SETTLE_TRIES = 10;
/** What each pause is longer by. */
const SETTLE_MS = 500;

interface Stored {
  record: JobRecord;
  revision: number;
}

/**
 * Queues a session for whichever host has room. Queueing the same session again does nothing.
 *
 * @param fleet The connection.
 * @param job The session.
 * @throws {FleetError} When the queue does not take it.
 */
export async function queueSession(fleet: Fleet, job: FleetJob): Promise<void> {
  checkWorkspace(job.workspace);
  const fresh = (moves: number): JobRecord => ({
    ...job,
    state: "queued",
    host: null,
    turn: crypto.randomUUID(),
    agentSession: null,
    moves,
    reason: null,
  });
  const bucket = await fleet.bucket(fleet.names.jobs);
  const record = fresh(0);
  try {
    await untilAnswered(() => bucket.create(job.sessionId, encodeJob(record)));
  } catch (error) {
    const found = await readJob(fleet, job.sessionId);
    if (found === undefined) throw queueError(job, error);
    if (job.resume !== true || !OVER.includes(found.state)) return; // queued before
    const again = fresh(found.moves + 1);
    const changed = await changeJob(
      fleet,
      job.sessionId,
      (now) => now.state === found.state ? again : undefined,
    );
    if (changed !== undefined) await putInQueue(fleet, changed);
    return;
  }
  await putInQueue(fleet, record);
}

/** Puts a job into the queue; the same move of it only once. */
export async function putInQueue(fleet: Fleet, job: JobRecord): Promise<void> {
  try {
    await untilAnswered(() =>
      fleet.js.publish(queueSubject(fleet.names.prefix), job.sessionId, {
        msgID: `${job.sessionId}:${job.moves}`,
      })
    );
  } catch (error) {
    throw queueError(job, error);
  }
}

function queueError(job: FleetJob, error: unknown): FleetError {
  return new FleetError(
    "stream_lost",
    `Cannot queue the session "${job.sessionId}": ${reasonOf(error)}`,
    "check that the server has room and that this user may queue",
    error,
  );
}

/** A job as it stands; `undefined` when there is none. */
export async function readJob(
  fleet: Fleet,
  sessionId: string,
): Promise<JobRecord | undefined> {
  return (await stored(fleet, sessionId))?.record;
}

/** All jobs. */
export async function listJobs(fleet: Fleet): Promise<JobRecord[]> {
  return await valuesOf(await fleet.bucket(fleet.names.jobs), decodeJob);
}

/**
 * Changes a job, unless somebody else did meanwhile.
 *
 * @returns The new record; `undefined` when `change` declined or another was faster.
 */
export async function changeJob(
  fleet: Fleet,
  sessionId: string,
  change: (job: JobRecord) => Partial<JobRecord> | undefined,
): Promise<JobRecord | undefined> {
  const found = await stored(fleet, sessionId);
  if (found === undefined) return undefined;
  const changes = change(found.record);
  if (changes === undefined) return undefined;
  const record = { ...found.record, ...changes };
  const bucket = await fleet.bucket(fleet.names.jobs);
  try {
    await bucket.update(sessionId, encodeJob(record), found.revision);
    return record;
  } catch (error) {
    if (/wrong last sequence/i.test(String(error))) return undefined;
    throw error;
  }
}

/**
 * Marks the first turn of a job as given.
 *
 * @returns False when it was given before.
 */
export async function markDelivered(
  fleet: Fleet,
  sessionId: string,
): Promise<boolean> {
  for (;;) {
    const marked = await changeJob(
      fleet,
      sessionId,
      (job) => job.state === "delivered" ? undefined : { state: "delivered" },
    );
    if (marked !== undefined) return true;
    const now = await readJob(fleet, sessionId);
    if (now === undefined || now.state === "delivered") return false;
  }
}

/**
 * Changes a job whatever others do to it meanwhile, over a link that comes and goes.
 *
 * @throws when the server takes nothing for a while.
 */
export async function settleJob(
  fleet: Fleet,
  sessionId: string,
  changes: Partial<JobRecord>,
): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      if (await changeJob(fleet, sessionId, () => changes)) return;
      if (await readJob(fleet, sessionId) === undefined) return;
    } catch (error) {
      if (tries >= SETTLE_TRIES || fleet.nc.isClosed()) throw error;
      await pause(tries * SETTLE_MS);
    }
  }
}

async function stored(
  fleet: Fleet,
  sessionId: string,
): Promise<Stored | undefined> {
  const bucket = await fleet.bucket(fleet.names.jobs);
  const entry = await insistently(() => bucket.get(sessionId));
  if (entry === null || entry.operation !== "PUT") return undefined;
  const record = decodeJob(entry.string());
  return record === undefined
    ? undefined
    : { record, revision: entry.revision };
}
