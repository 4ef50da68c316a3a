/**
 * Which paths a tool call names and whether one of them leaves a directory.
 *
 * @module
 */

import {
  isAbsolutePath,
  isInside,
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";

/** The keys in which the known tools take a path. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Read: [],
  Write: [],
  Edit: [],
  MultiEdit: [],
  NotebookEdit: [],
  NotebookRead: [],
  LS: [],
  Glob: ["pattern"],
  Grep: ["glob"],
};

/** The keys every tool is looked at for, whatever it is. */
const ALWAYS = ["file_path", "notebook_path", "path"];

/** A key of an unknown tool that holds a path by its name. */
const PATH_KEY =
  /(?:path|file|dir|directory|folder|uri|url|target|dest|destination|source|src|root|cwd|location|workspace)s?$/i;

/** Values deeper or more numerous than this are not looked through: the call counts as an escape. */
const MAX_NODES = 20_000;

const TOO_MUCH = "/(too much to look through)";

/**
 * The paths a call names: by the keys of the known tools, by the name of the key for unknown ones, in lists and
 * nested objects too.
 *
 * @param toolName The tool.
 * @param input Its arguments.
 * @returns The paths as written.
 */
export function toolPaths(toolName: string, input: unknown): string[] {
  const known = KNOWN[toolName];
  if (known === undefined) {
    return collect(
      input,
      (key) => PATH_KEY.test(key.replaceAll(/[_-]/g, "")),
      false,
    );
  }
  const keys = new Set([...ALWAYS, ...known]);
  return collect(input, (key) => keys.has(key), true);
}

/**
 * Other strings of an unknown tool's arguments that read like a path that leads somewhere: absolute, from home, or
 * with a step up.
 *
 * @param toolName The tool.
 * @param input Its arguments.
 * @returns The strings.
 */
export function suspectPaths(toolName: string, input: unknown): string[] {
  if (KNOWN[toolName] !== undefined) return [];
  return collect(input, () => true, false).filter((text) =>
    text.length < 4096 && !/\s/.test(text.trim()) &&
    /^[/~]|(?:^|\/)\.\.(?:\/|$)|^file:|^["'`][/~.]/i.test(text.trim())
  );
}

/**
 * Tells whether a path may lead out of a directory, however its reader takes it: literally, trimmed, without its
 * quotes, as a `file:` address; folded by name or walked through links.
 *
 * @param raw The path as written.
 * @param cwd The directory, without links.
 * @param expands True when the reader may know `$HOME` and the like.
 * @param roots Directories that count as inside too, links resolved.
 * @returns True when one reading leads outside.
 */
export function escapesDirectory(
  raw: string,
  cwd: string,
  expands = false,
  roots: readonly string[] = [],
): boolean {
  return readings(raw).some((path) => escapes(path, cwd, expands, roots));
}

/**
 * Where a path leads when it is walked through links.
 *
 * @param path The path.
 * @param cwd The directory it starts from.
 * @returns The place, or `undefined` when it leads nowhere.
 */
export function targetOf(path: string, cwd: string): string | undefined {
  try {
    return resolveTarget(path, cwd);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

function readings(raw: string): string[] {
  const trimmed = raw.trim();
  const bare = trimmed.replace(/^["'`]+|["'`]+$/g, "").trim();
  const all = new Set([raw, trimmed, bare]);
  for (const text of [trimmed, bare]) {
    if (/^file:/i.test(text)) all.add(fromFileUrl(text));
  }
  return [...all].filter((path) => path !== "");
}

function fromFileUrl(text: string): string {
  try {
    const url = new URL(text);
    return url.host === "" || url.host === "localhost"
      ? decodeURIComponent(url.pathname)
      : "/";
  } catch {
    return "/";
  }
}

function escapes(
  path: string,
  cwd: string,
  expands: boolean,
  roots: readonly string[],
): boolean {
  if (path.includes("\0") || path.startsWith("~")) return true;
  if (expands && /^[$%]/.test(path)) return true;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) return false;
  const base = normalizePath(cwd);
  const folded = normalizePath(joinPath(base, path));
  const inside = (place: string): boolean =>
    isInside(place, base) || roots.some((root) => isInside(place, root));
  if (!inside(folded) && !throughLink(path, base, inside)) return true;
  if (
    /^\/(?:proc|dev)(?:\/|$)/.test(folded) &&
    !/^\/(?:proc|dev)(?:\/|$)/.test(base)
  ) return true;
  const target = targetOf(path, base);
  return target === undefined || !inside(target);
}

/** An absolute path that is spelt through a link and still ends inside, such as a linked session directory. */
function throughLink(
  path: string,
  base: string,
  inside: (place: string) => boolean,
): boolean {
  if (!isAbsolutePath(path)) return false;
  const target = targetOf(normalizePath(path), base);
  return target !== undefined && inside(target);
}

/** All strings below the wanted keys; with `top`, only keys of the outermost object are looked at. */
function collect(
  input: unknown,
  wanted: (key: string) => boolean,
  top: boolean,
): string[] {
  const found: string[] = [];
  const stack: { value: unknown; taken: boolean; depth: number }[] = [{
    value: input,
    taken: false,
    depth: 0,
  }];
  let nodes = 0;
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (++nodes > MAX_NODES) return [...found, TOO_MUCH];
    const { value, taken, depth } = item;
    if (typeof value === "string") {
      if (taken) found.push(value);
    } else if (Array.isArray(value)) {
      for (const part of value) {
        stack.push({ value: part, taken, depth: depth + 1 });
      }
    } else if (typeof value === "object" && value !== null) {
      if (top && depth > 0 && !taken) continue;
      for (const [key, part] of Object.entries(value)) {
        const take = taken || wanted(key);
        stack.push({ value: part, taken: take, depth: depth + 1 });
        if (taken) found.push(key);
      }
    }
  }
  return found.reverse();
}
