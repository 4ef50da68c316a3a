import { isInside, resolveTarget } from "../paths.ts";
import { isSystem } from "./system.ts";

/** Where an installed program was found, and what it must not carry along. */
export interface Surroundings {
  /** The home directory, when one is known. */
  home: string | undefined;
  /** Where the program works. */
  cwd: string;
}

/**
 * What programs keep beside their `bin` or `shims`: libraries, data, what a version
 * manager has installed. Named one by one, because other things lie there as well:
 * `~/.cargo` holds the credentials of a registry, `~/go` and `~/work` somebody's code.
 */
const PARTS: readonly string[] = [
  "bin",
  "sbin",
  "shims",
  "lib",
  "lib64",
  "libexec",
  "share",
  "include",
  // Virtual environments, conda.
  "pyvenv.cfg",
  "ssl",
  "conda-meta",
  // Ruby, Java.
  "gems",
  "specifications",
  "extensions",
  "conf",
  "jmods",
  "jre",
  "release",
  // Version managers: asdf, mise, pyenv, rbenv, volta, Homebrew, Bun.
  "versions",
  "version",
  "installs",
  "plugins",
  "tools",
  "opt",
  "Cellar",
  "install",
];

/** Directories that hold programs and nothing of a person: the whole prefix is one. */
const PROGRAM_DIRS =
  /^\/(?:opt|snap)\/[^/]+|^\/nix\/store\/[^/]+|\/node_modules\/(?:@[^/]+\/)?[^/]+$|\/vendor$/;

/**
 * What belongs to an installed program besides its file: what its link leads to, and
 * for `<prefix>/bin/x` or a version manager's `<root>/shims/x` the parts beside that
 * directory. A prefix that is the home or `.local`, or that holds the home or the
 * working directory, is no installation: nothing of it is taken.
 *
 * @param file The program's file, as it was found.
 * @param around What must not come along.
 * @returns Absolute paths; some may not exist.
 */
export function installation(file: string, around: Surroundings): string[] {
  let real: string;
  try {
    real = resolveTarget(file, "/");
  } catch {
    return [];
  }
  const found = [real];
  for (const path of new Set([file, real])) {
    const [, prefix] = /^(.*)\/(?:bin|shims)\/[^/]+$/.exec(path) ?? [];
    if (!prefix || isSystem(path) || holdsMore(prefix, around)) continue;
    found.push(
      ...PROGRAM_DIRS.test(prefix)
        ? [prefix]
        : PARTS.map((part) => `${prefix}/${part}`),
    );
  }
  return found;
}

function holdsMore(prefix: string, { home, cwd }: Surroundings): boolean {
  return isInside(cwd, prefix) || home !== undefined &&
      (isInside(home, prefix) || prefix === `${home}/.local`);
}
