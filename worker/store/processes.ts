/**
 * Processes of this machine: when they were started, what they hold, and how to end
 * one that somebody else left behind.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { bootTime, shell } from "./machine.ts";

/** When a process was started. */
export interface ProcessStart {
  /** Clock ticks since boot, the field 22 of `/proc/PID/stat`. */
  readonly ticks: number;
  /** Milliseconds since the epoch, by the clock of now. */
  readonly ms: number;
}

/**
 * Milliseconds since the machine booted: it goes on when the clock of the day jumps.
 *
 * @returns The time.
 */
export async function uptimeMs(): Promise<number> {
  const ticks = (await processStart(Deno.pid))?.ticks ?? 0;
  return ticks * (1000 / TICKS) + performance.now();
}

/** Memory and start of a process. */
export interface ProcessInfo extends ProcessStart {
  /** Resident memory in bytes. */
  readonly rssBytes: number;
  /** Pid of its parent. */
  readonly parent: number;
}

/** Ticks a second: fixed on Linux for what user space sees. */
const TICKS = 100;
const PAGE = 4096;
const READ_STATS =
  'for p in "$@"; do read -r l < "/proc/$p/stat" && echo "$l"; done 2>/dev/null; exit 0';
const READ_ALL =
  'for s in /proc/[0-9]*/stat; do read -r l < "$s" && echo "$l"; done 2>/dev/null; exit 0';

/**
 * When the process was started; `undefined` when there is none, or it is only waiting to be reaped.
 *
 * @param pid The process.
 * @returns Its start.
 */
export async function processStart(
  pid: number,
): Promise<ProcessStart | undefined> {
  return (await processInfo([pid])).get(pid);
}

/**
 * Start and memory of processes; those that do not exist are left out.
 *
 * @param pids The processes; all of the machine by default.
 * @returns What is known, by pid.
 */
export async function processInfo(
  pids?: readonly number[],
): Promise<Map<number, ProcessInfo>> {
  const wanted = pids?.filter((pid) => Number.isSafeInteger(pid) && pid > 0);
  if (wanted?.length === 0) return new Map();
  if (Deno.build.os !== "linux") return await psInfo(wanted);
  const found = new Map<number, ProcessInfo>();
  const boot = await bootTime();
  for (const line of (await readStats(wanted)).split("\n")) {
    const close = line.lastIndexOf(")");
    const pid = Number.parseInt(line);
    const fields = line.slice(close + 2).split(" ");
    if (close < 0 || !(pid > 0) || /[ZX]/.test(fields[0] ?? "Z")) continue;
    const ticks = Number(fields[19]);
    found.set(pid, {
      ticks,
      ms: boot + ticks * (1000 / TICKS),
      rssBytes: Number(fields[21]) * PAGE,
      parent: Number(fields[1]),
    });
  }
  return found;
}

/** Other systems: ps(1), which tells the start in whole seconds. */
async function psInfo(
  pids: readonly number[] | undefined,
): Promise<Map<number, ProcessInfo>> {
  const script = 'LC_ALL=C exec ps -o pid= -o ppid= -o rss= -o lstart= "$@"';
  const args = pids === undefined ? ["-A"] : ["-p", pids.join(",")];
  const found = new Map<number, ProcessInfo>();
  for (const line of (await shell(script, args)).split("\n")) {
    const [, pid, parent, rss, start] =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.+)$/.exec(line) ?? [];
    const ms = Date.parse(start ?? "");
    if (pid === undefined || Number.isNaN(ms)) continue;
    found.set(Number(pid), {
      ticks: ms / 10,
      ms,
      rssBytes: Number(rss) * 1024,
      parent: Number(parent),
    });
  }
  return found;
}

async function readStats(pids: readonly number[] | undefined): Promise<string> {
  const lines: string[] = [];
  try {
    for (const pid of pids ?? await allPids()) {
      lines.push(
        await Deno.readTextFile(`/proc/${pid}/stat`).catch(unreadable),
      );
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    return pids === undefined
      ? await shell(READ_ALL)
      : await shell(READ_STATS, pids.map(String));
  }
  return lines.join("\n");
}

/** A process that is gone has no text; a missing grant is told. */
function unreadable(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable) throw error;
  return "";
}

