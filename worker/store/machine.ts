/**
 * Which machine this is.
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

const READ_MACHINE = "cat /proc/sys/kernel/hostname; echo; " +
  "cat /etc/machine-id 2>/dev/null; echo; readlink /proc/self/ns/pid; echo; " +
  "cat /proc/sys/kernel/random/boot_id; echo; grep ^btime /proc/stat; exit 0";

let known: Promise<Machine> | undefined;

/**
 * This machine. Everything but the boot time is read once.
 *
 * @returns Its name and ids.
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
async function readDirectly(
  paths: string[],
): Promise<string | undefined> {
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

/** The boot time moves with the clock: it is read again each time where that is cheap. */
export async function bootTime(): Promise<number> {
  const stat = await readDirectly(["/proc/stat"]);
  const btime = /^btime (\d+)/m.exec(stat ?? "")?.[1];
  if (btime !== undefined) return Number(btime) * 1000;
  return (await thisMachine()).bootMs ?? 0;
}

/** Runs a fixed shell program, for what may not be read directly. */
export async function shell(
  script: string,
  args: readonly string[] = [],
): Promise<string> {
  const result = await run(["/bin/sh", "-c", script, "sh", ...args], {
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
  });
  return result.stdout;
}
