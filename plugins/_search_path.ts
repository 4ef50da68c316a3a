import { inheritedEnvironment, run, startError } from "@bulkhead/sandbox";
import { messageOf, printable } from "./_text.ts";

/** The PATH of one load, which remembers what it has found: many plugins name the same few programs. */
export class SearchPath {
  /** The directories, joined by `:`. */
  readonly value: string;
  readonly #problems = new Map<string, string | undefined>();

  /** A path with nothing looked up on it yet. */
  constructor(value: string) {
    this.value = value;
  }

  /** Why the command cannot be started from the directory; undefined when it can. */
  problem(command: string, dir: string): string | undefined {
    const key = command.includes("/") ? `${dir}\0${command}` : command;
    if (!this.#problems.has(key)) {
      const error = startError(command, dir, this.value);
      this.#problems.set(key, error && printable(error.message));
    }
    return this.#problems.get(key);
  }
}

/**
 * The PATH that programs of plugins are looked up on, as far as this process may know it. A host that a desktop has
 * started lacks what the login shell adds (version managers, `~/.local/bin`); with `login` that is asked for, once.
 */
export async function searchPath(
  login: boolean,
  notices: string[],
): Promise<SearchPath | undefined> {
  for (
    const grant of [{ name: "read" }, {
      name: "env",
      variable: "PATH",
    }] as const
  ) {
    const { state } = await Deno.permissions.query(grant);
    if (state !== "granted") return undefined;
  }
  const own = directories(Deno.env.get("PATH") ?? "");
  if (!login) return new SearchPath(own.join(":"));
  try {
    const more = await loginPath();
    return new SearchPath([...new Set([...own, ...more])].join(":"));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    notices.push(
      `login_path = true has no effect: ${messageOf(error)}`,
    );
    return new SearchPath(own.join(":"));
  }
}

/** One question per shell and home. */
const asked = new Map<string, Promise<string[]>>();

function loginPath(): Promise<string[]> {
  const env = inheritedEnvironment();
  const shell = env.SHELL ?? "/bin/sh";
  const key = `${shell}\0${env.HOME}`;
  let answer = asked.get(key);
  if (answer === undefined) {
    answer = askLoginShell(shell, env);
    asked.set(key, answer);
    answer.catch(() => asked.delete(key));
  }
  return answer;
}

const MARK = "bulkhead-path:";

/** Runs the user's own start-up files, as a terminal would; version managers add themselves in any of them. */
async function askLoginShell(
  shell: string,
  env: Record<string, string>,
): Promise<string[]> {
  const result = await run(
    [shell, "-ilc", `printf '\\n%s%s\\n' ${MARK} "$PATH"`],
    { env, cwd: env.HOME ?? "/", timeoutMs: 10_000 },
  );
  const line = result.stdout.split("\n").findLast((each) =>
    each.startsWith(MARK)
  );
  if (line === undefined) {
    throw new Error(
      `the login shell "${shell}" ${
        result.timedOut
          ? "took longer than 10 seconds"
          : `ended with ${result.code ?? result.signal}`
      } and did not say its PATH`,
    );
  }
  return directories(line.slice(MARK.length));
}

function directories(path: string): string[] {
  return path.split(":").filter((dir) => dir.startsWith("/"));
}
