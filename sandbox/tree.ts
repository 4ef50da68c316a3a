/**
 * Ending a process with everything that it started.
 *
 * A process group is not enough: a grandchild that made a session of its own has
 * left it, and when its parent ends first it hangs below init. So each tree carries
 * a mark in its environment, which children inherit, and what carries the mark is
 * found in `/proc`. A process that clears its environment *and* leaves its session
 * *and* loses its parent is out of reach here; a PID namespace (bubblewrap) has no
 * such hole, which is why isolation is the default for code that is not ours.
 *
 * @module
 */

import { pause } from "./timer.ts";

/** The variable whose value marks a tree. */
export const TREE_VARIABLE = "BULKHEAD_TREE";

/** Rounds of looking again for what was started while we killed. */
const MAX_ROUNDS = 50;

/** How long a killed process may take to disappear, in milliseconds. */
const GONE_MS = 5000;

/**
 * Finds the processes that carry a tree's mark.
 *
 * Deno reads `/proc` only with every permission; with fewer the search is done by a
 * short shell program, whose text is fixed.
 */
const FIND_MARKED =
  'grep -las -- "$1" /proc/[0-9]*/environ | cut -d/ -f3; exit 0';

/** Prints every process's stat line, for {@linkcode descendants}. */
const LIST_STATS =
  'for s in /proc/[0-9]*/stat; do read -r l < "$s" && echo "$l"; done 2>/dev/null; exit 0';

let procReadable: boolean | undefined;

/** Whether `/proc` can be read without a helper process. */
function canReadProc(): boolean {
  if (procReadable === undefined) {
    try {
      Deno.readTextFileSync("/proc/self/stat");
      procReadable = true;
    } catch {
      procReadable = false;
    }
  }
  return procReadable;
}

/** Sends a signal; `false` when there is nothing to send it to. */
export function signalProcess(pid: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(pid, signal);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return false;
  }
}

/** Sends a signal to a process and to the group that it leads. */
export function signalGroup(pid: number, signal: Deno.Signal): boolean {
  // Right after a spawn the group may not exist yet: always the pid as well.
  const group = signalProcess(-pid, signal);
  return signalProcess(pid, signal) || group;
}

/** Whether a process exists and is more than an unreaped entry. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    checkProcess(pid);
  } catch (error) {
    // One that we may not signal exists.
    return error instanceof Deno.errors.PermissionDenied;
  }
  if (Deno.build.os !== "linux") return true;
  const stat = parseStat(await readStat(pid));
  return stat !== undefined && !/[ZX]/.test(stat.state);
}

/** Sends no signal but fails when there is no such process. */
function checkProcess(pid: number): void {
  // kill(2) with signal 0; Deno takes the number although its type has only names.
  const kill: (pid: number, signal: Deno.Signal | number) => void = Deno.kill;
  kill(pid, 0);
}

/**
 * Kills everything that carries the mark, looks again until nothing is left, and
 * resolves when what was killed is gone.
 *
 * @param mark The tree's mark.
 * @param since The pid of the tree's first process; spares the search when nothing
 * was started on the machine since.
 * @returns The pids that had to be killed.
 */
export async function killMarked(
  mark: string,
  since?: number,
): Promise<number[]> {
  const killed = new Set<number>();
  if (Deno.build.os !== "linux") return [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const pids = await findMarked(mark, round === 0 ? since : undefined);
    if (pids.length === 0) break;
    for (const pid of pids) {
      signalProcess(pid, "SIGKILL");
      killed.add(pid);
    }
    await Promise.all(pids.map(untilGone));
  }
  return [...killed];
}

async function findMarked(mark: string, since?: number): Promise<number[]> {
  if (!canReadProc()) {
    const found = await shell(FIND_MARKED, `${TREE_VARIABLE}=${mark}`);
    return found.split("\n").filter(Boolean).map(Number)
      .filter((pid) => pid !== Deno.pid);
  }
  return candidates(since).filter((pid) =>
    pid !== Deno.pid &&
    readQuietly(`/proc/${pid}/environ`).includes(`${TREE_VARIABLE}=${mark}`)
  );
}

