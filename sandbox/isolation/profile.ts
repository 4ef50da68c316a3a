import { findExecutable, interpreterOf } from "../executable.ts";
import type { IsolateOptions } from "../isolation.ts";
import { isInside } from "../paths.ts";
import { installation } from "./installation.ts";

/** The concrete paths of one confined call. */
export interface IsolationPaths {
  /** Read-only, besides the system's own. */
  read: string[];
  /** Read and write. */
  write: string[];
  /** Whether the network is on. */
  net: boolean;
  /** Whether unix sockets may be used. */
  unixSockets: boolean;
  /** Whether the system's accounts can be read. */
  accounts: boolean;
  /** Working directory. */
  cwd: string;
  /** The user's home, which is hidden. */
  home: string | undefined;
}

/**
 * The paths of one call: the policy's, and what the program itself needs wherever
 * it is installed (its file, its script's interpreter, a version manager's tree).
 *
 * @param argv The command line.
 * @param options Policy, directory, environment.
 * @returns Absolute paths; those that do not exist are left out by the backends.
 */
export function isolationPaths(
  argv: readonly string[],
  options: IsolateOptions,
): IsolationPaths {
  const { policy, cwd, env } = options;
  const home = env.HOME?.startsWith("/") ? env.HOME : undefined;
  const read = [...policy.read ?? []];
  const write = [...policy.write ?? []];
  const program = programPaths(argv[0] ?? "", options, home);
  // What lies in a granted directory comes with it. A mount of its own fails where it
  // is a link, as a virtual environment's `bin/python3` is: bwrap follows it, out of
  // the root that it is building. Where the link leads is granted by itself.
  const granted = [...read, ...write, ...program];
  const apart = program.filter((path) =>
    !granted.some((dir) => dir !== path && isInside(path, dir))
  );
  return {
    read: [...read, ...apart],
    write,
    net: policy.net === true ||
      (Array.isArray(policy.net) && policy.net.length > 0),
    unixSockets: policy.unixSockets ?? false,
    accounts: policy.accounts ?? true,
    cwd,
    home,
  };
}

/** Scripts of scripts end somewhere; the kernel allows four levels. */
const MAX_INTERPRETERS = 4;

function programPaths(
  command: string,
  { cwd, env }: IsolateOptions,
  home: string | undefined,
): string[] {
  const paths: string[] = [];
  let next: string | undefined = command;
  for (let level = 0; level <= MAX_INTERPRETERS && next; level++) {
    const file = findExecutable(next, cwd, env.PATH);
    if (!file) break;
    paths.push(file, ...installation(file, { home, cwd }));
    next = interpreterOf(file);
  }
  return paths;
}