async function allPids(): Promise<number[]> {
  const pids: number[] = [];
  for await (const entry of Deno.readDir("/proc")) {
    if (/^\d+$/.test(entry.name)) pids.push(Number(entry.name));
  }
  return pids;
}

/** A process that cannot be taken for a later one of the same pid. */
export interface ProcessMark {
  /** Its pid. */
  readonly pid: number;
  /** Its start in clock ticks since boot. */
  readonly ticks: number;
}

/**
 * A process and everything below it, by parent links, parents first.
 *
 * @param root The pid to start from.
 * @param all The processes of the machine, when they are known already.
 * @returns The marks; empty when there is no such process.
 */
export async function processTree(
  root: number,
  all?: ReadonlyMap<number, ProcessInfo>,
): Promise<ProcessMark[]> {
  const known = all ?? await processInfo();
  const first = known.get(root);
  if (first === undefined) return [];
  const children = childrenOf(known);
  const tree: ProcessMark[] = [{ pid: root, ticks: first.ticks }];
  for (let at = 0; at < tree.length; at++) {
    for (const pid of children.get(tree[at]?.pid ?? 0) ?? []) {
      const info = known.get(pid);
      if (info !== undefined && pid !== root) {
        tree.push({ pid, ticks: info.ticks });
      }
    }
  }
  return tree;
}

const indexes = new WeakMap<object, Map<number, number[]>>();

/** The pids below each pid; made once for one look at the machine. */
function childrenOf(
  all: ReadonlyMap<number, ProcessInfo>,
): ReadonlyMap<number, readonly number[]> {
  let index = indexes.get(all);
  if (index !== undefined) return index;
  index = new Map();
  for (const [pid, { parent }] of all) {
    const siblings = index.get(parent);
    if (siblings === undefined) index.set(parent, [pid]);
    else siblings.push(pid);
  }
  indexes.set(all, index);
  return index;
}

/** How {@linkcode endProcess} ends a process. */
export interface EndProcessOptions {
  /**
   * Milliseconds between SIGTERM and SIGKILL.
   *
   * @default {5000}
   */
  readonly termMs?: number;
}

/** How long the kernel may take to end what was killed. */
const GONE_MS = 5_000;

/**
 * Ends a process that somebody else left behind, with everything below it: SIGTERM to the process,
 * which ends its own shells; after a wait SIGKILL to whatever is left of the tree.
 *
 * @param mark The process; one that has its pid now but another start is left alone.
 * @param options The wait.
 * @returns True when there was something to end, and nothing of it is left.
 *
 * @example
 * ```ts
 * import { startProcess } from "@bulkhead/sandbox";
 * import { endProcess, processStart } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const child = await startProcess(["sleep", "60"]);
 * const start = await processStart(child.pid);
 * assertEquals(await endProcess({ pid: child.pid, ticks: start?.ticks ?? 0 }), true);
 * await child.end();
 * await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
 * ```
 */
export async function endProcess(
  mark: ProcessMark,
  options: EndProcessOptions = {},
): Promise<boolean> {
  if (!await isAlive(mark)) return false;
  const tree = await processTree(mark.pid);
  signal(mark.pid, "SIGTERM");
  await untilGone([mark], options.termMs ?? 5_000);
  for (const part of await living(tree)) signal(part.pid, "SIGKILL");
  return await untilGone(tree, GONE_MS);
}

async function isAlive(mark: ProcessMark): Promise<boolean> {
  return (await processStart(mark.pid))?.ticks === mark.ticks;
}

async function living(marks: readonly ProcessMark[]): Promise<ProcessMark[]> {
  const now = await processInfo(marks.map((mark) => mark.pid));
  return marks.filter((mark) => now.get(mark.pid)?.ticks === mark.ticks);
}

async function untilGone(
  marks: readonly ProcessMark[],
  ms: number,
): Promise<boolean> {
  const deadline = performance.now() + ms;
  for (let wait = 2;; wait = Math.min(wait * 2, 100)) {
    if ((await living(marks)).length === 0) return true;
    if (performance.now() >= deadline) return false;
    await pause(wait);
  }
}

function signal(pid: number, name: Deno.Signal): void {
  try {
    Deno.kill(pid, name);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
}
