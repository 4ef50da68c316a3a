import { inheritedEnvironment } from "./environment.ts";
import { findExecutable, startError } from "./executable.ts";
import {
  isolate,
  type IsolationBackend,
  type IsolationOptions,
} from "./isolation.ts";
import { namePermission, requirePermissions } from "./permissions.ts";
import { isNewest, killMarked, signalGroup, TREE_VARIABLE } from "./tree.ts";

/** What every way of starting a process takes. */
export interface SpawnOptions {
  /** Working directory; ours by default. */
  cwd?: string;
  /**
   * The child's whole environment.
   *
   * @default {inheritedEnvironment()}
   */
  env?: Readonly<Record<string, string>>;
  /** Confine the child; not confined by default. */
  isolation?: IsolationOptions;
}

/** How to connect the three streams. */
export interface Wiring {
  stdin: "piped" | "null";
  stdout: "piped" | "null";
  stderr: "piped" | "null" | "inherit";
  /** Signal the child gets when we die; needs setpriv(1) on Linux. */
  parentDeath?: Deno.Signal | undefined;
}

/** A started child and the means to end its whole tree. */
export interface Tree {
  child: Deno.ChildProcess;
  backend: IsolationBackend;
  /** What is not in force, in one line, when less than asked for is. */
  notice?: string;
  /** Kills whatever is left of the tree; returns the escapees that it found. */
  kill(): Promise<number[]>;
  /** Removes what the isolation made for this one call. */
  dispose(): Promise<void>;
  /** Why the program could not be executed, if its exit says so. */
  execFailure(code: number, stderr: string): Promise<Error | undefined>;
}

/**
 * util-linux's setsid(1) execs in place, so the child leads its own session and
 * group at a flat 0.5 ms; `detached` costs more the more memory we use.
 */
const SETSID = "/usr/bin/setsid";
const SETPRIV = "/usr/bin/setpriv";

/**
 * The signal of setpriv(1) is sent by a parent that dies after it was asked for. One
 * that died before is noticed here, by whose child we are now.
 */
const UNLESS_ORPHANED =
  'parent=$1; shift; [ "$PPID" = "$parent" ] || kill -KILL $$; exec "$@"';

/** What a POSIX shell passes on; it may drop a variable with any other name. */
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A wrapper that failed to exec says so in this form, with one of two codes. */
const WRAPPER_FAILED =
  /^(?:setsid|setpriv|sh|bwrap|landlock|(?:\/usr\/bin\/)?env): /;

/** Starts a child at the head of its own process group. */
export async function spawnTree(
  argv: readonly string[],
  options: SpawnOptions,
  wiring: Wiring,
): Promise<Tree> {
  const command = programOf(argv);
  requirePermissions(`Starting "${command}"`, [{ name: "run" }]);
  const cwd = options.cwd ?? Deno.cwd();
  const env = { ...options.env ?? inheritedEnvironment() };
  if (!isFound(command, cwd, env.PATH)) {
    const error = await startError(command, cwd, env.PATH);
    if (error) throw error;
  }
  const isolated = options.isolation
    ? await isolate(argv, { ...options.isolation, cwd, env })
    : undefined;
  const mark = crypto.randomUUID();
  const confined = isolated?.backend === "bubblewrap";
  // bwrap dies with us by itself, a few milliseconds after its start; whoever asked
  // for confinement and got less should not get that less too.
  const asked = options.isolation !== undefined &&
    options.isolation.level !== "off";
  const { parentDeath = asked ? "SIGKILL" : undefined } = wiring;
  Object.assign(env, isolated?.env);
  env[TREE_VARIABLE] = mark;
  try {
    const child = start(isolated?.argv ?? argv, {
      cwd,
      env,
      wiring: { ...wiring, parentDeath: confined ? undefined : parentDeath },
      wrap: !confined,
    });
    let exited = false;
    child.status.then(() => exited = true);
    return {
      child,
      backend: isolated?.backend ?? "none",
      ...isolated?.notice === undefined ? {} : { notice: isolated.notice },
      async kill(): Promise<number[]> {
        // Its pid may be somebody else's by now: not signalled without need.
        if (exited && (confined || isNewest(child.pid))) return [];
        const running = signalGroup(child.pid, "SIGKILL");
        if (confined) {
          // A PID namespace ends with its first process, which ends with bwrap. But
          // killed within its first milliseconds, before it has tied that process to
          // itself, bwrap leaves it and the program behind.
          if (!running) return [];
          await child.status;
        }
        return await killMarked(mark, child.pid);
      },
      dispose: () => isolated?.dispose() ?? Promise.resolve(),
      async execFailure(code, stderr): Promise<Error | undefined> {
        const failed = (code === 126 || code === 127 || code === 1) &&
          WRAPPER_FAILED.test(stderr);
        if (!failed) return undefined;
        return await startError(command, cwd, env.PATH) ??
          (confined ? mountFailure(command, code, stderr) : undefined);
      },
    };
  } catch (error) {
    await isolated?.dispose();
    throw await startError(command, cwd, env.PATH) ??
      namePermission(`Starting "${command}"`, error);
  }
}

