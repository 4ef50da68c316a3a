/**
 * Path arithmetic for deciding whether a path lies inside a directory.
 *
 * The module is synchronous and imports next to nothing, so that a process that starts
 * once per tool call can afford it. The only I/O is the link look-up, which goes
 * through a {@linkcode PathPort}.
 *
 * @example A link that leaves the root is seen
 * ```ts
 * import { isInside, resolveTarget } from "@bulkhead/sandbox/paths";
 * import { assertEquals } from "@std/assert";
 *
 * const links = new Map([["/work/out", "/srv"]]);
 * const port = { readLink: (path: string) => links.get(path) ?? null };
 * const target = resolveTarget("out/report.txt", "/work", port);
 * assertEquals(target, "/srv/report.txt");
 * assertEquals(isInside(target, "/work"), false);
 * ```
 *
 * @module
 */

import { namePermission } from "./permissions.ts";

/** What path resolution needs from a file system. */
export interface PathPort {
  /**
   * Looks at one path whose parents are already resolved.
   *
   * @param path Absolute path, its last component unresolved.
   * @returns The link's text, `null` for anything that is not a link,
   * `undefined` when nothing exists there.
   */
  readLink(path: string): string | null | undefined;
}

/** Links followed before a path counts as a loop; Linux stops at 40 too (path_resolution(7)). */
const MAX_LINKS = 40;

/** The real file system. Needs read permission for what it looks at. */
export const denoPathPort: PathPort = {
  readLink(path: string): string | null | undefined {
    try {
      return Deno.lstatSync(path).isSymlink ? Deno.readLinkSync(path) : null;
    } catch (error) {
      // The kernel's own trees cannot be read with partial permissions, and
      // their links ("/proc/self/cwd") would speak of this process, not of the caller.
      if (
        error instanceof Deno.errors.NotCapable &&
        !/^\/(?:proc|sys|dev)(?:\/|$)/.test(path)
      ) throw namePermission("Following links", error);
      return error instanceof Deno.errors.NotFound ? undefined : null;
    }
  },
};

/**
 * True for a path that starts at the root.
 *
 * @param path A POSIX path.
 * @returns Whether it is absolute.
 *
 * @example Usage
 * ```ts
 * import { isAbsolutePath } from "@bulkhead/sandbox/paths";
 * import { assert } from "@std/assert";
 *
 * assert(isAbsolutePath("/etc"));
 * ```
 */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/");
}

/**
 * Folds `.`, `..` and repeated slashes without touching the disk.
 *
 * @param path An absolute or relative POSIX path.
 * @returns The folded path without a trailing slash; `.` for an empty relative path.
 *
 * @example Usage
 * ```ts
 * import { normalizePath } from "@bulkhead/sandbox/paths";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(normalizePath("/work/./a/../b/"), "/work/b");
 * assertEquals(normalizePath("a/../../b"), "../b");
 * ```
 */
export function normalizePath(path: string): string {
  const absolute = path.startsWith("/");
  const kept: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (!absolute) kept.push("..");
  }
  const folded = kept.join("/");
  return absolute ? "/" + folded : folded || ".";
}

/**
 * Joins a path to a base unless it is absolute, without folding anything.
 *
 * @param base The directory a relative path starts from.
 * @param path The path.
 * @returns The joined path; `..` is kept for the link walk to judge.
 *
 * @example Usage
 * ```ts
 * import { joinPath } from "@bulkhead/sandbox/paths";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(joinPath("/work", "a/b"), "/work/a/b");
 * assertEquals(joinPath("/work", "/etc"), "/etc");
 * ```
 */
export function joinPath(base: string, path: string): string {
  if (isAbsolutePath(path)) return path;
  return base.endsWith("/") ? base + path : base + "/" + path;
}

/**
 * Where a write to `path` would land, walked component by component as the kernel
 * does: links in every component and in the last one are followed, also when they
 * dangle, and `link/..` is the parent of what the link points to.
 *
 * Components below one that does not exist are folded lexically, since nothing is
 * there that could redirect them.
 *
 * @param path The path as written; may be relative.
 * @param cwd Absolute directory that relative paths start from.
 * @param port The file system's links; the real one by default.
 * @returns An absolute path without links, `.` or `..`.
 * @throws {TypeError} When `cwd` is not absolute or the path holds a NUL.
 * @throws {RangeError} When more than 40 links are met.
 *
 * @example Usage
 * ```ts
 * import { resolveTarget } from "@bulkhead/sandbox/paths";
 * import { assertEquals } from "@std/assert";
 *
 * const empty = { readLink: () => undefined };
 * assertEquals(resolveTarget("../b", "/work/a", empty), "/work/b");
 * ```
 */
export function resolveTarget(
  path: string,
  cwd: string,
  port: PathPort = denoPathPort,
): string {
  if (path.includes("\0")) {
    throw new TypeError(
      `Cannot resolve path ${JSON.stringify(path)}: it holds a NUL character`,
    );
  }
  if (!isAbsolutePath(path) && !isAbsolutePath(cwd)) {
    throw new TypeError(
      `Cannot resolve path "${path}": the directory "${cwd}" is not absolute`,
    );
  }
  // Components still to walk, the next one last.
  const pending = joinPath(cwd, path).split("/").reverse();
  const walked: string[] = [];
  let links = 0;
  // Number of walked components below which nothing exists; no look-ups there.
  let missingFrom = Infinity;
  while (pending.length > 0) {
    const part = pending.pop();
    if (part === undefined || part === "" || part === ".") continue;
    if (part === "..") {
      walked.pop();
      if (walked.length < missingFrom) missingFrom = Infinity;
      continue;
    }
    walked.push(part);
    if (walked.length > missingFrom) continue;
    const target = port.readLink("/" + walked.join("/"));
    if (target === undefined) missingFrom = walked.length;
    if (target === undefined || target === null) continue;
    if (++links > MAX_LINKS) {
      throw new RangeError(
        `Cannot resolve path "${path}": more than ${MAX_LINKS} links were met`,
      );
    }
    walked.pop();
    if (isAbsolutePath(target)) walked.length = 0;
    pending.push(...target.split("/").reverse());
  }
  return "/" + walked.join("/");
}

/**
 * True when `path` is `root` or lies below it, compared by whole components.
 * Both are compared as given: resolve them first.
 *
 * @param path An absolute path without links or `..`.
 * @param root An absolute directory without links or `..`.
 * @returns Whether the path is inside.
 *
 * @example Usage
 * ```ts
 * import { isInside } from "@bulkhead/sandbox/paths";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(isInside("/work/a", "/work"), true);
 * assertEquals(isInside("/work2/a", "/work"), false);
 * ```
 */
export function isInside(path: string, root: string): boolean {
  const base = root.endsWith("/") ? root : root + "/";
  return path === root || path + "/" === base || path.startsWith(base);
}
