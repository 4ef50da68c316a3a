import { type CommandIo, UsageError } from "@bulkhead/sandbox/command";
import type { Worker } from "@bulkhead/worker";
import type { FleetMember } from "@bulkhead/worker/fleet";
import { fleetSettings } from "@bulkhead/worker/fleet-settings";
import type { RunArguments } from "./options.ts";

/** A session of a run that is to be in the fleet. */
export interface FleetSession {
  /** Its short id here. */
  shortId: string;
  /** Its id: the one that is resumed, or a new one. */
  sessionId: string;
  /** Where it works. */
  cwd: string;
  /** True when it ran before. */
  resumed: boolean;
  /** Takes a line for people. */
  log(line: string): void;
}

/**
 * Puts a session into the fleet that the command line or the configuration names.
 *
 * @param args The command line.
 * @param home The Bulkhead home.
 * @param session The session.
 * @returns Its place; `undefined` without a fleet: then nothing of it is loaded.
 */
export async function joinSession(
  args: RunArguments,
  home: string,
  session: FleetSession,
): Promise<FleetMember | undefined> {
  const settings = await fleetSettings(home, (name) => args.fleet[name]);
  if (settings === undefined) return undefined;
  const { joinFleet } = await import("@bulkhead/worker/fleet");
  return await joinFleet(settings, session);
}

/**
 * Shows a worker to the fleet; one that cannot be shown is ended.
 *
 * @param member Its place, if there is a fleet.
 * @param worker The worker.
 */
export async function attachSession(
  member: FleetMember | undefined,
  worker: Worker,
): Promise<void> {
  try {
    await member?.attach(worker);
  } catch (error) {
    await worker.end();
    throw error;
  }
}

/**
 * `run --fleet`: a session for whichever machine has room.
 *
 * @param args The command line.
 * @param home The Bulkhead home.
 * @param io Where to write.
 * @returns The exit code.
 */
export async function queueRun(
  args: RunArguments,
  home: string,
  io: CommandIo,
): Promise<number> {
  if (
    !args.guard || args.isolation !== undefined ||
    args.pluginDirs.length > 0 || args.trusted.length > 0
  ) {
    throw new UsageError(
      "Cannot queue the session: its guard and its plugins are those of the machine that takes it",
      'leave out --no-guard, --isolation, --plugin-dir and --trust-plugin, or run it here with --here; "bulkhead fleet host --plugins" offers plugins',
    );
  }
  const settings = await fleetSettings(home, (name) => args.fleet[name]);
  if (settings === undefined) {
    throw new UsageError(
      "Cannot queue the session: there is no fleet",
      'bulkhead run --fleet nats://host:4222 "PROMPT"',
    );
  }
  const played = args.example ?? args.script;
  const { queueCommand } = await import("@bulkhead/worker/fleet");
  return await queueCommand(
    settings,
    {
      agent: args.agent ?? "claude",
      workspace: args.cwd,
      prompt: args.prompt ||
        (played === undefined ? undefined : "Play the script."),
      resume: args.resume,
      scriptFile: args.script,
      options: {
        ...args.model === undefined ? {} : { model: args.model },
        ...args.example === undefined ? {} : { example: args.example },
        ...args.approve ? { approve: true } : {},
        ...args.allow.length === 0 ? {} : { allow: args.allow },
        ...args.roots.length === 0 ? {} : { roots: args.roots },
      },
    },
    args.json,
    io,
  );
}