/** Up to here it is cheaper to try each pid than to list them all. */
const FEW_PIDS = 32;

/**
 * The processes that a tree may have started: those with a pid given out after its
 * own.
 */
function candidates(since: number | undefined): number[] {
  const newest = newestPid();
  // Pids start again from the bottom one day: then anything is possible.
  if (since === undefined || !(newest >= since)) return procPids();
  if (newest - since > FEW_PIDS) return procPids().filter((pid) => pid > since);
  return Array.from({ length: newest - since }, (_, at) => since + 1 + at);
}

/**
 * Whether nothing was started on the machine after a process, so that it cannot have
 * left anything behind; `false` when that cannot be seen.
 *
 * @param pid The process.
 */
export function isNewest(pid: number): boolean {
  return Deno.build.os === "linux" && canReadProc() && newestPid() === pid;
}

/** The pid given out last: the last field of `/proc/loadavg`. */
function newestPid(): number {
  return Number(readQuietly("/proc/loadavg").trim().split(" ").at(-1));
}

/** A process that is told from a later one with the same pid. */
export interface ProcessId {
  /** Its process id. */
  pid: number;
  /** When it started, in the kernel's ticks. */
  start: string;
}

/** Whether the process that was recorded is the one that has the pid now. */
export async function isSame(process: ProcessId): Promise<boolean> {
  return parseStat(await readStat(process.pid))?.start === process.start;
}

/**
 * The processes below one, by parent links.
 *
 * @param root The pid to start from.
 * @returns Its live descendants, parents before children.
 */
export async function descendants(root: number): Promise<ProcessId[]> {
  if (Deno.build.os !== "linux") return [];
  const stats = canReadProc()
    ? procPids().map((pid) => readQuietly(`/proc/${pid}/stat`))
    : (await shell(LIST_STATS, "")).split("\n");
  const children = new Map<number, ProcessId[]>();
  for (const text of stats) {
    const stat = parseStat(text);
    if (!stat) continue;
    const siblings = children.get(stat.parent) ?? [];
    children.set(stat.parent, siblings);
    siblings.push({ pid: stat.pid, start: stat.start });
  }
  const found: ProcessId[] = [];
  const queue = [root];
  for (let pid = queue.shift(); pid !== undefined; pid = queue.shift()) {
    const next = children.get(pid) ?? [];
    found.push(...next);
    queue.push(...next.map((child) => child.pid));
  }
  return found;
}

interface Stat extends ProcessId {
  state: string;
  parent: number;
}

/** Parses "pid (name) state ppid …"; the name may hold blanks and parentheses. */
function parseStat(text: string): Stat | undefined {
  const pid = Number.parseInt(text);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent] = fields;
  // Field 22 of proc_pid_stat(5); the slice starts at field 3.
  const start = fields[19];
  return Number.isInteger(pid) && state !== undefined && start !== undefined
    ? { pid, state, parent: Number(parent), start }
    : undefined;
}

async function readStat(pid: number): Promise<string> {
  return canReadProc()
    ? readQuietly(`/proc/${pid}/stat`)
    : await shell('cat "/proc/$1/stat" 2>/dev/null; exit 0', String(pid));
}

/** Resolves when a process has ended, or after a bound. */
export async function untilGone(pid: number): Promise<boolean> {
  const deadline = performance.now() + GONE_MS;
  for (let wait = 1; await isAlive(pid); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > deadline) return false;
    await pause(wait);
  }
  return true;
}

function procPids(): number[] {
  const pids: number[] = [];
  for (const entry of Deno.readDirSync("/proc")) {
    const pid = Number(entry.name);
    if (Number.isInteger(pid)) pids.push(pid);
  }
  return pids;
}

/** A `/proc` file's text; empty when the process is gone or not ours to read. */
function readQuietly(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Runs a fixed shell program with one argument and returns what it printed. */
async function shell(program: string, argument: string): Promise<string> {
  const output = await new Deno.Command("/bin/sh", {
    args: ["-c", program, "sh", argument],
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
    stdin: "null",
    stderr: "null",
  }).output();
  return new TextDecoder().decode(output.stdout);
}
