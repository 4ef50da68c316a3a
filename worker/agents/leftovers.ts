/**
 * Directories that an agent makes in the workspace and leaves empty.
 *
 * @module
 */

import { joinPath } from "@bulkhead/sandbox";

/**
 * Notes which of some directories are not there yet.
 *
 * @param root The workspace.
 * @param names The directories.
 * @returns A function that removes those that have come since and are empty; it resolves with their names.
 */
export async function watchLeftovers(
  root: string,
  names: readonly string[],
): Promise<() => Promise<string[]>> {
  const absent: string[] = [];
  for (const name of names) {
    const found = await Deno.lstat(joinPath(root, name)).catch(() => undefined);
    if (found === undefined) absent.push(name);
  }
  return async () => {
    const removed: string[] = [];
    for (const name of absent) {
      try {
        const path = joinPath(root, name);
        // Without `recursive` only an empty directory goes; a file is not ours to remove.
        if (!(await Deno.lstat(path)).isDirectory) continue;
        await Deno.remove(path);
        removed.push(name);
      } catch {
        // Not there, or in use.
      }
    }
    return removed;
  };
}
