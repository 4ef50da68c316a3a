import { ensurePrivateDir, writeFileAtomic } from "@bulkhead/sandbox";
import { type CommandIo, UsageError } from "@bulkhead/sandbox/command";
import type { Worker } from "@bulkhead/worker";
import type { FleetMember } from "@bulkhead/worker/fleet";
import type { FleetCommandOptions } from "@bulkhead/worker/fleet-cli";
import { fleetSettings } from "@bulkhead/worker/fleet-settings";
import { createPosture } from "@bulkhead/worker";
import { loadConfig } from "@bulkhead/plugins/config";
import { guardDecider, guardMarker } from "./deciders.ts";
import type { RunArguments } from "./options.ts";
import { allowList } from "./settings.ts";

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
 * @returns its place; `undefined` without a fleet: then nothing of it is loaded.
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
 * `run --queue`: a session for whichever machine has room.
 *
 * @param args The command line.
 * @param home The Bulkhead home.
 * @param io Where to write.
 * @returns the exit code.
 */
export async function queueRun(
  args: RunArguments,
  home: string,
  io: CommandIo,
): Promise<number> {
  const here = args.example ?? args.script ?? args.resume ?? args.model;
  const agent = args.agent ?? "claude";
  if (
    here !== undefined || agent.startsWith("acp:") || args.keep ||
    args.approve || args.roots.length > 0 || args.allow.length > 0 ||
    args.pluginDirs.length > 0
  ) {
    throw new UsageError(
      "Cannot queue the session: its host decides about scripts, models, roots, plugins and what needs no question",
      'bulkhead run --fleet nats://… --queue --agent claude "PROMPT"; flags of that kind belong to "bulkhead fleet host"',
    );
  }
  const settings = await fleetSettings(home, (name) => args.fleet[name]);
  if (settings === undefined) {
    throw new UsageError(
      "Cannot queue the session: there is no fleet",
      'bulkhead run --fleet nats://host:4222 --queue "PROMPT"',
    );
  }
  const { queueCommand } = await import("@bulkhead/worker/fleet");
  return await queueCommand(
    settings,
    { agent, workspace: args.cwd, prompt: args.prompt },
    args.json,
    io,
  );
}

/**
 * What judges the sessions that a machine takes: the guard and the posture, as for
 * `bulkhead run`.
 *
 * @returns the options of the fleet's command line.
 */
export function fleetOptions(): FleetCommandOptions {
  return {
    host: {
      async judges({ cwd, shortId }, { home, allow }) {
        const { user } = await loadConfig({ home, workspace: cwd });
        const scope = { roots: [cwd], protectedPaths: [home] };
        const marker = `${home}/markers/fleet-${shortId}.json`;
        await ensurePrivateDir(`${home}/markers`);
        await writeFileAtomic(
          marker,
          `${JSON.stringify(guardMarker(scope))}\n`,
        );
        const guard = await guardDecider({
          ...scope,
          home: Deno.env.get("HOME"),
          onWrite: () => {},
        });
        const posture = await createPosture({
          cwd,
          rules: { allow: [...allowList(user), ...allow] },
          roots: [cwd],
        });
        return {
          deciders: [guard, posture],
          marker,
          close: () => Deno.remove(marker).catch(() => {}),
        };
      },
    },
  };
}
