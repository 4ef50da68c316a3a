/**
 * The identity of a plugin: a hash over every name, kind, executable bit and content in its directory.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";
import { contentHash, sha256Hex } from "./_content_hash.ts";
import { compareText, messageOf, quoteWhole } from "./_text.ts";
import { type Entry, resolveBelow, walk } from "./_walk.ts";

/** The name of the manifest in a plugin's directory. */
export const MANIFEST_NAME = "plugin.toml";

/** One entry of a plugin's directory. */
export interface PluginFile {
  /** The path inside the plugin, with `/` between its parts. */
  path: string;
  /** What it is. */
  kind: "file" | "directory" | "link";
  /** True for a file that its owner may execute. */
  executable: boolean;
  /** The SHA-256 of the content in hex, or of the target for a link; empty for a directory. */
  sha256: string;
}

/** What {@linkcode digestPlugin} found. */
export interface PluginDigest {
  /** The directory, all links resolved. */
  dir: string;
  /** The hash of everything, `sha256:` and 64 hex digits. */
  hash: string;
  /** The entries, sorted by path. */
  files: PluginFile[];
  /** The bytes of `plugin.toml` exactly as they were hashed; undefined when there is none or it is large. */
  manifest?: Uint8Array;
  /** What {@linkcode PluginDigest.isUnchanged} compares: sizes, times and inodes; equal stamps, equal look. */
  stamp: string;
  /**
   * Tells cheaply whether the content may have changed since: the sizes, times and inodes of all entries.
   *
   * @returns True when nothing has changed for sure.
   */
  isUnchanged(): Promise<boolean>;
}

/**
 * Hashes a plugin's directory.
 *
 * @param dir The directory.
 * @returns The hash and what it covers.
 * @throws {TypeError} If a link leads outside, or an entry is neither file, directory nor link.
 * @throws {RangeError} If there are more entries or levels than a plugin can have.
 *
 * @example The hash changes with the content
 * ```ts
 * import { digestPlugin } from "@bulkhead/plugins";
 * import { assertNotEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${dir}/plugin.toml`, 'name = "demo"');
 * const before = await digestPlugin(dir);
 * await Deno.writeTextFile(`${dir}/run.sh`, "echo hi");
 * const after = await digestPlugin(dir);
 * assertNotEquals(after.hash, before.hash);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function digestPlugin(dir: string): Promise<PluginDigest> {
  return await namedPermissions("Hashing a plugin", () => digest(dir));
}

async function digest(dir: string): Promise<PluginDigest> {
  const root = await Deno.realPath(dir);
  const started = Date.now();
  const entries = await walk(root);
  const files: PluginFile[] = new Array(entries.length);
  // The entries are judged: a link that is the manifest leads to one of them.
  const manifestPath = resolveBelow(MANIFEST_NAME, root);
  let manifest: Uint8Array | undefined;
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < entries.length; index = next++) {
      const entry = entries[index];
      if (entry === undefined) return;
      const { sha, bytes } = await hashEntry(entry);
      if (entry.absolute === manifestPath) manifest = bytes;
      files[index] = {
        path: entry.path,
        kind: entry.kind,
        executable: entry.executable,
        sha256: sha,
      };
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  files.sort((a, b) => compareText(a.path, b.path));
  const text = JSON.stringify(
    files.map((
      file,
    ) => [file.path, file.kind, file.executable ? 1 : 0, file.sha256]),
  );
  const hash = `sha256:${await sha256Hex(new TextEncoder().encode(text))}`;
  const stamp = stampOf(entries);
  const newest = entries.reduce(
    (latest, entry) => Math.max(latest, entry.changed ?? Infinity),
    0,
  );
  // A change within the clock's grain after the look could show the same time, so a fresh plugin is hashed again.
  const settled = newest + CLOCK_GRAIN_MS < started;
  return {
    dir: root,
    hash,
    files,
    ...(manifest === undefined ? {} : { manifest }),
    stamp,
    async isUnchanged(): Promise<boolean> {
      if (!settled) return false;
      try {
        return stampOf(await walk(root)) === stamp;
      } catch {
        return false;
      }
    },
  };
}

/** Files that are read at the same time. */
const PARALLEL = 8;

/** Deno tells the time of change in whole seconds; the kernel's clock advances in steps of up to 10 ms. */
const CLOCK_GRAIN_MS = 1_050;

async function hashEntry(
  entry: Entry,
): Promise<{ sha: string; bytes?: Uint8Array }> {
  switch (entry.kind) {
    case "directory":
      return { sha: "" };
    case "link":
      return { sha: await sha256Hex(new TextEncoder().encode(entry.target)) };
    case "file":
      return await contentHash(entry.absolute, entry.size).catch((error) => {
        if (error instanceof TypeError) throw error;
        if (error instanceof Deno.errors.NotCapable) throw error;
        throw new TypeError(
          `Cannot hash ${quoteWhole(entry.absolute)}: ${reasonOf(error)}`,
          { cause: error },
        );
      });
  }
}

/** The system's reason without the call and the path, which are told already. */
function reasonOf(error: unknown): string {
  return messageOf(error).replace(/(\(os error \d+\)): .*$/s, "$1");
}

function stampOf(entries: readonly Entry[]): string {
  let stamp = "";
  for (const entry of entries) {
    stamp +=
      `${entry.path}\0${entry.kind}\0${entry.executable}\0${entry.size}\0${entry.modified}\0${entry.changed}\0${entry.inode}\0${entry.target}\0`;
  }
  return stamp;
}

/**
 * Which files differ between two digests.
 *
 * @param before The files as they were.
 * @param after The files as they are.
 * @returns One line a file: `+` new, `-` gone, `~` changed.
 *
 * @example One changed file
 * ```ts
 * import { diffFiles } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(diffFiles({ "run.sh": "1" }, { "run.sh": "2", "new.sh": "3" }), [
 *   '+ "new.sh"',
 *   '~ "run.sh"',
 * ]);
 * ```
 */
export function diffFiles(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths].sort(compareText).flatMap((path) => {
    const old = Object.hasOwn(before, path) ? before[path] : undefined;
    const now = Object.hasOwn(after, path) ? after[path] : undefined;
    if (old === now) return [];
    const sign = old === undefined ? "+" : now === undefined ? "-" : "~";
    return [`${sign} ${quoteWhole(path)}`];
  });
}

/**
 * The fingerprints of a digest by path: content, kind and executable bit in one text.
 *
 * @param digest The digest.
 * @returns Path to fingerprint.
 *
 * @example What a record remembers
 * ```ts
 * import { digestPlugin, fingerprints } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.mkdir(`${dir}/lib`);
 * assertEquals(fingerprints(await digestPlugin(dir)), { lib: "directory:" });
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export function fingerprints(digest: PluginDigest): Record<string, string> {
  return Object.fromEntries(
    digest.files.map((file) => [
      file.path,
      file.kind === "file"
        ? `${file.executable ? "x" : "-"}:${file.sha256}`
        : `${file.kind}:${file.sha256}`,
    ]),
  );
}
