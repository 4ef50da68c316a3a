/**
 * Which machine this is, and when a process on it was started.
 *
 * Deno reads `/proc` only with every permission; with fewer a short shell program
 * with a fixed text does.
 *
 * @module
 */
import { run } from "@bulkhead/sandbox";

/** What identifies this machine and this boot. */
export interface Machine {
  /** The host's name. */
  readonly host: string;
  /** `/etc/machine-id` and the inode of the pid namespace; absent where there is none. */
  readonly machineId?: string;
  /** Id of the current boot. */
  readonly bootId?: string;
  /** When the machine booted, in ms since the epoch by the clock of now. */
  readonly bootMs?: number;
}

/** When a process was started. */
export interface ProcessStart {
  /** Clock ticks since boot, the field 22 of `/proc/PID/stat`. */
  readonly ticks: number;
  /** Milliseconds since the epoch, by the clock of now. */
  readonly ms: number;
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
const READ_MACHINE = "cat /proc/sys/kernel/hostname; echo; " +
  "cat /etc/machine-id 2>/dev/null; echo; readlink /proc/self/ns/pid; echo; " +
  "cat /proc/sys/kernel/random/boot_id; echo; grep ^btime /proc/stat; exit 0";
const READ_STATS =
  'for p in "$@"; do read -r l < "/proc/$p/stat" && echo "$l"; done 2>/dev/null; exit 0';

let known: Promise<Machine> | undefined;

/**
 * This machine. Everything but the boot time is read once.
 *
 * @returns Its name and ids
 */
export async function thisMachine(): Promise<Machine> {
  known ??= readMachine();
  return await known;
}

async function readMachine(): Promise<Machine> {
  if (Deno.build.os !== "linux") return { host: await hostName() };
  const text = await readDirectly([
    "/proc/sys/kernel/hostname",
    "/etc/machine-id",
    "",
    "/proc/sys/kernel/random/boot_id",
    "/proc/stat",
  ]) ?? await shell(READ_MACHINE);
  const [host = "", id = "", ns = "", boot = "", stat = ""] = text.split("\n\n")
    .map((part) => part.trim());
  const inode = /\[(\d+)\]/.exec(ns)?.[1];
  const btime = /^btime (\d+)/m.exec(stat)?.[1];
  return {
    host,
    ...id !== "" && inode !== undefined ? { machineId: `${id}:${inode}` } : {},
    ...boot === "" ? {} : { bootId: boot },
    ...btime === undefined ? {} : { bootMs: Number(btime) * 1000 },
  };
}

/** Reads with every permission; `undefined` otherwise. An empty path stands for the pid namespace. */
async function readDirectly(paths: string[]): Promise<string | undefined> {
  const parts: string[] = [];
  for (const path of paths) {
    try {
      parts.push(
        path === ""
          ? await Deno.readLink("/proc/self/ns/pid")
          : (await Deno.readTextFile(path)).trim(),
      );
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) return undefined;
      parts.push("");
    }
  }
  return parts.join("\n\n");
}

async function hostName(): Promise<string> {
  try {
    return Deno.hostname();
  } catch {
    return (await shell("hostname")).trim();
  }
}

/**
 * When the process was started; `undefined` when there is none, or it is only waiting to be reaped.
 *
 * @param pid The process
 * @returns Its start
 */
export async function processStart(
  pid: number,
): Promise<ProcessStart | undefined> {
  return (await processInfo([pid])).get(pid);
}

/**
 * Start and memory of processes; those that do not exist are left out.
 *
 * @param pids The processes
 * @returns What is known, by pid
 */
export async function processInfo(
  pids: readonly number[],
): Promise<Map<number, ProcessInfo>> {
  const found = new Map<number, ProcessInfo>();
  const wanted = pids.filter((pid) => Number.isSafeInteger(pid) && pid > 0);
  if (wanted.length === 0 || Deno.build.os !== "linux") return found;
  const stats = await readStats(wanted);
  const boot = await bootTime();
  for (const line of stats.split("\n")) {
    const open = line.indexOf("("), close = line.lastIndexOf(")");
    if (open < 0 || close < 0) continue;
    const pid = Number(line.slice(0, open));
    const fields = line.slice(close + 2).split(" ");
    if (/[ZX]/.test(fields[0] ?? "Z")) continue;
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

/** The boot time moves with the clock: it is read again each time where that is cheap. */
async function bootTime(): Promise<number> {
  const stat = await readDirectly(["/proc/stat"]);
  const btime = /^btime (\d+)/m.exec(stat ?? "")?.[1];
  if (btime !== undefined) return Number(btime) * 1000;
  return (await thisMachine()).bootMs ?? 0;
}

async function readStats(pids: readonly number[]): Promise<string> {
  const lines: string[] = [];
  for (const pid of pids) {
    try {
      lines.push((await Deno.readTextFile(`/proc/${pid}/stat`)).trim());
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) {
        return await shell(READ_STATS, pids.map(String));
      }
    }
  }
  return lines.join("\n");
}

async function shell(
  script: string,
  args: readonly string[] = [],
): Promise<string> {
  const result = await run(["/bin/sh", "-c", script, "sh", ...args], {
    env: {},
  });
  return result.stdout;
}
