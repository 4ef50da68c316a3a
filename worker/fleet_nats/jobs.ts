/**
 * Sessions that wait for a machine, and what became of each.
 *
 * @module
 */
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import { objectOf } from "../client_answers.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { type JobOptions, jobOptionsOf } from "./job_options.ts";
import { FLEET_SCHEMA, queueSubject } from "./names.ts";
import { pause } from "./pause.ts";
import { untilAnswered } from "./provision.ts";
import { valuesOf } from "./remote.ts";

/** Where a session works: a directory that hosts share, or a commit that they can fetch. */
export type FleetWorkspace =
  | {
    /** An absolute path; a host that has it may run the session. */
    readonly path: string;
  }
  | {
    /** `git+https://…#<40 hex digits>`, or `git+file:` or `git+ssh:`. */
    readonly git: string;
  };

/** A session to start somewhere. */
export interface FleetJob {
  /** The session's own id. */
  readonly sessionId: string;
  /** Which agent, for the host's `start`. */
  readonly agent: string;
  /** Where it works. */
  readonly workspace: FleetWorkspace;
  /** The first turn. */
  readonly prompt?: string;
  /** Memory that it wants, in bytes. */
  readonly memoryBytes?: number;
  /** What people call it. */
  readonly name?: string;
  /** The session ran before: go on with it. Its agent's record of it has to be reachable on the host. */
  readonly resume?: boolean;
  /** What it asks of its host. */
  readonly options?: JobOptions;
}

/** How a job stands. */
export type JobState =
  | "queued"
  | "placed"
  | "delivered"
  | "ended"
  | "orphaned"
  | "unplaceable";

/** A job with its fate. */
export interface JobRecord extends FleetJob {
  /** How it stands. */
  readonly state: JobState;
  /** Who has it. */
  readonly host: string | null;
  /** The id of its first turn: given once, so that it is not run twice. */
  readonly turn: string;
  /** The agent's own id of the session, for agents that name it themselves. */
  readonly agentSession: string | null;
  /** How often it was given to another host. */
  readonly moves: number;
  /** Why, for a job that found no host or lost it. */
  readonly reason: string | null;
}

const SETTLE_TRIES = 10;
const SETTLE_MS = 500;

/** A job that is over may be queued again, to go on with its session. */
const OVER: readonly JobState[] = ["ended", "orphaned", "unplaceable"];

interface Stored {
  record: JobRecord;
  revision: number;
}

/**
 * Queues a session for whichever host has room. Queueing the same session again does nothing.
 *
 * @param fleet The connection
 * @param job The session
 * @throws {FleetError} when the queue does not take it
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
    await untilAnswered(() => bucket.create(job.sessionId, encode(record)));
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
    `Cannot queue the session "${job.sessionId}": ${
      error instanceof Error ? error.message : error
    }`,
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
  return await valuesOf(await fleet.bucket(fleet.names.jobs), decode);
}

/**
 * Changes a job, unless somebody else did meanwhile.
 *
 * @returns The new record; `undefined` when `change` declined or another was faster
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
    await bucket.update(sessionId, encode(record), found.revision);
    return record;
  } catch (error) {
    if (/wrong last sequence/i.test(String(error))) return undefined;
    throw error;
  }
}

/**
 * Marks the first turn of a job as given.
 *
 * @returns False when it was given before
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
 * @throws when the server takes nothing for a while
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
  const entry = await (await fleet.bucket(fleet.names.jobs)).get(sessionId);
  if (entry === null || entry.operation !== "PUT") return undefined;
  const record = decode(entry.string());
  return record === undefined
    ? undefined
    : { record, revision: entry.revision };
}

function encode(job: JobRecord): string {
  return JSON.stringify({
    schema: FLEET_SCHEMA,
    session_id: job.sessionId,
    agent: job.agent,
    workspace: job.workspace,
    prompt: job.prompt ?? null,
    memory_bytes: job.memoryBytes ?? null,
    name: job.name ?? null,
    resume: job.resume === true,
    options: job.options ?? {},
    state: job.state,
    host: job.host,
    turn: job.turn,
    agent_session: job.agentSession,
    moves: job.moves,
    reason: job.reason,
  });
}

const STATES: readonly JobState[] = [
  "queued",
  "placed",
  "delivered",
  "ended",
  "orphaned",
  "unplaceable",
];

function decode(text: string): JobRecord | undefined {
  let f: JsonObject;
  try {
    f = objectOf(JSON.parse(text), "job");
  } catch {
    return undefined;
  }
  const state = STATES.find((known) => known === f.state);
  const workspace = workspaceOf(f.workspace);
  if (
    typeof f.schema !== "number" || f.schema > FLEET_SCHEMA ||
    state === undefined ||
    workspace === undefined || typeof f.session_id !== "string" ||
    typeof f.turn !== "string"
  ) return undefined;
  return {
    sessionId: f.session_id,
    agent: typeof f.agent === "string" ? f.agent : "claude",
    workspace,
    ...typeof f.prompt === "string" ? { prompt: f.prompt } : {},
    ...typeof f.memory_bytes === "number"
      ? { memoryBytes: f.memory_bytes }
      : {},
    ...typeof f.name === "string" ? { name: f.name } : {},
    resume: f.resume === true,
    options: jobOptionsOf(f.options),
    state,
    host: typeof f.host === "string" ? f.host : null,
    turn: f.turn,
    agentSession: typeof f.agent_session === "string" ? f.agent_session : null,
    moves: typeof f.moves === "number" ? f.moves : 0,
    reason: typeof f.reason === "string" ? f.reason : null,
  };
}

function workspaceOf(value: unknown): FleetWorkspace | undefined {
  if (!isJsonObject(value)) return undefined;
  if (typeof value.path === "string") {
    return { path: value.path };
  }
  if (typeof value.git === "string") {
    return { git: value.git };
  }
  return undefined;
}

/** The url and the commit of a git workspace. */
export const GIT_SOURCE =
  /^git\+((?:https|file|ssh):\/\/[^#\s]+)#([0-9a-f]{40})$/;

function checkWorkspace(workspace: FleetWorkspace): void {
  if ("path" in workspace) {
    if (workspace.path.startsWith("/")) return;
    throw new RangeError(
      `Cannot queue a session in "${workspace.path}": want an absolute path that hosts share`,
    );
  }
  if (GIT_SOURCE.test(workspace.git)) return;
  throw new RangeError(
    `Cannot queue a session in "${workspace.git}": want git+https://…#<commit of 40 hex digits>`,
  );
}
