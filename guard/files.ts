/**
 * The file handling that arming and teardown share.
 *
 * @module
 */

import { readTextCapped } from "@bulkhead/sandbox";
import { isInside, resolveTarget } from "@bulkhead/sandbox/paths";

/** Most bytes of a hook file. */
const MAX_HOOK_FILE_BYTES = 4 * 1024 * 1024;

/** A hook file as found. */
export interface FoundHookFile {
  /** Where its bytes lie, links followed. */
  readonly target: string;
  /** Its text; absent when there is no file. */
  readonly text?: string;
  /** Its permission bits. */
  readonly mode?: number;
  /** Lines for a person. */
  readonly notices: readonly string[];
}

/** Reads a hook file. Links are followed, and said so when they leave the root. */
export async function readHookFile(
  path: string,
  root: string,
): Promise<FoundHookFile> {
  const target = resolveTarget(path, "/");
  const notices = isInside(target, resolveTarget(root, "/"))
    ? []
    : [`"${path}" is a link to "${target}": the hook is written there`];
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(target);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { target, notices };
    throw error;
  }
  const text = await readTextCapped(target, MAX_HOOK_FILE_BYTES);
  return info.mode === null
    ? { target, text, notices }
    : { target, text, mode: info.mode & 0o7777, notices };
}

/**
 * Makes a directory and its parents below the root.
 *
 * @returns The ones that were made, relative to the root, the outermost first.
 */
export async function makeDirs(root: string, path: string): Promise<string[]> {
  const made: string[] = [];
  const parts = path.split("/").filter((part) => part !== "");
  for (let count = 1; count <= parts.length; count++) {
    const relative = parts.slice(0, count).join("/");
    try {
      await Deno.mkdir(`${root}/${relative}`);
      made.push(relative);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
  return made;
}

/** Removes a directory when it is empty; says whether it did. */
export async function removeIfEmpty(path: string): Promise<boolean> {
  try {
    // A link to a directory is not ours to remove.
    if (!(await Deno.lstat(path)).isDirectory) return false;
    for await (const _entry of Deno.readDir(path)) return false;
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}

/** Removes a file; says whether it was there. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Writes a file that must not exist yet, complete or not at all.
 *
 * @returns `false` when it exists.
 */
export async function writeExclusive(
  path: string,
  text: string,
): Promise<boolean> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const temporary = `${directoryOf(path)}/.${name}.${crypto.randomUUID()}.tmp`;
  const file = await Deno.open(temporary, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  try {
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    while (at < bytes.length) at += await file.write(bytes.subarray(at));
    await file.sync();
    await Deno.link(temporary, path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  } finally {
    file.close();
    await Deno.remove(temporary).catch(() => {});
  }
}

/** Removes what a killed writer left beside a file. */
export async function sweepTemporaries(path: string): Promise<void> {
  const directory = directoryOf(path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const found: string[] = [];
  try {
    for await (const entry of Deno.readDir(directory)) {
      const id = entry.name.slice(name.length + 2, -4);
      if (
        entry.isFile && entry.name === `.${name}.${id}.tmp` &&
        /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
      ) found.push(entry.name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  for (const entry of found) await removeFile(`${directory}/${entry}`);
}

/** SHA-256 of a text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  );
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The directory part of a path; empty for a bare name. */
export function directoryOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "" : at === 0 ? "/" : path.slice(0, at);
}
