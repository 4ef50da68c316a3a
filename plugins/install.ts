/**
 * Bringing plugins in and up to date. Nothing that a plugin brings is ever run here.
 *
 * @module
 */
import {
  type Candidate,
  decide,
  describeChange,
  isPinned,
  readCandidate,
} from "./_candidate.ts";
import { InstallError } from "./_install_error.ts";
import {
  digestIfThere,
  exclusively,
  type InstallPlaces,
  notInstalled,
  type Places,
  PLUGIN_NAME,
} from "./_install_places.ts";
import {
  assertLockWritable,
  type LockEntry,
  readLockFile,
  writeLockEntry,
} from "./_lock_file.ts";
import {
  makeStage,
  removeStage,
  type Stage,
  swapIn,
  writeNote,
} from "./_stage.ts";
import { messageOf, quote } from "./_text.ts";
import type { TreeLimits } from "./_tree.ts";
import type { SandboxLevel, TrustConfig } from "./config.ts";
import { type PluginOnDisk, recordFor } from "./read.ts";
import { type TrustHandler, type TrustPin, TrustStore } from "./trust.ts";

export { InstallError, type InstallErrorCode } from "./_install_error.ts";
export type { InstallPlaces } from "./_install_places.ts";
export type { LockEntry } from "./_lock_file.ts";
export type { TreeLimits } from "./_tree.ts";

/** Options of {@linkcode installPlugin} and {@linkcode updatePlugin}. */
export interface InstallOptions extends InstallPlaces {
  /** The SHA-256 the archive must have, in hex. */
  sha256?: string;
  /**
   * Puts the question to a person. `always` installs and trusts, `once` installs and leaves the question to the next
   * load, everything else refuses. Without a handler only {@linkcode InstallOptions.pins} can let a plugin in.
   */
  ask?: TrustHandler;
  /** Contents that are trusted without a question. */
  pins?: readonly TrustPin[];
  /**
   * The gate of trust. With `always` nobody is asked, as nobody would be at the next load.
   *
   * @default everything is asked about
   */
  trust?: TrustConfig;
  /**
   * The isolation the question speaks of.
   *
   * @default {"required"}
   */
  sandbox?: SandboxLevel;
  /** How much a plugin may bring. */
  limits?: TreeLimits;
  /** Ends the work; nothing is changed then. */
  signal?: AbortSignal;
  /** Gets a line at the start of each step. */
  onProgress?: (line: string) => void;
}

/** Options of {@linkcode updatePlugin}. */
export interface UpdateOptions extends InstallOptions {
  /**
   * A new source.
   *
   * @default the source the plugin was installed from
   */
  source?: string;
}

/** What an install or update did. */
export interface InstallResult {
  /** The name of the plugin. */
  name: string;
  /** Its declared version. */
  version: string;
  /** Its directory. */
  dir: string;
  /** Its content hash. */
  hash: string;
  /** False when exactly this content was there already. */
  changed: boolean;
  /** True when the content is now trusted. */
  trusted: boolean;
  /** What a person should know, one line each. */
  notices: string[];
}

/**
 * Installs a plugin from a directory, an archive or a git commit: read, checked, put to a person, renamed into place.
 *
 * Needs `--allow-read` and `--allow-write` of the home and the source, `--allow-env`, and `--allow-run` for git
 * sources and for the look at the sandbox.
 *
 * @param source A directory, an archive (tar, tar.gz or zip, optionally with `#sha256=HEX`), or `git+URL#COMMIT`.
 * @param options Where to install and whom to ask.
 * @returns What was installed.
 * @throws {InstallError} When the plugin cannot or may not be installed; nothing has changed then.
 *
 * @example Install from a directory and trust its content
 * ```ts
 * import { installPlugin, scaffoldPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const temp = await Deno.makeTempDir();
 * await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
 * const installed = await installPlugin(`${temp}/demo`, {
 *   home: `${temp}/home`,
 *   ask: (question) => question.lines.length === 1 ? "always" : "no",
 * });
 * assertEquals(installed.name, "demo");
 * assertEquals(installed.trusted, true);
 * await Deno.remove(temp, { recursive: true });
 * ```
 */
export async function installPlugin(
  source: string,
  options: InstallOptions,
): Promise<InstallResult> {
  return await exclusively(
    "Installing a plugin",
    options,
    async (places, notices) => {
      await assertLockWritable(places.lockFile);
      const stage = await makeStage(places.parent);
      try {
        const candidate = await readCandidate(source, stage, places, options);
        const { name } = candidate.plugin.manifest;
        const target = `${places.pluginsDir}/${name}`;
        const present = await digestIfThere(target);
        if (present !== undefined) {
          if (present.hash !== candidate.plugin.digest.hash) {
            throw new InstallError(
              "already_installed",
              `Cannot install "${name}": it is there already, with other content`,
              {
                fix: `bulkhead plugins update ${name} --source ${
                  JSON.stringify(source)
                }`,
              },
            );
          }
          return await unchanged(candidate, present.dir, places, {
            pinned: isPinned(candidate, "install", options.pins),
            notices,
          });
        }
        const decision = await decide(candidate, target, undefined, options);
        return await putInPlace(candidate, decision, stage, places, notices);
      } finally {
        await removeStage(stage);
      }
    },
  );
}

