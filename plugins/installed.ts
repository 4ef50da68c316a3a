/**
 * What installs have brought, and putting right what a killed one left.
 *
 * @module
 */
import { namedPermissions } from "@bulkhead/sandbox";
import { InstallError } from "./_install_error.ts";
import {
  digestIfThere,
  exclusively,
  type InstallPlaces,
  parentOf,
  PLUGIN_NAME,
} from "./_install_places.ts";
import { type LockEntry, readLockFile } from "./_lock_file.ts";
import { needsRepair } from "./_stage.ts";
import { quote } from "./_text.ts";
import { diffFiles, fingerprints, type PluginDigest } from "./digest.ts";
import { TrustStore } from "./trust.ts";

/** One plugin of the lock file and what became of it. */
export interface InstalledPlugin {
  /** The name of the plugin. */
  name: string;
  /** The directory it was installed into. */
  dir: string;
  /** What the lock file says. */
  entry: LockEntry;
  /** Whether its directory still has the content that was installed. */
  state: "intact" | "modified" | "missing";
  /** The files that differ from what was installed, as far as the decision about that content remembers them. */
  changes?: string[];
}

/**
 * What installs have brought, by the lock file.
 *
 * Needs `--allow-read` of the home.
 *
 * @param places Where plugins live.
 * @returns The plugins by name, and what is wrong with the lock file.
 *
 * @example One plugin
 * ```ts
 * import { installedPlugins, installPlugin, scaffoldPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const temp = await Deno.makeTempDir();
 * const home = `${temp}/home`;
 * const ask = () => "always" as const;
 * await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
 * await installPlugin(`${temp}/demo`, { home, ask });
 * const { plugins, problems } = await installedPlugins({ home });
 * assertEquals(plugins.map(({ name, state }) => [name, state]), [["demo", "intact"]]);
 * assertEquals(problems, []);
 * await Deno.remove(temp, { recursive: true });
 * ```
 */
export async function installedPlugins(
  places: InstallPlaces,
): Promise<{ plugins: InstalledPlugin[]; problems: string[] }> {
  return await namedPermissions("Listing the installed plugins", async () => {
    const pluginsDir = places.pluginsDir ?? `${places.home}/plugins`;
    const lock = await readLockFile(`${places.home}/plugins.lock.json`);
    const problems = [...lock.problems];
    if (lock.readOnly !== undefined) problems.push(lock.readOnly);
    const plugins: InstalledPlugin[] = [];
    for (const [name, entry] of lock.plugins) {
      if (!PLUGIN_NAME.test(name)) {
        problems.push(
          `the lock file names a plugin ${
            quote(name)
          }, which no install can have made`,
        );
        continue;
      }
      const dir = `${pluginsDir}/${name}`;
      const present = await digestIfThere(dir).catch((error) => {
        if (error instanceof Deno.errors.NotCapable) throw error;
        return null;
      });
      const state = present === undefined
        ? "missing"
        : present?.hash === entry.hash
        ? "intact"
        : "modified";
      const changes = state === "modified" && present
        ? await changedFiles(present, entry, places.home)
        : [];
      plugins.push({
        name,
        dir,
        entry,
        state,
        ...changes.length === 0 ? {} : { changes },
      });
    }
    return { plugins, problems };
  });
}

/** How many files of a changed plugin are named. */
const MAX_FILES = 10;

async function changedFiles(
  present: PluginDigest,
  entry: LockEntry,
  home: string,
): Promise<string[]> {
  const record = await new TrustStore(home).get(present.dir);
  if (record?.hash !== entry.hash) return [];
  const files = diffFiles(record.files, fingerprints(present));
  return files.length <= MAX_FILES
    ? files
    : [...files.slice(0, MAX_FILES), `and ${files.length - MAX_FILES} more`];
}

/**
 * Undoes what an install left behind that was killed; does nothing while another one is at work.
 *
 * Needs `--allow-read` and `--allow-write` of the home.
 *
 * @param places Where plugins live.
 * @returns What was repaired, one line each.
 *
 * @example Nothing was interrupted
 * ```ts
 * import { repairInstalls } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * assertEquals(await repairInstalls({ home }), []);
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function repairInstalls(places: InstallPlaces): Promise<string[]> {
  return await namedPermissions("Repairing installs", () => repairAll(places));
}

async function repairAll(places: InstallPlaces): Promise<string[]> {
  const pluginsDir = places.pluginsDir ?? `${places.home}/plugins`;
  if (!await needsRepair(parentOf(pluginsDir))) return [];
  try {
    return await exclusively(
      "Repairing installs",
      places,
      (_, notices) => Promise.resolve(notices),
      0,
    );
  } catch (error) {
    if (error instanceof InstallError && error.code === "busy") return [];
    throw error;
  }
}
