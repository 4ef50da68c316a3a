/**
 * `plugins.lock.json`: what was installed from where, and the hash it had.
 *
 * @module
 */
import { readJsonFile, writeFileAtomic } from "@bulkhead/sandbox";
import { InstallError } from "./_install_error.ts";
import { isRecord, messageOf, quote, quoteWhole } from "./_text.ts";

/** The schema this version writes. */
const SCHEMA = 1;
/** The largest lock file that is read. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What the lock file says of one plugin. */
export interface LockEntry {
  /** The source as it was given, paths made absolute. */
  source: string;
  /** What kind of source it is. */
  kind: "directory" | "archive" | "git";
  /** The version the manifest declares. */
  version: string;
  /** The content hash of the installed directory, `sha256:…`. */
  hash: string;
  /** The SHA-256 that the archive was pinned to, in hex. */
  sha256?: string;
  /** The full commit of a git source. */
  commit?: string;
  /** When it was installed or last updated, as ISO 8601. */
  installedAt: string;
}

/** A lock file as read. */
export interface LockFile {
  /** The plugins by name. */
  plugins: Map<string, LockEntry>;
  /** Why the file cannot be written; absent when it can. */
  readOnly?: string;
  /** Entries that make no sense, one line each. */
  problems: string[];
}

/**
 * Reads a lock file; a missing one is empty.
 *
 * @param path The lock file.
 * @returns Its content. A damaged file is empty and read-only, with the reason.
 */
export async function readLockFile(path: string): Promise<LockFile> {
  return (await readRaw(path)).lock;
}

/**
 * Makes sure that a later {@linkcode writeLockEntry} can succeed.
 *
 * @param path The lock file.
 * @throws {InstallError} When the file is damaged or was written by a newer version.
 */
export async function assertLockWritable(path: string): Promise<void> {
  const { readOnly } = await readLockFile(path);
  if (readOnly !== undefined) {
    throw new InstallError("lock_file", readOnly, {
      fix: `move ${quoteWhole(path)} away, or use the newer version`,
    });
  }
}

/**
 * Sets or takes away one entry; everything else in the file stays as it is, fields of other versions included.
 *
 * @param path The lock file.
 * @param name The plugin.
 * @param entry Its new entry, or `null` to take it away.
 * @throws {InstallError} When the file is damaged or was written by a newer version.
 */
export async function writeLockEntry(
  path: string,
  name: string,
  entry: LockEntry | null,
): Promise<void> {
  await assertLockWritable(path);
  const { raw } = await readRaw(path);
  const plugins = new Map(
    Object.entries(isRecord(raw.plugins) ? raw.plugins : {}),
  );
  const old = plugins.get(name);
  if (entry === null) plugins.delete(name);
  else {
    const kept = isRecord(old) ? { ...old } : {};
    delete kept.sha256;
    delete kept.commit;
    plugins.set(name, { ...kept, ...entry });
  }
  const sorted = [...plugins].sort(([a], [b]) => a < b ? -1 : 1);
  const next = { ...raw, schema: SCHEMA, plugins: Object.fromEntries(sorted) };
  await writeFileAtomic(path, JSON.stringify(next, null, 2) + "\n");
}

async function readRaw(
  path: string,
): Promise<{ raw: Record<string, unknown>; lock: LockFile }> {
  const lock: LockFile = { plugins: new Map(), problems: [] };
  let raw: unknown;
  try {
    raw = await readJsonFile(path, { maxBytes: MAX_BYTES });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { raw: {}, lock };
    if (error instanceof Deno.errors.NotCapable) throw error;
    lock.readOnly = `Cannot use the lock file ${quoteWhole(path)}: ${
      messageOf(error)
    }`;
    return { raw: {}, lock };
  }
  if (
    !isRecord(raw) || !Number.isSafeInteger(raw.schema) ||
    !isRecord(raw.plugins)
  ) {
    lock.readOnly = `Cannot use the lock file ${
      quoteWhole(path)
    }: it has not the shape {"schema", "plugins"}`;
    return { raw: {}, lock };
  }
  if (Number(raw.schema) > SCHEMA) {
    lock.readOnly = `Cannot write the lock file ${
      quoteWhole(path)
    }: it has schema ${raw.schema}, this version knows ${SCHEMA}`;
  }
  for (const [name, value] of Object.entries(raw.plugins)) {
    const entry = toLockEntry(value);
    if (entry === null) {
      lock.problems.push(
        `the lock file ${quoteWhole(path)} has a malformed entry ${
          quote(name)
        }`,
      );
    } else lock.plugins.set(name, entry);
  }
  return { raw, lock };
}

/**
 * Reads one entry.
 *
 * @param value What a file holds.
 * @returns The entry, or `null` when it makes no sense.
 */
export function toLockEntry(value: unknown): LockEntry | null {
  if (!isRecord(value)) return null;
  const { source, kind, version, hash, installedAt, sha256, commit } = value;
  if (kind !== "directory" && kind !== "archive" && kind !== "git") return null;
  if (
    typeof source !== "string" || typeof version !== "string" ||
    typeof hash !== "string"
  ) return null;
  const entry: LockEntry = {
    source,
    kind,
    version,
    hash,
    installedAt: typeof installedAt === "string" ? installedAt : "",
  };
  if (typeof sha256 === "string") entry.sha256 = sha256;
  if (typeof commit === "string") entry.commit = commit;
  return entry;
}
