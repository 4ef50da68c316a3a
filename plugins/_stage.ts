/**
 * The swap of directories behind installs: staged beside the plugins directory, renamed into place, repaired after
 * a crash.
 *
 * A staging directory lives as long as one install, which holds the lock. Any that is found under the lock is what a
 * killed process left: an old version that is not in place goes back, everything else goes away.
 *
 * @module
 */
import { readTextCapped, writeFileAtomic } from "@bulkhead/sandbox";
import { exists } from "./_exists.ts";
import { InstallError } from "./_install_error.ts";
import { quoteWhole } from "./_text.ts";
import type { TreeEntry } from "./_tree.ts";

/** How the names of staging directories begin. */
const PREFIX = ".bulkhead-install-";

/** The name of the note in a staging directory. */
const NOTE = "note.json";

/** A staging directory. */
export interface Stage {
  /** The directory itself. */
  dir: string;
  /** Where the new content goes. */
  next: string;
  /** A directory for what sources need. */
  work: string;
}

/**
 * Makes a staging directory on the file system of the plugins.
 *
 * @param parent The parent of the plugins directory.
 * @returns The stage; remove it with {@linkcode removeStage}.
 */
export async function makeStage(parent: string): Promise<Stage> {
  const dir = `${parent}/${PREFIX}${Deno.pid}-${
    crypto.randomUUID().slice(0, 8)
  }`;
  await Deno.mkdir(dir, { mode: 0o700 });
  const stage = { dir, next: `${dir}/next`, work: `${dir}/work` };
  await Deno.mkdir(stage.work, { mode: 0o700 });
  return stage;
}

/**
 * Writes checked entries into a new directory.
 *
 * @param entries The entries, judged by `checkTree`.
 * @param root The directory to make.
 * @param signal Ends the work between two files.
 */
export async function writeTree(
  entries: readonly TreeEntry[],
  root: string,
  signal?: AbortSignal,
): Promise<void> {
  await Deno.mkdir(root, { mode: 0o755 });
  const made = new Set<string>([""]);
  const folder = async (path: string): Promise<void> => {
    if (made.has(path)) return;
    await folder(path.split("/").slice(0, -1).join("/"));
    await Deno.mkdir(`${root}/${path}`, { mode: 0o755 });
    made.add(path);
  };
  for (const entry of entries) {
    signal?.throwIfAborted();
    if (entry.kind === "directory") {
      await folder(entry.path);
      continue;
    }
    await folder(entry.path.split("/").slice(0, -1).join("/"));
    if (entry.kind !== "file") continue;
    const path = `${root}/${entry.path}`;
    const mode = entry.executable ? 0o755 : 0o644;
    if (entry.from !== undefined) {
      await copyExactly(entry.from, path, entry.size, mode);
    } else {await Deno.writeFile(path, entry.bytes ?? new Uint8Array(), {
        createNew: true,
        mode,
      });}
  }
  // Last, so that nothing is ever written through a link.
  for (const entry of entries) {
    if (entry.kind === "link") {
      await Deno.symlink(entry.target ?? "", `${root}/${entry.path}`);
    }
  }
}

/** Copies at most the size that was judged, so that a growing file cannot fill the disk. */
async function copyExactly(
  from: string,
  to: string,
  size: number,
  mode: number,
): Promise<void> {
  using source = await Deno.open(from, { read: true });
  await assertSame(from, source);
  using target = await Deno.open(to, { write: true, createNew: true, mode });
  const buffer = new Uint8Array(Math.min(262_144, Math.max(size, 1)));
  let left = size;
  while (left > 0) {
    const read = await source.read(
      buffer.subarray(0, Math.min(buffer.length, left)),
    );
    if (read === null) break;
    for (let at = 0; at < read;) {
      at += await target.write(buffer.subarray(at, read));
    }
    left -= read;
  }
}

/** What was judged must be what is read: a link put in its place, also in that of a folder, is refused. */
async function assertSame(path: string, file: Deno.FsFile): Promise<void> {
  const opened = await file.stat();
  const named = await Deno.lstat(path);
  const same = opened.isFile && named.isFile && opened.ino === named.ino &&
    opened.dev === named.dev && await Deno.realPath(path) === path;
  if (!same) {
    throw new InstallError(
      "unsafe_entry",
      `Cannot install: ${quoteWhole(path)} was replaced while it was read`,
      { fix: "try again once nothing writes to the source" },
    );
  }
}

