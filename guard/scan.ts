import { namedPermissions, run } from "@bulkhead/sandbox";
import {
  isInside,
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import type { DenialRecord } from "./denials.ts";

/** Most files of a snapshot. */
const MAX_FILES = 200_000;

/** Most bytes of git's list of files. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** Milliseconds that git gets. */
const GIT_MS = 60_000;

/** Directories that are not looked into where git does not say what counts. */
const SKIPPED = new Set([".git", "node_modules", ".venv", "target", ".cache"]);

/** What a tree looked like at one moment. */
export interface TreeSnapshot {
  /** Version of this shape. */
  schema: number;
  /** The directory. */
  tree: string;
  /** When, ISO. */
  takenAt: string;
  /** Whether git said which files count. */
  git: boolean;
  /** Whether the bound on files was met, so that some were left out. */
  truncated: boolean;
  /** Path below the tree to a fingerprint: kind, size, times, or the link's text. */
  files: Record<string, string>;
}

/** The version of {@linkcode TreeSnapshot} that is written. */
export const SNAPSHOT_SCHEMA = 1;

/** Options of {@linkcode takeSnapshot}. */
export interface SnapshotOptions {
  /**
   * Most files looked at.
   *
   * @default {200000}
   */
  maxFiles?: number;
  /** Directories that are left out. */
  exclude?: readonly string[];
}

/**
 * Takes a snapshot of a tree. In a git work tree it holds the tracked and the untracked files
 * that are not ignored, with git's hooks, config and refs; elsewhere all files but a few bulky
 * directories. The last change of a file's inode is part of its fingerprint, so a write that puts
 * the times back is still seen.
 *
 * Needs `--allow-read` of the tree, and `--allow-run` and `--allow-env` to ask git.
 *
 * @param tree The directory.
 * @param options Bounds, what to leave out.
 * @returns The snapshot.
 *
 * @example
 * ```ts
 * import { compareSnapshots, takeSnapshot } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const tree = await Deno.makeTempDir();
 * const before = await takeSnapshot(tree);
 * await Deno.writeTextFile(`${tree}/new.txt`, "x");
 * const after = await takeSnapshot(tree);
 * assertEquals(compareSnapshots(before, after), [
 *   { path: `${before.tree}/new.txt`, change: "created" },
 * ]);
 * await Deno.remove(tree, { recursive: true });
 * ```
 */
export async function takeSnapshot(
  tree: string,
  options: SnapshotOptions = {},
): Promise<TreeSnapshot> {
  return await namedPermissions("Taking a snapshot", async () => {
    const root = await Deno.realPath(
      normalizePath(joinPath(Deno.cwd(), tree)),
    );
    const left = options.maxFiles ?? MAX_FILES;
    const excluded = (options.exclude ?? []).map((path) =>
      resolveTarget(path, root)
    );
    const listed = await gitFiles(root);
    // Without a prototype, so that a file may be called `__proto__`.
    const files: Record<string, string> = Object.create(null);
    const snapshot: TreeSnapshot = {
      schema: SNAPSHOT_SCHEMA,
      tree: root,
      takenAt: new Date().toISOString(),
      git: listed !== undefined,
      truncated: false,
      files,
    };
    const skip = (path: string) => excluded.some((one) => isInside(path, one));
    let count = 0;
    const add = async (path: string): Promise<boolean> => {
      if (skip(`${root}/${path}`)) return true;
      if (++count > left) {
        snapshot.truncated = true;
        return false;
      }
      const mark = await fingerprint(`${root}/${path}`);
      if (mark !== undefined) files[path] = mark;
      return true;
    };
    for (const path of listed ?? []) if (!await add(path)) return snapshot;
    await walk(root, listed === undefined ? "" : ".git", add, skip);
    return snapshot;
  });
}

/** The files that git counts, `undefined` outside a work tree. */
async function gitFiles(root: string): Promise<string[] | undefined> {
  try {
    const result = await run(
      // A repository's own configuration must not start programs here.
      [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-C",
        root,
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
      ],
      { timeoutMs: GIT_MS, maxBytes: MAX_LIST_BYTES },
    );
    if (!result.success || result.truncated.stdout) return undefined;
    return [
      ...new Set(result.stdout.split("\0").filter((path) => path !== "")),
    ];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Walks a directory; below `.git` only what changes what git does. */
async function walk(
  root: string,
  start: string,
  add: (path: string) => Promise<boolean>,
  skip: (path: string) => boolean,
): Promise<void> {
  const pending = [start];
  for (let dir = pending.pop(); dir !== undefined; dir = pending.pop()) {
    const entries: Deno.DirEntry[] = [];
    try {
      for await (const entry of Deno.readDir(`${root}/${dir}`)) {
        entries.push(entry);
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      continue; // gone, or not ours to read
    }
    for (const entry of entries) {
      const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
      if (skip(`${root}/${path}`)) continue;
      if (start === ".git" && !countsInGit(path)) continue;
      if (entry.isDirectory) {
        if (start === ".git" || !SKIPPED.has(entry.name)) pending.push(path);
      } else if (!await add(path)) return;
    }
  }
}

/** Refs, configuration and hooks; not objects, logs or the index, which reading changes too. */
function countsInGit(path: string): boolean {
  return /^\.git\/(HEAD|config|packed-refs|hooks(\/.*)?|refs(\/.*)?|info(\/.*)?)$/
    .test(path);
}

/** What tells one state of a file from another. */
async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const info = await Deno.lstat(path);
    if (info.isSymlink) return `link ${await Deno.readLink(path)}`;
    if (info.isDirectory) return undefined; // a submodule
    return [
      info.isFile ? "file" : "other",
      info.size,
      info.mode,
      info.ino,
      info.mtime?.getTime(),
      info.ctime?.getTime(),
    ].join(" ");
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** One difference between two snapshots. */
export interface TreeChange {
  /** The absolute path. */
  path: string;
  /** What happened to it. */
  change: "created" | "modified" | "removed";
}

/**
 * Compares two snapshots of one tree.
 *
 * @param before The earlier one.
 * @param after The later one.
 * @returns The differences, sorted by path.
 * @throws {TypeError} When they are of different trees.
 *
 * @example
 * ```ts
 * import { compareSnapshots, takeSnapshot } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const tree = await Deno.makeTempDir();
 * const snapshot = await takeSnapshot(tree);
 * assertEquals(compareSnapshots(snapshot, snapshot), []);
 * await Deno.remove(tree);
 * ```
 */
export function compareSnapshots(
  before: TreeSnapshot,
  after: TreeSnapshot,
): TreeChange[] {
  if (before.tree !== after.tree) {
    throw new TypeError(
      `Cannot compare snapshots: one is of "${before.tree}", the other of "${after.tree}"`,
    );
  }
  const changes: TreeChange[] = [];
  const old = new Map(Object.entries(before.files));
  for (const [path, mark] of Object.entries(after.files)) {
    const was = old.get(path);
    old.delete(path);
    if (was === mark) continue;
    const change = was === undefined ? "created" : "modified";
    changes.push({ path: `${after.tree}/${path}`, change });
  }
  for (const path of old.keys()) {
    changes.push({ path: `${after.tree}/${path}`, change: "removed" });
  }
  return changes.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** A change outside every root. */
export interface StrayWrite extends TreeChange {
  /** A call that named this path was denied, and yet it changed. */
  denied: boolean;
}

/**
 * Picks the changes that the guard should have kept from happening: those outside every root.
 *
 * @param changes What changed.
 * @param roots The roots that may be written.
 * @param denials The denial log.
 * @returns The stray writes; what no denied call named was seen by no hook.
 *
 * @example
 * ```ts
 * import { strayWrites } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const changes = [
 *   { path: "/work/env/a", change: "created" as const },
 *   { path: "/work/b", change: "modified" as const },
 * ];
 * assertEquals(strayWrites(changes, ["/work/env"], []), [
 *   { path: "/work/b", change: "modified", denied: false },
 * ]);
 * ```
 */
export function strayWrites(
  changes: readonly TreeChange[],
  roots: readonly string[],
  denials: readonly DenialRecord[],
): StrayWrite[] {
  const resolved = roots.map((root) => resolveTarget(root, "/"));
  const denied = new Set(denials.flatMap((record) => record.resolved_targets));
  return changes
    .filter(({ path }) => !resolved.some((root) => isInside(path, root)))
    .map((change) => ({ ...change, denied: denied.has(change.path) }));
}

/**
 * Reads a snapshot from text.
 *
 * @param text The JSON text.
 * @returns The snapshot, or `undefined` when it is none, or of another version.
 *
 * @example
 * ```ts
 * import { parseSnapshot } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseSnapshot("{}"), undefined);
 * ```
 */
export function parseSnapshot(text: string): TreeSnapshot | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const tree = fields.get("tree");
  const takenAt = fields.get("takenAt");
  const files = fields.get("files");
  if (
    fields.get("schema") !== SNAPSHOT_SCHEMA || typeof tree !== "string" ||
    typeof takenAt !== "string" || typeof files !== "object" || files === null
  ) return undefined;
  const marks: [string, string][] = [];
  for (const [path, mark] of Object.entries(files)) {
    if (typeof mark !== "string") return undefined;
    marks.push([path, mark]);
  }
  return {
    schema: SNAPSHOT_SCHEMA,
    tree,
    takenAt,
    git: fields.get("git") === true,
    truncated: fields.get("truncated") === true,
    files: Object.fromEntries(marks),
  };
}
