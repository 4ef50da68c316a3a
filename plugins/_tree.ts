/**
 * The content of a plugin before it is on disk: a flat list of entries, checked as a whole.
 *
 * Directories, archives and git commits are all read into this one shape, so that one set of rules decides what may
 * be installed and nothing is written before all of it has passed.
 *
 * @module
 */
import { InstallError } from "./_install_error.ts";
import { printable, quoteWhole } from "./_text.ts";

/** One entry of a plugin's content. */
export interface TreeEntry {
  /** The path inside the plugin, with `/` between the components. */
  path: string;
  /** What the entry is. */
  kind: "file" | "directory" | "link";
  /** True when the file is to be executable. */
  executable: boolean;
  /** The size of a file in bytes, `0` for others. */
  size: number;
  /** The bytes of a file from an archive. */
  bytes?: Uint8Array;
  /** Where a file from a directory lies. */
  from?: string;
  /** The target of a link, as written. */
  target?: string;
}

/** How much a plugin may bring. */
export interface TreeLimits {
  /**
   * The largest number of entries.
   *
   * @default {10000}
   */
  maxEntries?: number;
  /**
   * The largest sum of all file sizes in bytes.
   *
   * @default {268435456}
   */
  maxBytes?: number;
  /**
   * The largest number of path components.
   *
   * @default {32}
   */
  maxDepth?: number;
}

/** The limits that hold when none are given. */
export const DEFAULT_LIMITS: Required<TreeLimits> = {
  maxEntries: 10_000,
  maxBytes: 268_435_456,
  maxDepth: 32,
};

/** The longest path of an entry in bytes. */
const MAX_PATH_BYTES = 1024;
/** The longest component of a path in bytes. */
const MAX_NAME_BYTES = 255;
/** The longest chain of links that is followed. */
const MAX_LINK_HOPS = 16;

const DEVICE_NAME = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$/i;
const encoder = new TextEncoder();

/**
 * Judges the path of an entry by itself.
 *
 * @param path The path as the source names it; a trailing `/` is taken off.
 * @returns The path without a leading `./` and a trailing `/`; empty for the root itself.
 * @throws {InstallError} When the path leaves the plugin or cannot be stored on every system.
 */
export function checkEntryPath(path: string): string {
  let plain = path.endsWith("/") ? path.slice(0, -1) : path;
  while (plain.startsWith("./")) plain = plain.slice(2);
  if (plain === "." || plain === "") {
    if (path === "" || path.startsWith("/")) {
      throw refuse(path, "names no file");
    }
    return "";
  }
  if (plain.startsWith("/") || /^[a-zA-Z]:/.test(plain)) {
    throw refuse(path, "is absolute");
  }
  if (isUnsafe(plain)) {
    throw refuse(path, 'holds a control character, "\\" or ":"');
  }
  if (encoder.encode(plain).length > MAX_PATH_BYTES) {
    throw refuse(path, `is longer than ${MAX_PATH_BYTES} bytes`);
  }
  for (const name of plain.split("/")) {
    if (name === "..") throw refuse(path, "leaves the plugin");
    if (name === "" || name === ".") {
      throw refuse(path, "has an empty component");
    }
    if (encoder.encode(name).length > MAX_NAME_BYTES) {
      throw refuse(path, `has a name over ${MAX_NAME_BYTES} bytes`);
    }
    if (DEVICE_NAME.test(name) || /[. ]$/.test(name)) {
      throw refuse(path, "has a name that Windows cannot store");
    }
  }
  return plain;
}

/**
 * Judges a whole tree: limits, duplicates, names that differ in case only, files used as directories, links that leave.
 *
 * @param entries The entries, their paths already judged by {@linkcode checkEntryPath}.
 * @param limits The limits to hold.
 * @throws {InstallError} Naming the first entry that breaks a rule.
 */
