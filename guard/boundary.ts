/**
 * The line between inside and outside: allowed roots, the guard's own files, and the links
 * that a command makes on its way.
 *
 * @module
 */
import {
  isInside,
  joinPath,
  normalizePath,
  type PathPort,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import type { EffectMode, EffectVerdict } from "./effect.ts";
import { ANY, SEG } from "./holes.ts";

/** Where one path leads and on which side of the line that is. */
export interface Judgement {
  /** The side. */
  verdict: EffectVerdict;
  /** The resolved path; absent when it cannot be known. */
  target?: string;
}

/** Devices that keep nothing of what is written to them, and terminals. */
const DEVICE =
  /^\/(?:dev\/(?:null|zero|full|u?random|stdin|stdout|stderr|tty|ptmx|fd\/\d+|pts\/\d+|(?:tcp|udp)\/.+)|proc\/(?:self|\d+)\/fd\/\d+)$/;

/** Looks at the file system for a {@linkcode Boundary}. */
export interface BoundaryPort extends PathPort {
  /** Whether a path is a directory; without it, whatever a link leads to counts as one. */
  isDirectory?(path: string): boolean;
}

/** Whether a path of the real file system is a directory. */
export function isRealDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** What a {@linkcode Boundary} is built from. */
export interface BoundaryOptions {
  /** Directories (or files) that may be written. */
  roots: readonly string[];
  /** Absolute paths that may never be written. */
  protectedPaths: readonly string[];
  /**
   * Paths below each root that may never be written.
   *
   * @default {[]}
   */
  ownFiles?: readonly string[];
  /** Those of the guard's own files that git tracks. */
  trackedPaths?: readonly string[] | undefined;
  /** Link look-ups. */
  paths: BoundaryPort;
  /** Compare names as a case-insensitive, normalising file system does. */
  foldCase?: boolean;
}

/** Judges paths for the length of one call; looks each path up at most once. */
export class Boundary {
  /** The roots as configured. */
  readonly roots: readonly string[];
  /** Those of the guard's own files that git tracks. */
  readonly trackedPaths: readonly string[];
  /** Links that the command itself would make before it writes: path to link text. */
  readonly links: Map<string, string> = new Map();
  /** Links on disk that the command has taken away by now. */
  gone: ReadonlySet<string> = new Set();
  readonly #fold: (text: string) => string;
  readonly #protectedPaths: readonly string[];
  readonly #ownFiles: readonly string[];
  readonly #port: PathPort;
  readonly #isDirectory: (path: string) => boolean;
  readonly #seen = new Map<string, string | null | undefined>();
  #resolvedRoots: string[] | undefined;
  #guarded: string[] | undefined;
  #names: [own: ReadonlySet<string>, listed: ReadonlySet<string>] | undefined;

  /**
   * Prepares a boundary; nothing is looked up yet.
   *
   * @param options Roots, protected paths and the port.
   */
  constructor(options: BoundaryOptions) {
    this.roots = options.roots;
    this.#protectedPaths = options.protectedPaths;
    this.trackedPaths = options.trackedPaths ?? [];
    this.#ownFiles = options.ownFiles ?? [];
    this.#fold = options.foldCase
      ? (text) => text.normalize("NFC").toLowerCase()
      : (text) => text;
    const { paths } = options;
    this.#isDirectory = (path) => paths.isDirectory?.(path) ?? true;
    this.#port = {
      readLink: (path) => {
        if (this.gone.has(path)) return undefined;
        const made = this.links.get(path);
        if (made !== undefined) return made;
        if (this.#seen.has(path)) {
          const seen = this.#seen.get(path);
          return seen === undefined && this.#holdsLink(path) ? null : seen;
        }
        const link = paths.readLink(path);
        // A directory that a made link stands in exists by then.
        if (link === undefined && this.#holdsLink(path)) return null;
        this.#seen.set(path, link);
        return link;
      },
    };
  }

  /**
   * Where a path leads.
   *
   * @param path The path as written.
   * @param cwd The directory it starts from.
   * @param follow Whether a link in the last component is followed.
   * @returns The resolved path, or `undefined` when it cannot be one.
   */
  resolve(path: string, cwd: string, follow: boolean): string | undefined {
    const known = withinDirectory(path);
    const joined = joinPath(
      cwd,
      known.replace(/^\/proc\/(?:self|thread-self)\/cwd(?=\/|$)/, cwd),
    );
    if (!joined.startsWith("/") || joined.includes(ANY)) return undefined;
    try {
      if (follow || /(?:^|\/)\.{0,2}$/.test(joined)) {
        return resolveTarget(joined, "/", this.#port);
      }
      const cut = joined.lastIndexOf("/");
      const parent = resolveTarget(
        joined.slice(0, cut) || "/",
        "/",
        this.#port,
      );
      return joinPath(parent, joined.slice(cut + 1));
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * What stands at a path.
   *
   * @param path A resolved path.
   * @returns The text of a link, `null` for anything else, `undefined` for nothing.
   */
  linkAt(path: string): string | null | undefined {
    return this.#port.readLink(path);
  }

  /**
   * Whether a directory stands at a path; a link to one is none.
   *
   * @param path A resolved path.
   * @returns `true` when one does.
   */
  isDirectory(path: string): boolean {
    return this.linkAt(path) === null && this.#isDirectory(path);
  }

  /**
   * Whether a path is a link to a file or to nothing: what is moved there replaces it.
   *
   * @param path A resolved path whose last component may be a link.
   * @returns `true` for such a link.
   */
  isFileLink(path: string): boolean {
    if (typeof this.linkAt(path) !== "string") return false;
    const target = this.resolve(path, "/", true);
    return target !== undefined && !this.#isDirectory(target);
  }

  /**
   * Judges one path.
   *
   * @param path The path as written; may hold unknown parts.
   * @param cwd The directory it starts from.
   * @param mode How the path is touched.
   * @returns The side and the resolved path.
   */
  judge(path: string, cwd: string, mode: EffectMode): Judgement {
    const follow = mode === "content" || mode === "attributes";
    const target = this.resolve(path, cwd, follow);
    if (follow && isDevice(path, cwd, target)) {
      return { verdict: "device", target: target ?? path };
    }
    if (target === undefined) return { verdict: "unknown" };
    if (mode !== "attributes" && this.#isProtected(target, path, cwd, mode)) {
      // A directory above a root is outside whether or not a guard lies below it.
      const inside = this.isInside(target);
      if (inside || !this.#holdsRoot(target)) {
        return { verdict: "protected", target };
      }
    }
    return { verdict: this.isInside(target) ? "inside" : "outside", target };
  }

  /**
   * The root that holds a resolved path.
   *
   * @param target A resolved path.
   * @returns The root as resolved, or `undefined`.
   */
  rootOf(target: string): string | undefined {
    this.#resolvedRoots ??= this.roots.map((root) =>
      this.resolve(root, "/", true) ?? root
    );
    const folded = this.#fold(target);
    return this.#resolvedRoots.find((root) =>
      isInside(folded, this.#fold(root))
    );
  }

  /**
   * Whether a resolved path lies under a root.
   *
   * @param target A resolved path.
   * @returns `true` when it does.
   */
  isInside(target: string): boolean {
    return this.rootOf(target) !== undefined;
  }

  /**
   * The guard's own files.
   *
   * @returns Their resolved paths.
   */
  ownPaths(): readonly string[] {
    this.#guarded ??= [...this.#protectedPaths, ...this.#belowRoots()].map((
      own,
    ) => this.resolve(own, "/", true) ?? own);
    return this.#guarded;
  }

  /**
   * Whether one of the guard's own files is there: arming listed it, or the disk has it.
   *
   * @param path One of {@linkcode ownPaths}.
   * @returns `true` when it is.
   */
  isLaid(path: string): boolean {
    const listed = this.ownPaths().indexOf(path) < this.#protectedPaths.length;
    return listed || this.linkAt(path) !== undefined;
  }

  #holdsLink(path: string): boolean {
    for (const made of this.links.keys()) {
      if (made.startsWith(path + "/")) return true;
    }
    return false;
  }

  #holdsRoot(target: string): boolean {
    const folded = this.#fold(target);
    return this.roots.some((root) =>
      isInside(this.#fold(this.resolve(root, "/", true) ?? root), folded)
    );
  }

  #isProtected(
    target: string,
    path: string,
    cwd: string,
    mode: EffectMode,
  ): boolean {
    const resolved = this.#fold(target);
    const plain = this.#fold(normalizePath(joinPath(cwd, path)));
    const touches = (place: string, own: string) =>
      isInside(place, own) || (mode === "tree" && isInside(own, place)) ||
      (place.includes(SEG) && matches(place, own, mode));
    for (const own of this.#protectedPaths) {
      const folded = this.#fold(normalizePath(own));
      if (touches(resolved, folded) || touches(plain, folded)) return true;
    }
    for (const root of this.roots) {
      const folded = this.#fold(root);
      for (const place of resolved === plain ? [resolved] : [resolved, plain]) {
        if (place === folded) {
          if (mode === "tree" && this.#ownFiles.length > 0) return true;
          continue;
        }
        if (!isInside(place, folded)) continue;
        const below = place.slice(
          folded.length + (folded.endsWith("/") ? 0 : 1),
        );
        // All of them lie below names with a dot.
        if (
          below.startsWith(".") &&
          this.#ownFiles.some((own) => touches(below, this.#fold(own)))
        ) return true;
      }
    }
    // By another name: through a linked directory the last names stay the same.
    if (mode !== "tree" && !this.#sharesName(resolved)) return false;
    return this.ownPaths().map(this.#fold).some((own) =>
      touches(resolved, own) || touches(plain, own)
    );
  }

  #belowRoots(): string[] {
    return this.roots.flatMap((root) =>
      this.#ownFiles.map((own) => joinPath(root, own))
    );
  }

  #sharesName(target: string): boolean {
    this.#names ??= [
      namesOf(this.#ownFiles),
      namesOf(this.#protectedPaths),
    ];
    const [own, listed] = this.#names;
    return target.split("/").some((name) => {
      const folded = this.#fold(name);
      return own.has(folded) || listed.has(folded);
    });
  }
}

