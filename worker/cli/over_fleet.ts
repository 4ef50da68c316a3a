/**
 * The worker's commands over all machines: those that name a session of another host,
 * and the list. The fleet's program is loaded only here, and only when there is a fleet.
 *
 * @module
 */
import type { CommandIo, Flags } from "@bulkhead/sandbox/command";
import { type FleetSettings, fleetSettings } from "../fleet_settings.ts";
import { workerFiles } from "../store/home.ts";
import { bulkheadRoot, homeOf } from "./shared.ts";

/** Commands that the fleet has as well. */
const SHARED: ReadonlySet<string> = new Set([
  "ask",
  "watch",
  "answer",
  "interrupt",
  "status",
  "stop",
  "ui",
]);

/** Flags that mean the same there. */
const PASSED = ["cursor", "reason", "port", "uuid"] as const;

/**
 * Runs a command over the fleet when that is what is meant: it was asked for with
 * `--fleet`, or a fleet is configured and the session is `HOST.ID` of another machine.
 *
 * @param word The command.
 * @param flags Its flags.
 * @param io Where to read and write.
 * @returns The exit code; `undefined` when the command is about this machine.
 */
export async function overFleet(
  word: string,
  flags: Flags,
  io: CommandIo,
): Promise<number | undefined> {
  if (!SHARED.has(word)) return undefined;
  const asked = flags.text("fleet") !== undefined;
  const remote = /^[\w-]+\.[\w-]+$/.test(flags.operands[0] ?? "");
  if (!asked && (!remote || await isHere(flags))) return undefined;
  const settings = await settingsOf(flags);
  if (settings === undefined) return undefined;
  return await run(settings, [
    word,
    ...flags.operands,
    ...PASSED.flatMap((name) => {
      const value = flags.text(name);
      return value === undefined ? [] : [`--${name}`, value];
    }),
    ...flags.off("wait") ? ["--no-wait"] : [],
    ...flags.on("other") ? ["--other"] : [],
    ...flags.on("json") ? ["--json"] : [],
  ], io);
}

/**
 * What the other machines run, below this machine's own list.
 *
 * @param flags The flags of `list`.
 * @param io Where to write.
 * @param shown The sessions of this machine, which are listed already, and whether they run.
 * @returns What is there, or why it cannot be told; `undefined` without a fleet.
 */
export async function fleetBelow(
  flags: Flags,
  io: CommandIo,
  shown: ReadonlyMap<string, boolean>,
): Promise<{ view: object } | { problem: string } | undefined> {
  const settings = await settingsOf(flags);
  if (settings === undefined) return undefined;
  let out = "";
  const code = await run(settings, [
    "list",
    ...flags.on("json") ? ["--json"] : [],
  ], {
    ...io,
    out: (text) => void (out += text),
    err: (text) => void (out += text),
  }, shown);
  if (code !== 0) {
    const problem = flags.on("json") ? errorOf(out) : out.trim();
    if (settings.explicit) throw new Error(problem.replace(/^error: /, ""));
    if (!flags.on("json")) io.err(`${problem}\n`);
    return { problem };
  }
  if (!flags.on("json")) io.out(out);
  return { view: flags.on("json") ? JSON.parse(out) : {} };
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text);
    return typeof error === "string" ? error : String(error?.message ?? text);
  } catch {
    return text.trim();
  }
}

async function run(
  settings: FleetSettings,
  args: string[],
  io: CommandIo,
  shown: ReadonlyMap<string, boolean> = new Map(),
): Promise<number> {
  const { fleetCommand } = await import("../fleet_nats/cli.ts");
  return await fleetCommand(args, io, { settings, shown });
}

async function settingsOf(flags: Flags): Promise<FleetSettings | undefined> {
  const home = bulkheadRoot(homeOf(flags).root);
  return await fleetSettings(home, (name) => flags.text(name));
}

async function isHere(flags: Flags): Promise<boolean> {
  try {
    await Deno.lstat(workerFiles(homeOf(flags), flags.operands[0] ?? "").dir);
    return true;
  } catch {
    return false;
  }
}
