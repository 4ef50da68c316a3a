import { reasonOf } from "../reason.ts";
import { findExecutable } from "../executable.ts";
import { isInside } from "../paths.ts";
import type { IsolationPaths } from "./profile.ts";
import { isSystem, SYSTEM_DIRS, systemFiles } from "./system.ts";

/** What was found of bubblewrap. */
export interface BubblewrapProbe {
  /** Its path, when installed. */
  program: string | undefined;
  /** Whether it can make its namespaces here. */
  works: boolean;
  /** What was found, in one line. */
  detail: string;
}

/**
 * Looks for bwrap and has it run `true` in the namespaces that every call uses.
 *
 * @param path The PATH to search.
 * @returns What was found.
 */
export async function findBubblewrap(path: string): Promise<BubblewrapProbe> {
  const program = findExecutable("bwrap", "/", ownDirectories(path)) ??
    undefined;
  if (program === undefined) {
    return {
      program,
      works: false,
      detail: "bubblewrap (bwrap) is not on PATH",
    };
  }
  const argv = bubblewrapArgv(program, ["/usr/bin/true"], {
    read: [],
    write: [],
    net: false,
    unixSockets: false,
    accounts: true,
    cwd: "/",
    home: undefined,
  });
  try {
    const output = await new Deno.Command(program, {
      args: argv.slice(1),
      stdin: "null",
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin" },
    }).output();
    const said = new TextDecoder().decode(output.stderr).trim().split("\n")[0];
    return {
      program,
      works: output.success,
      detail: output.success
        ? `bubblewrap at "${program}"`
        : `bubblewrap cannot create its namespaces ("${said}")`,
    };
  } catch (error) {
    const reason = reasonOf(error);
    return {
      program,
      works: false,
      detail: `bubblewrap at "${program}" does not start: ${reason}`,
    };
  }
}

/**
 * The PATH without what belongs to the directory that we were started in: npx and npm put
 * its `node_modules/.bin` first, and what confines must not be the workspace's to choose.
 */
function ownDirectories(path: string): string {
  let here: string | undefined;
  try {
    here = Deno.cwd();
  } catch {
    // Gone, or not ours to know.
  }
  return path.split(":").filter((dir) =>
    isSystem(dir) ||
    !dir.endsWith("/node_modules/.bin") &&
      (here === undefined || here === "/" || !isInside(dir, here))
  ).join(":");
}

/** The command that would make bubblewrap work. */
export function bubblewrapFix(probe: BubblewrapProbe): string {
  if (probe.program === undefined) return "apt-get install bubblewrap";
  return exists("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    ? "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or give bwrap an AppArmor profile with userns)"
    : "sysctl -w kernel.unprivileged_userns_clone=1 (in a container: allow user namespaces)";
}

/**
 * The bwrap command line: an empty root with the system read-only, private /tmp and
 * home, the policy's paths, new namespaces for everything, and no network unless
 * asked for. Killing bwrap kills all inside, also what made sessions of its own.
 *
 * @param program The bwrap binary.
 * @param argv What to run.
 * @param paths What it may touch.
 * @returns The whole command line.
 */
export function bubblewrapArgv(
  program: string,
  argv: readonly string[],
  paths: IsolationPaths,
): string[] {
  return [
    program,
    "--unshare-all",
    ...paths.net ? ["--share-net"] : [],
    "--die-with-parent",
    "--new-session",
    ...systemMounts(),
    ...systemFiles(paths).flatMap((file) => ["--ro-bind-try", file, file]),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    ...paths.home ? privateHome(paths.home) : [],
    ...policyMounts(paths),
    // Empty when the policy does not grant it: the program still starts where it should.
    "--dir",
    paths.cwd,
    "--chdir",
    paths.cwd,
    "--",
    ...argv,
  ];
}

/**
 * An empty home. One that is a part of the system, such as `/` or `/dev/null` of a
 * service's account, cannot be covered; the program is told another then.
 */
function privateHome(home: string): string[] {
  const covered = [...SYSTEM_DIRS, "/etc", "/proc", "/dev"].some((dir) =>
    isInside(dir, home) || isInside(home, dir)
  );
  return covered ? ["--setenv", "HOME", "/tmp"] : ["--tmpfs", home];
}

let mounts: string[] | undefined;

/** The system directories; `/bin` and its like are links on merged systems. */
function systemMounts(): string[] {
  mounts ??= SYSTEM_DIRS.flatMap((dir) => {
    try {
      return Deno.lstatSync(dir).isSymlink
        ? ["--symlink", Deno.readLinkSync(dir), dir]
        : ["--ro-bind", dir, dir];
    } catch {
      return [];
    }
  });
  return mounts;
}

/**
 * Binds of the policy, outer directories first: an inner mount must come after the
 * one that would cover it, and of the same path the writable one wins.
 */
function policyMounts({ read, write }: IsolationPaths): string[] {
  const binds = new Map<string, string>();
  for (const path of read) binds.set(clean(path), "--ro-bind-try");
  for (const path of write) binds.set(clean(path), "--bind-try");
  return [...binds]
    .filter(([path, bind]) => bind === "--bind-try" || !isSystem(path))
    .sort(([a], [b]) => depth(a) - depth(b))
    .flatMap(([path, bind]) => [bind, path, path]);
}

function clean(path: string): string {
  return path.replace(/(.)\/+$/, "$1");
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
