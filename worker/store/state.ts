// deno-lint-ignore-file camelcase -- field names are the file's own
/**
 * `state.json`: how one worker stands, for those who cannot ask it.
 *
 * @module
 */
import {
  ensurePrivateDir,
  readJsonFile,
  reasonOf,
  withFileLock,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import { workerFiles, type WorkerHome, WRITE_LOCK_MS } from "./home.ts";
import { StoreError } from "./store_error.ts";

/** The words for how a worker stands. */
export type StatusWord =
  | "spawning"
  | "ready"
  | "idle"
  | "busy"
  | "live"
  | "restarting"
  | "orphaned"
  | "failed"
  | "exited"
  | "permanent_dead";

/** The file's fields; those we do not know are kept. */
export interface WorkerState {
  /** Format of the file; 1. */
  schema_version: number;
  /** The worker's short id. */
  short_id: string;
  /** How it stands. */
  status: StatusWord;
  /** Whether it takes turns. */
  ready: boolean;
  /** When the last turn came in. */
  last_message_at: string | null;
  /** The last reply. */
  last_reply: string | null;
  /** How often it was started again. */
  restart_count: number;
  /** When it was started again. */
  last_restart_at: string | null;
  /** Always null here. */
  pty: null;
  /** Further fields: the agent's pid and start, the worker's own. */
  [field: string]: unknown;
}

/** The fields that a change may set. */
export type WorkerStateChange = Partial<
  Omit<WorkerState, "schema_version" | "short_id">
>;

const SCHEMA = 1;
const STATUSES: readonly StatusWord[] = [
  "spawning",
  "ready",
  "idle",
  "busy",
  "live",
  "restarting",
  "orphaned",
  "failed",
  "exited",
  "permanent_dead",
];

/**
 * Reads a worker's state.
 *
 * @param home The home.
 * @param shortId The worker.
 * @returns The state; `undefined` when there is none.
 * @throws {StoreError} When the file is damaged.
 */
export async function readState(
  home: WorkerHome,
  shortId: string,
): Promise<WorkerState | undefined> {
  const path = workerFiles(home, shortId).state;
  let value: unknown;
  try {
    value = await readJsonFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new StoreError("damaged", path, reasonOf(error));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new StoreError("damaged", path, "it is no JSON object");
  }
  const fields: Record<string, unknown> = { ...value };
  const schema = fields.schema_version;
  if (typeof schema !== "number" || schema < 1) {
    throw new StoreError(
      "damaged",
      path,
      `its schema_version is ${JSON.stringify(schema)}`,
    );
  }
  const text = (name: string) =>
    typeof fields[name] === "string" ? String(fields[name]) : null;
  return {
    ...fields,
    schema_version: schema,
    short_id: text("short_id") ?? shortId,
    status: STATUSES.find((word) => word === fields.status) ?? "failed",
    ready: fields.ready === true,
    last_message_at: text("last_message_at"),
    last_reply: text("last_reply"),
    restart_count: typeof fields.restart_count === "number"
      ? fields.restart_count
      : 0,
    last_restart_at: text("last_restart_at"),
    pty: null,
  };
}

/**
 * Writes a change of a worker's state, under the file's lock.
 *
 * @param home The home.
 * @param shortId The worker.
 * @param change The fields to set.
 * @returns The whole state.
 * @throws {StoreError} When the file is damaged or of a newer format; it is left alone.
 *
 * @example
 * ```ts
 * import { readState, updateState, workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = workerHome(await Deno.makeTempDir());
 * await updateState(home, "demo", { status: "live", ready: true });
 * assertEquals((await readState(home, "demo"))?.status, "live");
 * await Deno.remove(home.root, { recursive: true });
 * ```
 */
export async function updateState(
  home: WorkerHome,
  shortId: string,
  change: WorkerStateChange,
): Promise<WorkerState> {
  const files = workerFiles(home, shortId);
  await ensurePrivateDir(files.dir);
  return await withFileLock(`${files.state}.lock`, async () => {
    const before = await readState(home, shortId);
    if (before !== undefined && before.schema_version > SCHEMA) {
      throw new StoreError(
        "newer",
        files.state,
        `its schema is ${before.schema_version}`,
      );
    }
    const state: WorkerState = {
      schema_version: SCHEMA,
      short_id: shortId,
      status: "spawning",
      ready: false,
      last_message_at: null,
      last_reply: null,
      restart_count: 0,
      last_restart_at: null,
      pty: null,
      ...before,
      ...change,
    };
    await writeFileAtomic(files.state, JSON.stringify(state, null, 2) + "\n");
    return state;
  }, { timeoutMs: WRITE_LOCK_MS });
}
