/**
 * A session that was queued, as it is stored.
 *
 * @module
 */
import { objectOf } from "../client_answers.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { type JobOptions, jobOptionsOf } from "./job_options.ts";
import { FLEET_SCHEMA } from "./names.ts";

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

/** A job as it is stored. */
export function encodeJob(job: JobRecord): string {
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

/** A stored job; `undefined` for what is none, and for a newer format. */
export function decodeJob(text: string): JobRecord | undefined {
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

/** @throws {RangeError} When no host could have such a workspace. */
export function checkWorkspace(workspace: FleetWorkspace): void {
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
