import { denoEntry } from "../entry.ts";
import { temporaryDirectory } from "../temporary.ts";
import type { IsolationPaths } from "./profile.ts";
import { SYSTEM_DIRS, systemFiles } from "./system.ts";

/** The launcher's permissions: the system calls and the look at each path. */
const LAUNCHER_FLAGS = ["--allow-ffi", "--allow-read"];

/** Devices that a program may use. */
const DEVICES = [
  "/dev/null",
  "/dev/zero",
  "/dev/full",
  "/dev/random",
  "/dev/urandom",
  "/dev/tty",
];

/** What the launcher is told, as JSON. */
export interface LandlockRules {
  /** Paths to read and execute. */
  read: string[];
  /** Paths to read, execute and write. */
  write: string[];
  /** Whether to leave TCP and other sockets alone. */
  net: boolean;
  /** Whether to leave unix sockets alone. */
  unixSockets: boolean;
}

function launcher(args: readonly string[]): {
  argv: string[];
  env: Record<string, string>;
} {
  const url = new URL("./landlock_exec.ts", import.meta.url);
  return denoEntry(url, { permissions: LAUNCHER_FLAGS, args, config: false });
}

/**
 * Asks the kernel for Landlock by letting the launcher confine `true`.
 *
 * @returns Whether it works, and what was found.
 */
export async function probeLandlock(): Promise<
  { works: boolean; detail: string }
> {
  if (Deno.build.arch !== "x86_64" && Deno.build.arch !== "aarch64") {
    return {
      works: false,
      detail: `Landlock is not supported on ${Deno.build.arch} yet`,
    };
  }
  const { argv, env } = launcher(["--probe"]);
  const output = await new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    clearEnv: true,
    env,
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(
    output.success ? output.stdout : output.stderr,
  ).trim().split("\n")[0] ?? "";
  return output.success
    ? { works: true, detail: `Landlock ABI ${said}` }
    : { works: false, detail: `Landlock is not available ("${said}")` };
}

/**
 * The command line of the Landlock launcher, with a private temp directory.
 *
 * It confines files and sockets but not processes: there is no PID namespace, and
 * the names (not the contents) of hidden files can be seen.
 *
 * @param argv What to run.
 * @param paths What it may touch.
 * @returns Command line, environment and clean-up.
 */
export async function landlockArgv(
  argv: readonly string[],
  paths: IsolationPaths,
): Promise<{
  argv: string[];
  env: Record<string, string>;
  dispose(): Promise<void>;
}> {
  const temp = await temporaryDirectory({ prefix: "bulkhead-tmp-" });
  const rules: LandlockRules = {
    read: [
      ...SYSTEM_DIRS,
      ...systemFiles(paths),
      "/proc",
      ...paths.read,
    ],
    write: [...DEVICES, ...paths.write, temp],
    net: paths.net,
    unixSockets: paths.unixSockets,
  };
  const entry = launcher([JSON.stringify(rules), "--", ...argv]);
  return {
    argv: entry.argv,
    // A home that can be used, as the private one under bubblewrap is.
    env: { ...entry.env, TMPDIR: temp, ...paths.home ? { HOME: temp } : {} },
    dispose: () =>
      Deno.remove(temp, { recursive: true }).catch(() => {
        // A directory that the program made unreadable; the system sweeps it.
      }),
  };
}
