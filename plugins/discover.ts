/**
 * Which directories hold a plugin.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";
import { compareText } from "./_text.ts";
import { MANIFEST_NAME } from "./digest.ts";

/** A directory that holds a `plugin.toml`. */
export interface DiscoveredPlugin {
  /** The directory's name. */
  name: string;
  /** The directory, below the scanned one; a link is not resolved. */
  dir: string;
}

/**
 * Looks for plugins: the immediate subdirectories of each directory that hold a regular file `plugin.toml`.
 *
 * Links are followed. A directory that is missing or cannot be read is skipped. Of two plugins with the same directory
 * name the one in the later directory wins.
 *
 * @param dirs The directories to scan.
 * @returns The plugins, sorted by directory name.
 *
 * @example A missing directory is no error
 * ```ts
 * import { discoverPlugins } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await discoverPlugins(["/no/such/directory"]), []);
 * ```
 */
export async function discoverPlugins(
  dirs: readonly string[],
): Promise<DiscoveredPlugin[]> {
  return await namedPermissions("Discovering plugins", () => discover(dirs));
}

async function discover(dirs: readonly string[]): Promise<DiscoveredPlugin[]> {
  const found = new Map<string, DiscoveredPlugin>();
  for (const parent of dirs) {
    for (const name of await subdirectories(parent)) {
      const dir = `${parent.replace(/(.)\/+$/, "$1")}/${name}`;
      if (isRegularFile(`${dir}/${MANIFEST_NAME}`)) {
        found.set(name, { name, dir });
      }
    }
  }
  return [...found.values()].sort((a, b) => compareText(a.name, b.name));
}

async function subdirectories(parent: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(parent)) {
      if (entry.isDirectory || entry.isSymlink) names.push(entry.name);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return [];
  }
  return names;
}

/** Links are followed; anything else, and anything that cannot be looked at, is no manifest. */
function isRegularFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}