export function checkTree(
  entries: readonly TreeEntry[],
  limits: TreeLimits = {},
): void {
  const { maxEntries, maxBytes, maxDepth } = { ...DEFAULT_LIMITS, ...limits };
  const byPath = new Map<string, TreeEntry>();
  const folded = new Map<string, string>();
  let total = 0;
  if (entries.length > maxEntries) {
    throw new InstallError(
      "too_large",
      `Cannot install: it has more than ${maxEntries} files and folders`,
    );
  }
  for (const entry of entries) {
    if (entry.path === "") throw refuse(entry.path, "is the plugin itself");
    if (byPath.has(entry.path)) throw refuse(entry.path, "is there twice");
    byPath.set(entry.path, entry);
    if (entry.path.split("/").length > maxDepth) {
      throw refuse(entry.path, `is deeper than ${maxDepth} folders`);
    }
    total += entry.size;
    if (total > maxBytes) {
      throw new InstallError(
        "too_large",
        `Cannot install: its files are larger than ${maxBytes} bytes together`,
      );
    }
    claimFolded(folded, entry.path);
  }
  for (const entry of entries) {
    for (const parent of parents(entry.path)) {
      const kind = byPath.get(parent)?.kind;
      if (kind !== undefined && kind !== "directory") {
        throw refuse(
          entry.path,
          `lies under the ${kind} ${quoteWhole(parent)}`,
        );
      }
    }
    if (entry.kind === "link") checkLink(entry, byPath);
  }
}

/**
 * Takes a single folder around the whole content away, as source archives have one.
 *
 * @param entries The entries of an archive.
 * @returns The same entries, relative to the folder that holds `plugin.toml`.
 */
export function stripCommonFolder(entries: readonly TreeEntry[]): TreeEntry[] {
  if (entries.some((entry) => entry.path === "plugin.toml")) {
    return [...entries];
  }
  const tops = new Set(entries.map((entry) => entry.path.split("/", 1)[0]));
  const [top] = tops;
  if (top === undefined || tops.size !== 1) return [...entries];
  if (!entries.some((entry) => entry.path === `${top}/plugin.toml`)) {
    return [...entries];
  }
  return entries.filter((entry) => entry.path !== top)
    .map((entry) => ({ ...entry, path: entry.path.slice(top.length + 1) }));
}

/** Characters that cannot be stored everywhere, or that hide or move text in a terminal. */
function isUnsafe(text: string): boolean {
  return /[\\:]/.test(text) || printable(text) !== text;
}

/** Each component is claimed in its folded form; a second spelling of one claim is a collision. */
function claimFolded(folded: Map<string, string>, path: string): void {
  for (const part of [...parents(path), path]) {
    const key = part.normalize("NFC").toLowerCase().toUpperCase().normalize(
      "NFC",
    );
    const known = folded.get(key);
    if (known === undefined) folded.set(key, part);
    else if (known !== part) {
      throw refuse(
        path,
        `differs from ${quoteWhole(known)} in case or spelling only`,
      );
    }
  }
}

/** Follows a link through the tree as a kernel would; it has to end inside. */
function checkLink(
  link: TreeEntry,
  byPath: ReadonlyMap<string, TreeEntry>,
): void {
  const target = link.target ?? "";
  if (
    target === "" || target.startsWith("/") || isUnsafe(target)
  ) {
    throw refuse(
      link.path,
      `is a link to ${
        quoteWhole(target)
      }: only relative links inside the plugin are allowed`,
    );
  }
  let hops = 0;
  const walk = (base: string[], rest: string): string[] => {
    const at = [...base];
    for (const name of rest.split("/")) {
      if (name === "" || name === ".") continue;
      if (name === "..") {
        if (at.pop() === undefined) {
          throw refuse(
            link.path,
            `is a link to ${quoteWhole(target)}, which leaves the plugin`,
          );
        }
        continue;
      }
      at.push(name);
      const entry = byPath.get(at.join("/"));
      if (entry?.kind !== "link") continue;
      if (++hops > MAX_LINK_HOPS) {
        throw refuse(
          link.path,
          `is a link to ${quoteWhole(target)}, which never ends`,
        );
      }
      const next = walk(at.slice(0, -1), entry.target ?? "");
      at.splice(0, at.length, ...next);
    }
    return at;
  };
  if ((link.target ?? "").split("/").length > 64) {
    throw refuse(link.path, "is a link with too many components");
  }
  walk(link.path.split("/").slice(0, -1), target);
}

function parents(path: string): string[] {
  const names = path.split("/");
  return names.slice(0, -1).map((_, index) =>
    names.slice(0, index + 1).join("/")
  );
}

function refuse(path: string, problem: string): InstallError {
  return new InstallError(
    "unsafe_entry",
    `Cannot install: the entry ${quoteWhole(path)} ${problem}`,
  );
}
