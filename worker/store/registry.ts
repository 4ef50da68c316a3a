// deno-lint-ignore-file camelcase -- field names are the file's own
/**
 * `registry.json`: every worker under a home. It is changed under a lock, whole and
 * atomically; rows and fields that we do not know are kept.
 *
 * @module
 */
import {
  ensurePrivateDir,
  readTextCapped,
  reasonOf,
  withFileLock,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import { type WorkerHome, WRITE_LOCK_MS } from "./home.ts";
import { checkRows, migrateRow, type RegistryRow, writtenRow } from "./rows.ts";
import { StoreError } from "./store_error.ts";

/** The registry as it was read. */
export interface Registry {
  /** Format of the file. */
  readonly schemaVersion: number;
  /** The workers. */
  readonly rows: RegistryRow[];
  /** False when a newer program wrote it. */
  readonly writable: boolean;
  /** Top-level fields that we do not know. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** The format that is written. */
export const REGISTRY_SCHEMA = 16;
const MAX_FILE = 64 * 1024 * 1024;

/**
 * Reads the registry. An absent or empty file is an empty one.
 *
 * @param home The home.
 * @returns The registry.
 * @throws {StoreError} When the file is damaged.
 *
 * @example
 * ```ts
 * import { readRegistry, workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = workerHome(await Deno.makeTempDir());
 * assertEquals((await readRegistry(home)).rows, []);
 * await Deno.remove(home.root, { recursive: true });
 * ```
 */
export async function readRegistry(home: WorkerHome): Promise<Registry> {
  try {
    return await withFileLock(
      `${home.registry}.lock`,
      () => read(home.registry),
      { shared: true },
    );
  } catch (error) {
    // A home that does not exist yet, one that may only be read, or many writers: rename is atomic anyway.
    if (error instanceof StoreError) throw error;
    return await read(home.registry);
  }
}

/**
 * Changes the registry under its lock.
 *
 * @param home The home.
 * @param change Changes the rows in place; throw to leave everything as it is.
 * @returns The rows as written.
 * @throws {StoreError} When the file is damaged or newer, or a row must not be written.
 *
 * @example
 * ```ts
 * import { updateRegistry, workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = workerHome(await Deno.makeTempDir());
 * const rows = await updateRegistry(home, (rows) => {
 *   rows.push({ name: "a", cwd: "/", status: "live", created_at: "2026-01-01", log_path: "/l" });
 * });
 * assertEquals(rows.length, 1);
 * await Deno.remove(home.root, { recursive: true });
 * ```
 */
export async function updateRegistry(
  home: WorkerHome,
  change: (rows: RegistryRow[]) => void | Promise<void>,
): Promise<RegistryRow[]> {
  await ensurePrivateDir(home.root);
  return await withFileLock(`${home.registry}.lock`, async () => {
    const before = await read(home.registry);
    if (!before.writable) {
      throw new StoreError(
        "newer",
        home.registry,
        `its schema is ${before.schemaVersion}`,
      );
    }
    const rows = structuredClone(before.rows);
    await change(rows);
    checkRows(before.rows, rows, home.registry);
    const written = rows.map(writtenRow);
    const file = {
      schema_version: REGISTRY_SCHEMA,
      ...before.extra,
      agents: written,
    };
    await writeFileAtomic(home.registry, JSON.stringify(file, null, 2) + "\n");
    return written;
  }, { timeoutMs: WRITE_LOCK_MS });
}

async function read(path: string): Promise<Registry> {
  let text: string;
  try {
    text = await readTextCapped(path, MAX_FILE);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return empty();
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new StoreError("damaged", path, reasonOf(error));
  }
  if (text.trim() === "") return empty();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new StoreError("damaged", path, reasonOf(error));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new StoreError("damaged", path, "it is no JSON object");
  }
  const fields: Record<string, unknown> = { ...value };
  const { schema_version: schema, agents, entries, ...extra } = fields;
  if (typeof schema !== "number" || !Number.isInteger(schema) || schema < 1) {
    throw new StoreError(
      "damaged",
      path,
      `its schema_version is ${JSON.stringify(schema)}`,
    );
  }
  const list = agents ?? entries ?? [];
  if (!Array.isArray(list)) {
    throw new StoreError("damaged", path, '"agents" is no list');
  }
  return {
    schemaVersion: schema,
    rows: list.map((row, i) =>
      migrateRow(row, schema, `${path}: row ${i + 1}`, path)
    ),
    writable: schema <= REGISTRY_SCHEMA,
    extra,
  };
}

function empty(): Registry {
  return {
    schemaVersion: REGISTRY_SCHEMA,
    rows: [],
    writable: true,
    extra: {},
  };
}

/**
 * The row of a worker.
 *
 * @param rows The rows.
 * @param shortId The worker.
 * @returns The row, or `undefined`.
 */
export function findRow(
  rows: readonly RegistryRow[],
  shortId: string,
): RegistryRow | undefined {
  return rows.find((row) => row.short_id === shortId);
}
