import { findExecutable, interpreterOf } from "../executable.ts";
import type { IsolateOptions } from "../isolation.ts";
import { isInside, resolveTarget } from "../paths.ts";

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

/** Directories with programs and libraries, readable in every profile. */
export const SYSTEM_DIRS: readonly string[] = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/nix/store",
  "/run/current-system",
];

/** The part of `/etc` that programs need to start, and that holds no secret. */
const SYSTEM_FILES: readonly string[] = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/ld-musl-x86_64.path",
  "/etc/alternatives",
  "/etc/nsswitch.conf",
  "/etc/hosts",
  "/etc/services",
  "/etc/protocols",
  "/etc/host.conf",
  "/etc/gai.conf",
  "/etc/localtime",
  "/etc/timezone",
  "/etc/locale.alias",
  "/etc/mime.types",
  "/etc/magic",
  "/etc/terminfo",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/crypto-policies",
  "/etc/python3",
  "/etc/perl",
  "/etc/java-17-openjdk",
];

/** Needed only to find hosts. */
const NETWORK_FILES: readonly string[] = ["/etc/resolv.conf"];

/** Who has an account here. */
const ACCOUNT_FILES: readonly string[] = ["/etc/passwd", "/etc/group"];

/**
 * The system's own files that a call may read.
 *
 * @param paths What the call may touch.
 * @returns Absolute paths; some may not exist.
 */
export function systemFiles(paths: IsolationPaths): string[] {
  return [
    ...SYSTEM_FILES,
    ...paths.net ? NETWORK_FILES : [],
    ...paths.accounts ? ACCOUNT_FILES : [],
  ];
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
    paths.push(file, ...installation(file, home));
    next = interpreterOf(file);
  }
  return paths;
}

/**
 * What belongs to an installed program besides its file: for `<prefix>/bin/x` the
 * prefix, for a version manager's shim (`<root>/shims/x`) the manager's root. A
 * prefix that is the home or its `.local` is left out: it holds far more than the
 * program.
 */
function installation(file: string, home: string | undefined): string[] {
  let real: string;
  try {
    real = resolveTarget(file, "/");
  } catch {
    return [];
  }
  const found = [real];
  for (const path of new Set([file, real])) {
    const [, prefix] = /^(.*)\/(?:bin|shims)\/[^/]+$/.exec(path) ?? [];
    if (!prefix || prefix === home || prefix === `${home}/.local`) continue;
    if (isSystem(path)) continue;
    found.push(prefix);
  }
  return found;
}

function isSystem(path: string): boolean {
  return SYSTEM_DIRS.some((dir) => path.startsWith(`${dir}/`));
}
