// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What the buckets hold, checked when it is read.
 *
 * @module
 */
import type { OpenAsk } from "../asks.ts";
import { asksOf } from "../client_answers.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { FLEET_SCHEMA } from "./names.ts";

/** A session as it stands in the fleet. */
export interface FleetSessionRecord {
  /** Format. */
  schema: number;
  /** `<host>.<short id>`. */
  id: string;
  /** The host. */
  host: string;
  /** The run of the host's program. */
  instance: string;
  /** The worker's short id there. */
  short_id: string;
  /** What people call it. */
  name: string | null;
  /** The life of the worker. */
  epoch: string;
  /** Grows with every owner of the session. */
  fence: number;
  /** The session's own id. */
  session_id: string;
  /** `running`, `requires_action`, `idle`, `dead`, `starting`, `ended`. */
  state: string;
  /** The agent. */
  agent: string | null;
  /** Where it works. */
  cwd: string | null;
  /** Where a copy of the workspace comes from. */
  workspace: string | null;
  /** Cost so far. */
  cost_usd: number;
  /** Open questions. */
  open_asks: number;
  /** Turns that are not finished. */
  pending_turns: number;
  /** Whether a turn has been silent for too long. */
  stalled: boolean;
  /** Frames that the server has. */
  next: number;
  /** When it began, in ms. */
  started_at: number;
  /** When this was written, in ms. */
  updated_at: number;
}

/** A question that waits somewhere in the fleet. */
export interface FleetAsk {
  /** The session. */
  readonly session: string;
  /** The question. */
  readonly ask: OpenAsk;
}

/** A machine of the fleet. */
export interface FleetHostRecord {
  /** Format. */
  schema: number;
  /** The host. */
  host: string;
  /** The run of its program. */
  instance: string;
  /** Sessions that it may run. */
  slots: number;
  /** Sessions that it runs. */
  sessions: string[];
  /** Memory that it offers, in bytes. */
  memory_bytes: number | null;
  /** Load of the last minute. */
  load: number | null;
  /** Its clock when it wrote this, in ms. */
  clock: number;
}

/** The fields of a record that we know the format of. */
function fieldsOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // A newer writer's record is not guessed at.
    return isJsonObject(value) && typeof value.schema === "number" &&
        value.schema <= FLEET_SCHEMA
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** A session's record, or `undefined` for what is none. */
export function sessionRecord(text: string): FleetSessionRecord | undefined {
  const f = fieldsOf(text);
  if (
    f === undefined || typeof f.id !== "string" || typeof f.epoch !== "string"
  ) return undefined;
  const word = (v: unknown) => typeof v === "string" ? v : null;
  const count = (v: unknown) =>
    typeof v === "number" && Number.isFinite(v) ? v : 0;
  return {
    schema: count(f.schema),
    id: f.id,
    host: word(f.host) ?? "",
    instance: word(f.instance) ?? "",
    short_id: word(f.short_id) ?? "",
    name: word(f.name),
    epoch: f.epoch,
    fence: count(f.fence),
    session_id: word(f.session_id) ?? "",
    state: word(f.state) ?? "dead",
    agent: word(f.agent),
    cwd: word(f.cwd),
    workspace: word(f.workspace),
    cost_usd: count(f.cost_usd),
    open_asks: count(f.open_asks),
    pending_turns: count(f.pending_turns),
    stalled: f.stalled === true,
    next: count(f.next),
    started_at: count(f.started_at),
    updated_at: count(f.updated_at),
  };
}

/** A host's record, or `undefined` for what is none. */
export function hostRecord(text: string): FleetHostRecord | undefined {
  const f = fieldsOf(text);
  if (f === undefined || typeof f.host !== "string") return undefined;
  const count = (v: unknown) =>
    typeof v === "number" && Number.isFinite(v) ? v : null;
  return {
    schema: count(f.schema) ?? 0,
    host: f.host,
    instance: typeof f.instance === "string" ? f.instance : "",
    slots: count(f.slots) ?? 0,
    sessions: Array.isArray(f.sessions)
      ? f.sessions.filter((s) => typeof s === "string")
      : [],
    memory_bytes: count(f.memory_bytes),
    load: count(f.load),
    clock: count(f.clock) ?? 0,
  };
}

/** A question's record, or `undefined` for what is none. */
export function askRecord(text: string): FleetAsk | undefined {
  const f = fieldsOf(text);
  if (f === undefined || typeof f.session !== "string") return undefined;
  const [ask] = asksOf([f.ask]);
  return ask === undefined ? undefined : { session: f.session, ask };
}
