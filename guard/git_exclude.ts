/**
 * Keeps the guard's own files out of the agent's commits, stashes and cleanings: a marked block
 * in the repository's `info/exclude` while armed, taken out by teardown to the last byte.
 *
 * @module
 */

import { readTextCapped, writeFileAtomic } from "@bulkhead/sandbox";
import { joinPath, normalizePath } from "@bulkhead/sandbox/paths";
import { directoryOf } from "./files.ts";

/** Most bytes of a file that is read. */
const MAX_BYTES = 1024 * 1024;

/** Where git looks for a work tree's private ignore rules. */
interface ExcludeFile {
  /** The file. */
  readonly path: string;
  /** The root, relative to the work tree's top, with a slash at both ends. */
  readonly prefix: string;
}

/** The first and last line of a harness's block; ` +` tells that a line break was added before. */
function borders(label: string): { begin: string; end: string } {
  return {
    begin: `# bulkhead guard ${label}: begin`,
    end: `# bulkhead guard ${label}: end`,
  };
}

/** Adds a block; says nothing where there is no repository or its rules cannot be written. */
export async function addExclude(
  root: string,
  label: string,
  paths: readonly string[],
): Promise<void> {
  const file = await findExclude(root);
  if (file === undefined) return;
  const text = await readExclude(file.path);
  if (text === undefined) return; // git made none, so neither do we
  const { begin, end } = borders(label);
  if (text.includes(begin)) return;
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  const block = [
    gap === "" ? begin : `${begin} +`,
    ...paths.map((path) => file.prefix + escapePattern(path)),
    end,
    "",
  ].join("\n");
  await rewrite(file.path, text + gap + block);
}

/** Takes a harness's block out again. */
export async function removeExclude(
  root: string,
  label: string,
): Promise<void> {
  const file = await findExclude(root);
  const text = file && await readExclude(file.path);
  if (file === undefined || text === undefined) return;
  const { begin, end } = borders(label);
  const from = text.indexOf(begin);
  const to = text.indexOf(end + "\n", from);
  if (from < 0 || to < 0) return;
  const added = text.startsWith(`${begin} +\n`, from) ? 1 : 0;
  await rewrite(
    file.path,
    text.slice(0, from - added) + text.slice(to + end.length + 1),
  );
}

/** Writes the rules with the mode they have; a file that is not ours to write stays. */
async function rewrite(path: string, text: string): Promise<void> {
  const { mode } = await Deno.stat(path);
  try {
    await writeFileAtomic(path, text, { mode: (mode ?? 0o644) & 0o777 });
  } catch (error) {
    if (
      error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotCapable
    ) return;
    throw error;
  }
}

/** The rules' text; `undefined` when there are none that can be read. */
async function readExclude(path: string): Promise<string | undefined> {
  try {
    // A link is left alone: it would be replaced by a file.
    if (!(await Deno.lstat(path)).isFile) return undefined;
    return await readTextCapped(path, MAX_BYTES);
  } catch {
    return undefined;
  }
}

/** Finds the rules of the work tree round a directory, without asking git. */
async function findExclude(root: string): Promise<ExcludeFile | undefined> {
  for (let top = root;; top = directoryOf(top)) {
    const common = await commonDir(top);
    if (common !== undefined) {
      const below = root.slice(top === "/" ? 1 : top.length + 1);
      return {
        path: `${common}/info/exclude`,
        prefix: below === "" ? "/" : `/${escapePattern(below)}/`,
      };
    }
    if (top === "/" || top === "") return undefined;
  }
}

/** The repository's common directory, when `.git` of this directory leads to one. */
async function commonDir(top: string): Promise<string | undefined> {
  const dotGit = joinPath(top, ".git");
  try {
    let dir = dotGit;
    if (!(await Deno.stat(dotGit)).isDirectory) {
      const text = await readTextCapped(dotGit, MAX_BYTES);
      const link = /^gitdir: (.+)$/m.exec(text)?.[1];
      if (link === undefined) return undefined;
      dir = normalizePath(joinPath(top, link));
      const common = await readTextCapped(`${dir}/commondir`, MAX_BYTES);
      dir = normalizePath(joinPath(dir, common.trim()));
    }
    // Only a real repository is written to, whatever a file claims.
    const isRepository = (await Deno.stat(`${dir}/HEAD`)).isFile &&
      (await Deno.stat(`${dir}/objects`)).isDirectory;
    return isRepository ? dir : undefined;
  } catch {
    return undefined;
  }
}

/** A path as a pattern that matches it alone. */
function escapePattern(path: string): string {
  return path.replace(/[\\*?[\]]/g, "\\$&").replace(/ (?=\/|$)/g, "\\ ");
}
