/**
 * Whether git tracks a file: then a checkout, a stash or a reset puts its committed text back,
 * and with it takes a hook away.
 *
 * @module
 */

import { readTextCapped } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { directoryOf } from "./files.ts";

/** Larger indexes are not looked through. */
const MAX_INDEX_BYTES = 128 * 1024 * 1024;

/**
 * Says whether the index of the work tree round a file names it, without asking git.
 *
 * @param path The file, absolute.
 * @returns `true` when it is tracked; `false` where that cannot be told.
 */
export async function isTracked(path: string): Promise<boolean> {
  for (let top = directoryOf(path);; top = directoryOf(top)) {
    const index = await indexOf(top);
    if (index !== undefined) {
      return await holds(index, path.slice(top === "/" ? 1 : top.length + 1));
    }
    if (top === "/" || top === "") return false;
  }
}

/** The index of a work tree's top directory. */
async function indexOf(top: string): Promise<string | undefined> {
  const dotGit = joinPath(top, ".git");
  try {
    if ((await Deno.stat(dotGit)).isDirectory) return `${dotGit}/index`;
    const link = /^gitdir: (.+)$/m.exec(await readTextCapped(dotGit, 65_536))
      ?.[1];
    return link && `${normalizePath(joinPath(top, link))}/index`;
  } catch {
    return undefined;
  }
}

/** Whether an index of version 2 or 3 has an entry of that name. */
async function holds(index: string, name: string): Promise<boolean> {
  try {
    if ((await Deno.stat(index)).size > MAX_INDEX_BYTES) return false;
    // Byte by byte: names need not be UTF-8.
    const text = new TextDecoder("latin1").decode(await Deno.readFile(index));
    const wanted = new TextDecoder("latin1").decode(
      new TextEncoder().encode(name),
    );
    for (
      let at = text.indexOf(`${wanted}\0`);
      at !== -1;
      at = text.indexOf(`${wanted}\0`, at + 1)
    ) {
      // Two bytes before a name hold flags and its length.
      const length = (text.charCodeAt(at - 2) & 0x0f) << 8 |
        text.charCodeAt(at - 1);
      if (length === wanted.length) return true;
    }
    return false;
  } catch {
    return false;
  }
}
