/**
 * Where installs work, one at a time, and how a killed one is put right.
 *
 * @module
 */
import {
  ensurePrivateDir,
  namedPermissions,
  withFileLock,
} from "@bulkhead/sandbox";
import { exists } from "./_exists.ts";
import { InstallError } from "./_install_error.ts";
import { toLockEntry, writeLockEntry } from "./_lock_file.ts";
import { repair } from "./_stage.ts";
import { isRecord, quote, quoteWhole } from "./_text.ts";
import { digestPlugin, type PluginDigest } from "./digest.ts";

/** Where plugins live. */
export interface InstallPlaces {
  /** The Bulkhead home: the lock file, the trust store and the data of plugins. */
  home: string;
  /**
   * The directory plugins are installed into.
   *
   * @default {`${home}/plugins`}
   */
  pluginsDir?: string;
}

/** The places of one run, all absolute and with links resolved. */
export interface Places {
  home: string;
  pluginsDir: string;
  parent: string;
  lockFile: string;
}

/** How long another install is waited for. */
const LOCK_TIMEOUT_MS = 500;

/** Names that stay inside their directory on every system. */
export const PLUGIN_NAME =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,62}[a-zA-Z0-9_-])?$/;

/** Runs the work under the install lock, after what killed installs left was put right. */
export async function exclusively<T>(
  what: string,
  options: InstallPlaces,
  work: (places: Places, notices: string[]) => Promise<T>,
  timeoutMs: number = LOCK_TIMEOUT_MS,
): Promise<T> {
  return await namedPermissions(what, async () => {
    await ensurePrivateDir(options.home);
    const home = await Deno.realPath(options.home);
    const wanted = options.pluginsDir ?? `${home}/plugins`;
    await Deno.mkdir(wanted, { recursive: true, mode: 0o700 });
    const pluginsDir = await Deno.realPath(wanted);
    const places = {
      home,
      pluginsDir,
      parent: parentOf(pluginsDir),
      lockFile: `${home}/plugins.lock.json`,
    };
    let entered = false;
    try {
      return await withFileLock(`${home}/plugins.lock`, async () => {
        entered = true;
        const notices = await repair(
          places.parent,
          pluginsDir,
          (note) => finishEntry(note, places),
        );
        return await work(places, notices);
      }, { timeoutMs });
    } catch (error) {
      if (entered || !(error instanceof Deno.errors.TimedOut)) throw error;
      throw new InstallError(
        "busy",
        `Cannot go on: another install is at work in ${quoteWhole(home)}`,
        {
          fix: "wait for it to end and try again",
          cause: error,
        },
      );
    }
  });
}

/** Writes the entry that a killed process could not write, when its content is in place. */
async function finishEntry(note: string, places: Places): Promise<void> {
  let value: unknown;
  try {
    value = JSON.parse(note);
  } catch {
    return;
  }
  if (
    !isRecord(value) || typeof value.name !== "string"
  ) return;
  const { name } = value;
  const entry = toLockEntry(value.entry);
  if (entry === null || !PLUGIN_NAME.test(name)) return;
  const present = await digestIfThere(`${places.pluginsDir}/${name}`).catch(
    () => undefined,
  );
  if (present?.hash === entry.hash) {
    await writeLockEntry(places.lockFile, name, entry);
  }
}

/** The content of a directory; undefined when there is none. */
export async function digestIfThere(
  dir: string,
): Promise<PluginDigest | undefined> {
  return await exists(dir) ? await digestPlugin(dir) : undefined;
}

/** The directory that holds a path. */
export function parentOf(path: string): string {
  return path.replace(/\/+$/, "").split("/").slice(0, -1).join("/") || "/";
}

/** The error for a name that nothing is installed under. */
export function notInstalled(name: string, known: string[]): InstallError {
  const names = known.sort().map((other) => quote(other)).join(", ");
  return new InstallError(
    "not_installed",
    `There is no installed plugin ${quote(name)}`,
    {
      fix: names === ""
        ? "none is installed: bulkhead plugins install SOURCE"
        : `installed are ${names}`,
    },
  );
}
