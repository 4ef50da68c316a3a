/**
 * Who is still alive of what a test has started, and waiting for the last to go.
 *
 * @module
 */

import { eventually } from "./eventually.ts";

/**
 * Live processes that speak of a directory in their environment or command line.
 *
 * @param dir The directory.
 * @returns Their ids.
 */
export function speakingOf(dir: string): number[] {
  const found: number[] = [];
  for (const entry of Deno.readDirSync("/proc")) {
    const pid = Number(entry.name);
    if (!Number.isInteger(pid) || pid === Deno.pid) continue;
    try {
      const text = Deno.readTextFileSync(`/proc/${pid}/environ`) +
        Deno.readTextFileSync(`/proc/${pid}/cmdline`);
      if (text.includes(dir)) found.push(pid);
    } catch {
      // Gone, or not ours.
    }
  }
  return found;
}

/**
 * All processes below one, by their parents.
 *
 * @param root The id of the topmost.
 * @returns The ids, without the topmost.
 */
export function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of Deno.readDirSync("/proc")) {
    const pid = Number(entry.name);
    if (!Number.isInteger(pid)) continue;
    try {
      const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
      const parent = Number(
        stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1],
      );
      children.set(parent, [...children.get(parent) ?? [], pid]);
    } catch {
      // Gone.
    }
  }
  const found: number[] = [];
  const waiting = [root];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    const below = children.get(pid) ?? [];
    found.push(...below);
    waiting.push(...below);
  }
  return found;
}

/**
 * Whether a process runs; one that is dead and not yet waited for does not.
 *
 * @param pid Its id.
 * @returns `true` while it runs.
 */
export function alive(pid: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !==
      "Z";
  } catch {
    return false;
  }
}

/**
 * Waits until no live process speaks of a directory any more.
 *
 * @param dir The directory.
 */
export async function allEnded(dir: string): Promise<void> {
  await eventually(
    () => `the end of the processes ${speakingOf(dir)}`,
    () => speakingOf(dir).length === 0,
  );
}

/**
 * Whether there is something at a path, a dangling link included.
 *
 * @param path The path.
 * @returns `true` when there is.
 */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
