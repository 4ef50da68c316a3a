/**
 * Taking plugins out: directory, lock entry, trust and, when asked for, data.
 *
 * @module
 */
import { exists } from "./_exists.ts";
import { InstallError } from "./_install_error.ts";
import {
  exclusively,
  type InstallPlaces,
  notInstalled,
  PLUGIN_NAME,
} from "./_install_places.ts";
import {
  assertLockWritable,
  readLockFile,
  writeLockEntry,
} from "./_lock_file.ts";
import { makeStage, removeStage, takeOut } from "./_stage.ts";
import { messageOf, quote } from "./_text.ts";
import { TrustStore } from "./trust.ts";

/** Options of {@linkcode removePlugin}. */
export interface RemoveOptions extends InstallPlaces {
  /**
   * Whether the plugin's data goes too, or a function that asks.
   *
   * @default {false}
   */
  data?: boolean | ((dir: string) => boolean | Promise<boolean>);
  /**
   * Remove a directory that no install made, too.
   *
   * @default {false}
   */
  force?: boolean;
}

/** What {@linkcode removePlugin} did. */
export interface RemoveResult {
  /** The name of the plugin. */
  name: string;
  /** True when a decision about it was forgotten. */
  untrusted: boolean;
  /** The data that was kept, when there is some. */
  keptData?: string;
  /** What a person should know, one line each. */
  notices: string[];
}

/**
 * Removes a plugin: its directory, its entry in the lock file, the decision about it and, when asked for, its data.
 *
 * Needs `--allow-read` and `--allow-write` of the home.
 *
 * @param name The plugin.
 * @param options Where it is and what goes with it.
 * @returns What was removed.
 * @throws {InstallError} When there is no such plugin.
 *
 * @example Nothing is left
 * ```ts
 * import { installPlugin, removePlugin, scaffoldPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const temp = await Deno.makeTempDir();
 * const home = `${temp}/home`;
 * const ask = () => "always" as const;
 * await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
 * await installPlugin(`${temp}/demo`, { home, ask });
 * const { untrusted, keptData } = await removePlugin("demo", { home });
 * assertEquals([untrusted, keptData], [true, undefined]);
 * await Deno.remove(temp, { recursive: true });
 * ```
 */
export async function removePlugin(
  name: string,
  options: RemoveOptions,
): Promise<RemoveResult> {
  return await exclusively(
    "Removing a plugin",
    options,
    async (places, notices) => {
      await assertLockWritable(places.lockFile);
      const { plugins } = await readLockFile(places.lockFile);
      const known = plugins.has(name);
      const dir = `${places.pluginsDir}/${name}`;
      const there = PLUGIN_NAME.test(name) && await exists(dir);
      if (!known && !there) throw notInstalled(name, [...plugins.keys()]);
      if (!known && !options.force) {
        throw new InstallError(
          "not_installed",
          `Cannot remove "${name}": ${quote(dir)} was not made by an install`,
          {
            fix:
              `bulkhead plugins remove ${name} --force, or delete the directory yourself`,
          },
        );
      }
      const real = there ? await Deno.realPath(dir).catch(() => dir) : dir;
      const stage = await makeStage(places.parent);
      try {
        // The decision goes first: a crash after it leaves an untrusted plugin, never a trusted leftover.
        const store = new TrustStore(places.home);
        let untrusted = false;
        try {
          untrusted = await store.remove(real);
        } catch (error) {
          if (error instanceof Deno.errors.NotCapable) throw error;
          notices.push(messageOf(error));
        }
        if (there) await takeOut(stage, dir);
        if (known) await writeLockEntry(places.lockFile, name, null);
        const data = `${places.home}/data/${name}`;
        const removed: RemoveResult = { name, untrusted, notices };
        if (await exists(data) && !await removeEmpty(data)) {
          const wanted = typeof options.data === "function"
            ? await options.data(data)
            : options.data === true;
          if (wanted) await Deno.remove(data, { recursive: true });
          else removed.keptData = data;
        }
        return removed;
      } finally {
        await removeStage(stage);
      }
    },
  );
}

/** Takes an empty directory away; false when it holds something. */
async function removeEmpty(dir: string): Promise<boolean> {
  for await (const _ of Deno.readDir(dir)) return false;
  await Deno.remove(dir);
  return true;
}