const names = new WeakMap<readonly string[], ReadonlySet<string>>();

/** The last names of some files, as written and in small letters. */
function namesOf(files: readonly string[]): ReadonlySet<string> {
  let found = names.get(files);
  if (found === undefined) {
    const last = files.map((file) => file.slice(file.lastIndexOf("/") + 1));
    found = new Set([...last, ...last.map((name) => name.toLowerCase())]);
    names.set(files, found);
  }
  return found;
}

/**
 * A name that is not known, behind a beginning that is: `out/$NAME`. The beginning says where it
 * lies, as long as nothing climbs behind the unknown part.
 */
function withinDirectory(path: string): string {
  const at = path.indexOf(ANY);
  if (at < 1 || path.includes("..", at)) return path;
  return path.replaceAll(ANY, SEG);
}

/** Whether a path with glob parts may be the guard's file, or in a tree one of its parents. */
function matches(place: string, own: string, mode: EffectMode): boolean {
  const names = place.split("/");
  const ownNames = own.split("/");
  if (
    mode === "tree"
      ? names.length > ownNames.length
      : names.length !== ownNames.length
  ) {
    return false;
  }
  return names.every((name, i) => {
    const other = ownNames[i] ?? "";
    if (!name.includes(SEG)) return name === other;
    // A glob does not match a leading dot.
    if (name.startsWith(SEG) && other.startsWith(".")) return false;
    const parts = name.split(SEG);
    const head = parts[0] ?? "";
    const tail = parts.at(-1) ?? "";
    return other.length >= head.length + tail.length &&
      other.startsWith(head) && other.endsWith(tail);
  });
}

/** `/dev/null` and its like, by name or by where a link leads; `/dev/../etc/x` is none. */
function isDevice(
  path: string,
  cwd: string,
  target: string | undefined,
): boolean {
  if (target !== undefined && DEVICE.test(target)) return true;
  const joined = joinPath(cwd, path);
  return !/(?:^|\/)\.\.(?:\/|$)/.test(joined) &&
    DEVICE.test(normalizePath(joined));
}
