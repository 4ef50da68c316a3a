/** How often the launchers are looked at; only a run that has some looks. */
const EVERY_MS = 1000;

/** One process above us, which its id and its start time name for good. */
interface Launcher {
  pid: number;
  started: string;
}

/**
 * Programs that start us and wait for us: npx and its like, node with one of their
 * scripts, `deno task`. A shell between them is one of theirs.
 */
const LAUNCHER =
  /^(?:\S*\/)?(?:(?:npm|npx|pnpm|yarn|bunx?)(?: |$)|node \S*(?:npm-cli|npx-cli|\/\.bin\/|\/deno\/bin)|deno (?:-\S+ )*task(?: |$))/;
const SHELL = /^(?:\S*\/)?(?:sh|dash|bash) -c /;

/**
 * Ends this process in order when a program that only started it is killed: `kill -9`
 * of npx or of a task runner tells nobody below. A shell that goes away says so by
 * a hang-up, and one that asked for us to stay does not, so shells are not watched.
 *
 * @param gone Called once.
 * @returns A function that stops looking.
 */
export function watchLaunchers(gone: () => void): () => void {
  const launchers = launchersAbove();
  if (launchers.length === 0) return () => {};
  const timer = setInterval(() => {
    if (launchers.every(lives)) return;
    clearInterval(timer);
    gone();
  }, EVERY_MS);
  Deno.unrefTimer(timer);
  return () => clearInterval(timer);
}

/** The processes above us up to the outermost launcher; none where `/proc` cannot be read. */
function launchersAbove(): Launcher[] {
  const above: Launcher[] = [];
  let count = 0;
  let pid = Deno.ppid;
  while (pid > 1 && above.length < 16) {
    const seen = look(pid);
    const line = commandLine(pid);
    if (seen === undefined || line === undefined) break;
    const launcher = LAUNCHER.test(line);
    if (!launcher && !SHELL.test(line)) break;
    above.push({ pid, started: seen.started });
    if (launcher) count = above.length;
    pid = seen.parent;
  }
  return above.slice(0, count);
}

function lives({ pid, started }: Launcher): boolean {
  const seen = look(pid);
  // One that nobody has waited for yet is dead all the same.
  return seen !== undefined && seen.started === started &&
    !/[ZX]/.test(seen.state);
}

function look(
  pid: number,
): { state: string; parent: number; started: string } | undefined {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The name before it may hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent = "0"] = fields;
    return { state, parent: Number(parent), started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string | undefined {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0").join(" ");
  } catch {
    return undefined;
  }
}