/** The program of a command line; one that no system could start is refused. */
function programOf(argv: readonly string[]): string {
  const [command] = argv;
  if (command === undefined || command === "") {
    throw new TypeError("Cannot start a process: the command line is empty");
  }
  const bad = argv.find((part) => part.includes("\0"));
  if (bad !== undefined) {
    throw new TypeError(
      `Cannot start "${command}": the argument ${
        JSON.stringify(bad)
      } holds a NUL character`,
    );
  }
  return command;
}

/** bwrap's one line when it cannot build what the policy asks for; nothing was started then. */
function mountFailure(
  command: string,
  code: number,
  stderr: string,
): Error | undefined {
  const [, said] = /^bwrap: ([^\n]+)\n?$/.exec(stderr) ?? [];
  if (said === undefined || code !== 1 || command.endsWith("bwrap")) {
    return undefined;
  }
  return new Error(
    `Cannot start "${command}" in bubblewrap: "${said}"; grant the directory that a link leads to, not the link in another granted directory`,
  );
}

/** Programs remembered, for every PATH anew. */
const MAX_FOUND = 256;

/** Where programs that are named without a directory were last found. */
const lastFound = new Map<string, string>();

/** Whether there is a program to start; also true when we may not look. */
function isFound(
  command: string,
  cwd: string,
  path: string | undefined,
): boolean {
  if (command.includes("/")) return findExecutable(command, cwd, path) !== null;
  // Each directory of PATH without it costs an error with a stack trace. The kernel
  // looks again in the right order, so one place where it still is answers this.
  const key = `${command}\0${path}`;
  const last = lastFound.get(key);
  if (last !== undefined && findExecutable(last, cwd, path)) return true;
  const found = findExecutable(command, cwd, path);
  if (lastFound.size >= MAX_FOUND) lastFound.clear();
  if (found) lastFound.set(key, found);
  return found !== null;
}

interface StartOptions {
  cwd: string;
  env: Record<string, string>;
  wiring: Wiring;
  wrap: boolean;
}

function start(
  argv: readonly string[],
  { cwd, env, wiring, wrap }: StartOptions,
): Deno.ChildProcess {
  const { parentDeath, ...streams } = wiring;
  const linux = Deno.build.os === "linux";
  const line = [
    ...wrap && linux && hasProgram(SETSID) ? [SETSID] : [],
    ...wrap && linux && parentDeath ? tiedToUs(parentDeath, env) : [],
    ...argv,
  ];
  return new Deno.Command(line[0] ?? "", {
    args: line.slice(1),
    cwd,
    env,
    clearEnv: true,
    ...streams,
    // bwrap makes its own session; elsewhere without setsid this is the only way.
    ...wrap && line[0] !== SETSID ? { detached: true } : {},
  }).spawn();
}

/** What to start a program through so that it gets a signal when we die. */
function tiedToUs(
  signal: Deno.Signal,
  env: Readonly<Record<string, string>>,
): string[] {
  if (!hasProgram(SETPRIV)) return [];
  const line = [SETPRIV, "--pdeathsig", signal.slice(3), "--"];
  if (Object.keys(env).every((name) => SHELL_NAME.test(name))) {
    line.push("/bin/sh", "-c", UNLESS_ORPHANED, "sh", `${Deno.pid}`);
  }
  return line;
}

const programs = new Map<string, boolean>();

/** Whether a helper is installed; taken for granted when we may not look. */
function hasProgram(path: string): boolean {
  let found = programs.get(path);
  if (found === undefined) {
    try {
      found = Deno.statSync(path).isFile;
    } catch (error) {
      found = error instanceof Deno.errors.NotCapable;
    }
    programs.set(path, found);
  }
  return found;
}
