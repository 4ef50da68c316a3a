import { denoPathPort, isInside, resolveTarget } from "@bulkhead/sandbox/paths";
import { quoteWhole } from "./_text.ts";

/** One entry below a directory, as a look without following links finds it. */
export interface Entry {
  /** The path below the root. */
  path: string;
  /** The absolute path. */
  absolute: string;
  kind: "file" | "directory" | "link";
  executable: boolean;
  size: number;
  /** Milliseconds; undefined where the platform does not tell. */
  modified: number | undefined;
  changed: number | undefined;
  inode: number | null;
  /** The target of a link, else empty. */
  target: string;
}

/** Far more than a plugin has; a bound on what a hostile one can cost. */
const MAX_ENTRIES = 100_000;
const MAX_DEPTH = 64;

/** Entries after which others get their turn. */
const TURN = 1000;

/**
 * All entries below the root, which has no links in it. The looks are synchronous: they open nothing, and the many
 * small calls cost a third of what their promises would; it runs before every spawn.
 *
 * @throws {TypeError} If a link leads outside, or an entry is something else than a file, directory or link.
 */
export async function walk(root: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const pending: [string, number][] = [["", 0]];
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    const [directory, depth] = item;
    const base = directory === "" ? root : `${root}/${directory}`;
    for (const name of namesIn(base)) {
      if (entries.length % TURN === TURN - 1) {
        await new Promise((resolve) => setTimeout(resolve));
      }
      const path = directory === "" ? name : `${directory}/${name}`;
      const entry = look(root, path);
      entries.push(entry);
      if (entries.length > MAX_ENTRIES) {
        throw new RangeError(
          `Cannot hash ${
            quoteWhole(root)
          }: it has more than ${MAX_ENTRIES} entries`,
        );
      }
      if (entry.kind !== "directory") continue;
      if (depth === MAX_DEPTH) {
        throw new RangeError(
          `Cannot hash ${
            quoteWhole(root)
          }: it is more than ${MAX_DEPTH} levels deep`,
        );
      }
      pending.push([path, depth + 1]);
    }
  }
  return entries;
}

/** Where a path below the root leads. The root is a real path, so its parents are no links and need no look. */
export function resolveBelow(path: string, root: string): string {
  return resolveTarget(path, root, {
    readLink: (at) => isInside(root, at) ? null : denoPathPort.readLink(at),
  });
}

function lookAt(root: string, path: string): Deno.FileInfo {
  try {
    return Deno.lstatSync(`${root}/${path}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(
      `Cannot hash ${quoteWhole(root)}: ${
        quoteWhole(path)
      } is gone again, or its name is not UTF-8`,
      { cause: error },
    );
  }
}

function namesIn(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map((entry) => entry.name);
}

function look(root: string, path: string): Entry {
  const absolute = `${root}/${path}`;
  const info = lookAt(root, path);
  const kind = info.isFile
    ? "file"
    : info.isDirectory
    ? "directory"
    : info.isSymlink
    ? "link"
    : undefined;
  if (kind === undefined) {
    throw new TypeError(
      `Cannot hash ${quoteWhole(root)}: ${
        quoteWhole(path)
      } is neither a file, a directory nor a link`,
    );
  }
  let target = "";
  if (kind === "link") {
    target = Deno.readLinkSync(absolute);
    if (!isInside(resolveBelow(path, root), root)) {
      throw new TypeError(
        `Cannot hash ${quoteWhole(root)}: the link ${
          quoteWhole(path)
        } leads outside the plugin`,
      );
    }
  }
  return {
    path,
    absolute,
    kind,
    executable: kind === "file" && ((info.mode ?? 0) & 0o100) !== 0,
    size: kind === "file" ? info.size : 0,
    modified: info.mtime?.getTime(),
    changed: info.ctime?.getTime(),
    inode: info.ino,
    target,
  };
}