/**
 * Leaves a note in a stage: what is still to be recorded when the process dies after {@linkcode swapIn}.
 *
 * @param stage The stage.
 * @param text The note.
 */
export async function writeNote(stage: Stage, text: string): Promise<void> {
  await writeFileAtomic(`${stage.dir}/${NOTE}`, text);
}

/**
 * Puts the staged content into place; an old version is kept in the stage.
 *
 * @param stage The stage.
 * @param pluginsDir The plugins directory.
 * @param name The directory name of the plugin.
 * @returns Puts the old version back.
 */
export async function swapIn(
  stage: Stage,
  pluginsDir: string,
  name: string,
): Promise<() => Promise<void>> {
  const target = `${pluginsDir}/${name}`;
  const old = `${stage.dir}/old`;
  await Deno.mkdir(old, { mode: 0o700 });
  const had = await renameIfThere(target, `${old}/${name}`);
  try {
    await Deno.rename(stage.next, target);
  } catch (error) {
    if (had) await Deno.rename(`${old}/${name}`, target);
    throw error;
  }
  return async () => {
    await Deno.rename(target, stage.next);
    if (had) await Deno.rename(`${old}/${name}`, target);
  };
}

/**
 * Takes an installed plugin out of the plugins directory in one step.
 *
 * @param stage The stage.
 * @param path The directory of the plugin.
 */
export async function takeOut(stage: Stage, path: string): Promise<void> {
  await renameIfThere(path, `${stage.dir}/removed`);
}

/**
 * Removes a stage and everything in it.
 *
 * @param stage The stage.
 */
export async function removeStage(stage: Stage): Promise<void> {
  await removeTree(stage.dir);
}

/**
 * Repairs what killed installs left behind. Only safe under the lock.
 *
 * @param parent The parent of the plugins directory.
 * @param pluginsDir The plugins directory.
 * @param finish Gets the note of each stage, see {@linkcode writeNote}, after the directories are in order.
 * @returns One line per repair.
 */
export async function repair(
  parent: string,
  pluginsDir: string,
  finish: (noteText: string) => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const notices: string[] = [];
  for (const name of await names(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const dir = `${parent}/${name}`;
    for (const plugin of await names(`${dir}/old`)) {
      const target = `${pluginsDir}/${plugin}`;
      if (await exists(target)) continue;
      await Deno.rename(`${dir}/old/${plugin}`, target);
      notices.push(
        `plugin "${plugin}": an interrupted update was undone, the old version is back`,
      );
    }
    const note = await readNote(`${dir}/${NOTE}`);
    if (note !== undefined) await finish(note);
    await removeTree(dir);
  }
  return notices;
}

/**
 * Tells whether {@linkcode repair} would have something to do.
 *
 * @param parent The parent of the plugins directory.
 * @returns True when a staging directory is there.
 */
export async function needsRepair(parent: string): Promise<boolean> {
  return (await names(parent)).some((name) => name.startsWith(PREFIX));
}

/** A note that was never finished is no note. */
async function readNote(path: string): Promise<string | undefined> {
  try {
    return await readTextCapped(path, 65_536);
  } catch {
    return undefined;
  }
}

async function names(dir: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { name } of Deno.readDir(dir)) found.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort();
}

async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await Deno.rename(from, to);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
  }
  // A folder without its write bit cannot change its parent.
  await Deno.chmod(from, 0o700);
  await Deno.rename(from, to);
  return true;
}

/** Removes a tree even when folders in it have lost their write bit. */
async function removeTree(dir: string): Promise<void> {
  try {
    await Deno.remove(dir, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
    await unlock(dir);
    await Deno.remove(dir, { recursive: true });
  }
}

async function unlock(dir: string): Promise<void> {
  await Deno.chmod(dir, 0o700);
  for await (const entry of Deno.readDir(dir)) {
    if (entry.isDirectory) await unlock(`${dir}/${entry.name}`);
  }
}