/**
 * Updates an installed plugin from its source, after the difference was put to a person. A refused or failed update
 * leaves the old version in place and trusted; the plugin's data is never touched.
 *
 * Needs what {@linkcode installPlugin} needs.
 *
 * @param name The plugin.
 * @param options Where it is, whom to ask, and a new source if it has one.
 * @returns What is installed now.
 * @throws {InstallError} When the update cannot or may not be carried out; nothing has changed then.
 *
 * @example After a change of the source
 * ```ts
 * import { installPlugin, scaffoldPlugin, updatePlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const temp = await Deno.makeTempDir();
 * const home = `${temp}/home`;
 * const ask = () => "always" as const;
 * await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
 * await installPlugin(`${temp}/demo`, { home, ask });
 * await Deno.writeTextFile(`${temp}/demo/README.md`, "new");
 * const { changed } = await updatePlugin("demo", { home, ask });
 * assertEquals(changed, true);
 * await Deno.remove(temp, { recursive: true });
 * ```
 */
export async function updatePlugin(
  name: string,
  options: UpdateOptions,
): Promise<InstallResult> {
  return await exclusively(
    "Updating a plugin",
    options,
    async (places, notices) => {
      await assertLockWritable(places.lockFile);
      const entry = await installedEntry(name, places);
      const source = options.source ?? entry.source;
      const same = options.source === undefined;
      const sha256 = options.sha256 ?? (same ? entry.sha256 : undefined);
      const stage = await makeStage(places.parent);
      try {
        const { sha256: _, ...rest } = options;
        const candidate = await readCandidate(
          source,
          stage,
          places,
          sha256 === undefined ? rest : { ...rest, sha256 },
        );
        if (candidate.plugin.manifest.name !== name) {
          throw new InstallError(
            "bad_manifest",
            `Cannot update "${name}": the source holds the plugin ${
              quote(candidate.plugin.manifest.name)
            }`,
            { fix: "remove the old plugin and install the other one" },
          );
        }
        const target = `${places.pluginsDir}/${name}`;
        const present = await digestIfThere(target);
        if (present?.hash === candidate.plugin.digest.hash) {
          if (entry.kind === "git" && same) {
            notices.push(
              `the source is pinned to ${entry.commit}: name a newer commit with --source`,
            );
          }
          return await unchanged(candidate, present.dir, places, {
            pinned: isPinned(candidate, "update", options.pins),
            notices,
          });
        }
        if (present !== undefined && present.hash !== entry.hash) {
          notices.push(
            `plugin "${name}" was changed by hand after it was installed; the update takes these changes away`,
          );
        }
        const change = present === undefined
          ? undefined
          : await describeChange(present, candidate, entry);
        const decision = await decide(
          candidate,
          target,
          change,
          options,
          notices,
        );
        return await putInPlace(candidate, decision, stage, places, notices);
      } finally {
        await removeStage(stage);
      }
    },
  );
}

async function putInPlace(
  candidate: Candidate,
  decision: "always" | "once",
  stage: Stage,
  places: Places,
  notices: string[],
): Promise<InstallResult> {
  const { read, plugin } = candidate;
  const { manifest, digest } = plugin;
  const entry: LockEntry = {
    source: read.source,
    kind: read.kind,
    version: manifest.version,
    hash: digest.hash,
    ...(read.pinned && read.sha256 !== undefined
      ? { sha256: read.sha256 }
      : {}),
    ...(read.commit === undefined ? {} : { commit: read.commit }),
    installedAt: new Date().toISOString(),
  };
  await writeNote(stage, JSON.stringify({ name: manifest.name, entry }));
  const back = await swapIn(stage, places.pluginsDir, manifest.name);
  try {
    await writeLockEntry(places.lockFile, manifest.name, entry);
  } catch (error) {
    await back();
    throw error;
  }
  const dir = `${places.pluginsDir}/${manifest.name}`;
  if (decision === "always") await trustContent(plugin, dir, places, notices);
  return await result(candidate, dir, places, { changed: true, notices });
}

/** The content is there already; a pin trusts it where it lies. */
async function unchanged(
  candidate: Candidate,
  dir: string,
  places: Places,
  { pinned, notices }: { pinned: boolean; notices: string[] },
): Promise<InstallResult> {
  const found = await result(candidate, dir, places, {
    changed: false,
    notices,
  });
  if (found.trusted || !pinned) return found;
  await trustContent(candidate.plugin, dir, places, notices);
  return await result(candidate, dir, places, { changed: false, notices });
}

async function trustContent(
  plugin: PluginOnDisk,
  dir: string,
  places: Places,
  notices: string[],
): Promise<void> {
  try {
    await new TrustStore(places.home).set(dir, recordFor(plugin, "always"));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    notices.push(`installed but not trusted: ${messageOf(error)}`);
  }
}

async function result(
  { plugin: { manifest, digest } }: Candidate,
  dir: string,
  places: Places,
  rest: { changed: boolean; notices: string[] },
): Promise<InstallResult> {
  const record = await new TrustStore(places.home).get(dir);
  const trusted = record?.decision === "always" && record.hash === digest.hash;
  return {
    name: manifest.name,
    version: manifest.version,
    dir,
    hash: digest.hash,
    trusted,
    ...rest,
  };
}

async function installedEntry(
  name: string,
  places: Places,
): Promise<LockEntry> {
  const { plugins } = await readLockFile(places.lockFile);
  const entry = plugins.get(name);
  if (entry === undefined || !PLUGIN_NAME.test(name)) {
    throw notInstalled(name, [...plugins.keys()]);
  }
  return entry;
}
