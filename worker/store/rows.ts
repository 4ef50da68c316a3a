// deno-lint-ignore-file camelcase -- field names are the file's own
/**
 * One row of the registry: its fields, old formats, and what must not be written.
 *
 * @module
 */
import { StoreError } from "./store_error.ts";

/** A worker in the registry; fields that we do not know are kept. */
export interface RegistryRow {
  /** The agent's name. */
  name: string;
  /** Where it works. */
  cwd: string;
  /** How it stands. */
  status: string;
  /** When it was made. */
  created_at: string;
  /** When the last turn came in. */
  last_message_at?: string | null;
  /** A channel's id. */
  mcp_channel_id?: string | null;
  /** Its log. */
  log_path?: string | null;
  /** Its short id. */
  short_id?: string;
  /** The project's directory. */
  project_root?: string;
  /** Who runs the model. */
  provider?: string;
  /** The model. */
  model?: string;
  /** Which harness. */
  harness?: string;
  /** The harness's own id of the session. */
  harness_session_id?: string;
  /** `interactive` for a hosted session. */
  host_mode?: string;
  /** The worker's process. */
  pid?: number;
  /** When that was started, in clock ticks since boot. */
  pid_start_time?: number;
  /** When it ended. */
  exited_at?: string;
  /** What shows its screen; such a row has no short id. */
  mux?: unknown;
  /** How it came to be. */
  origin?: string;
  /** Further fields. */
  [field: string]: unknown;
}

const OLD_HANDLES: readonly (readonly [string, string])[] = [
  ["claude_session_uuid", "claude"],
  ["codex_session_id", "codex"],
  ["gemini_session_id", "gemini"],
];
const UNIQUE = [
  "name",
  "short_id",
  "harness_session_id",
  "cc_session_id",
  "session_id",
] as const;

/** A row as read, in today's fields. */
export function migrateRow(
  value: unknown,
  schema: number,
  where: string,
  path: string,
): RegistryRow {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new StoreError("damaged", path, `${where} is no object`);
  }
  const row: Record<string, unknown> = { ...value };
  for (const [field, harness] of OLD_HANDLES) {
    if (
      typeof row[field] === "string" && row.harness_session_id === undefined
    ) {
      row.harness_session_id = row[field];
      row.harness ??= harness;
    }
    delete row[field];
  }
  if (typeof row.claude_short_id === "string") {
    row.short_id ??= row.claude_short_id;
  }
  delete row.claude_short_id;
  if (schema < 15 && typeof row.provider === "string") {
    row.harness ??= row.provider;
    delete row.provider;
  }
  for (const field of ["name", "cwd", "status"]) {
    if (typeof row[field] !== "string") {
      throw new StoreError("damaged", path, `${where} has no "${field}"`);
    }
  }
  return {
    ...row,
    name: String(row.name),
    cwd: String(row.cwd),
    status: String(row.status),
    created_at: typeof row.created_at === "string" ? row.created_at : "",
  };
}

/** A row as written: the fields that are always there first, nothing that is unset. */
export function writtenRow(row: RegistryRow): RegistryRow {
  const {
    name,
    cwd,
    status,
    created_at,
    last_message_at,
    mcp_channel_id,
    log_path,
    ...rest
  } = row;
  const set = Object.entries(rest).filter(([, value]) =>
    value !== undefined && value !== null
  );
  return {
    name,
    cwd,
    status,
    created_at,
    last_message_at: last_message_at ?? null,
    mcp_channel_id: mcp_channel_id ?? null,
    log_path: log_path ?? null,
    ...Object.fromEntries(set),
  };
}

/** Refuses new or changed rows that collide with others or name nothing that can be found again. */
export function checkRows(
  before: readonly RegistryRow[],
  after: readonly RegistryRow[],
  path: string,
): void {
  const known = new Set(before.map((row) => JSON.stringify(writtenRow(row))));
  const names = new Set(before.map((row) => row.name));
  for (const [index, row] of after.entries()) {
    if (known.has(JSON.stringify(writtenRow(row)))) continue;
    const conflict = (what: string) =>
      new StoreError("conflict", path, `the row "${row.name}" ${what}`);
    if (
      row.mux !== undefined && row.mux !== null && row.short_id !== undefined
    ) {
      throw conflict("has both a mux and a short_id");
    }
    const findable =
      row.pid !== undefined && row.pid_start_time !== undefined ||
      typeof row.log_path === "string" ||
      row.harness !== undefined && row.harness_session_id !== undefined;
    if (!names.has(row.name) && !findable) {
      throw conflict(
        "is new and has neither pid and pid_start_time, nor log_path, nor harness and harness_session_id",
      );
    }
    for (const field of UNIQUE) {
      const value = row[field];
      if (value === undefined || value === null) continue;
      const other = after.findIndex((it, i) =>
        i !== index && it[field] === value
      );
      if (other >= 0) {
        throw conflict(
          `has the ${field} "${value}" of the row "${after[other]?.name}"`,
        );
      }
    }
  }
}
