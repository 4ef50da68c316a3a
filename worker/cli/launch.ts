/**
 * A worker in a process of its own, with no more permissions than its agent's driver needs.
 *
 * @module
 */

import { denoEntry, denoFlags, startProcess } from "@bulkhead/sandbox";
import { atMost } from "../agents/_within.ts";
import { stateOf } from "../agents/acp_program.ts";
import { AgentStartError, lastWords } from "../agents/start_error.ts";
import { connect } from "../client.ts";
import { fleetAddresses, type FleetSettings } from "../fleet_settings.ts";
import { besideOf } from "../socket.ts";

/** How long a started worker may take to answer. */
const START_MS = 60_000;

/** How long until it is asked again. */
const AGAIN_MS = 25;

/** Where a worker works and what it hosts. */
export interface WorkerPlace {
  /** The directory of all workers. */
  readonly home: string;
  /** Where the agent works. */
  readonly cwd: string;
  /** The agent, as on the command line. */
  readonly agent: string;
  /** The fleet it belongs to. */
  readonly fleet: FleetSettings | undefined;
}

/**
 * The permissions of a worker's process. It reads where the posture has to follow links, runs the agent, and writes
 * only its home and the claims. Codex, OpenCode and ACP agents ask through a socket in a directory that is made for
 * the session, so the worker that hosts one listens wherever that is; it clears up behind them in the workspace.
 *
 * @param socket Its socket.
 * @param place Where it works and what it hosts.
 * @returns The flags.
 */
function workerPermissions(
  socket: string,
  place: WorkerPlace,
): string[] {
  if (place.home.includes(",")) {
    throw new RangeError(
      `Cannot start a worker under "${place.home}": its path holds a comma, and no permission can be given for that; use another --home`,
    );
  }
  const claims = Deno.env.get("FNO_CLAIMS_ROOT") || Deno.env.get("HOME") || "/";
  const write = [place.home, `${claims}/.fno`];
  const net = [`unix:${socket}`, `unix:${besideOf(socket)}`];
  if (place.fleet !== undefined) net.push(...fleetAddresses(place.fleet));
  const bridged = place.agent !== "claude" && place.agent !== "scripted";
  return [
    "--allow-read",
    "--allow-env",
    "--allow-run",
    // A host of the fleet tells its load.
    place.fleet === undefined
      ? "--allow-sys=hostname"
      : "--allow-sys=hostname,loadavg",
    ...denoFlags({
      write: bridged ? [...write, ...bridgedWrites(place)] : write,
    }),
    bridged ? "--allow-net" : `--allow-net=${net.join(",")}`,
  ];
}

/** The directory of the bridge, the workspace, what OpenCode changes and we put back, the state of an ACP agent. */
function bridgedWrites({ cwd, agent }: WorkerPlace): string[] {
  const home = Deno.env.get("HOME") || "/";
  const config = Deno.env.get("XDG_CONFIG_HOME") || `${home}/.config`;
  return [
    Deno.env.get("TMPDIR") || "/tmp",
    "/tmp",
    cwd,
    `${config}/opencode`,
    ...agent.startsWith("acp") ? stateOf(agent, home) : [],
  ];
}

/**
 * Starts a worker that outlives us and waits until it answers.
 *
 * @param socket Its socket.
 * @param args Its command line.
 * @param place Where it works and what it hosts.
 * @returns Its pid.
 * @throws {Error} With its last words when it ends first.
 */
export async function launch(
  socket: string,
  args: readonly string[],
  place: WorkerPlace,
): Promise<number> {
  const entry = denoEntry(new URL("../cli.ts", import.meta.url), {
    permissions: workerPermissions(socket, place),
    flags: ["--v8-flags=--max-semi-space-size=4"],
    args,
  });
  const child = await startProcess(entry.argv, {
    env: { ...Deno.env.toObject(), ...entry.env },
    parentDeath: "none",
  });
  const words = new Response(child.stderr).text();
  const exited = child.status;
  let ended = false;
  exited.then(() => ended = true);
  const deadline = performance.now() + START_MS;
  while (!ended && performance.now() < deadline) {
    try {
      using worker = await connect(socket);
      // Another one of the name may run still: ours is about to be refused then, or to come up after it.
      if ((await worker.status()).workerPid === child.pid) return child.pid;
      await atMost(exited, AGAIN_MS);
    } catch (error) {
      // It will not be reached later either; the session must not stay without an owner.
      if (error instanceof Deno.errors.NotCapable) {
        await child.end({ eofMs: 0 });
        throw error;
      }
      await atMost(exited, AGAIN_MS);
    }
  }
  const report = await child.end({ eofMs: 0 });
  await child.stdout.cancel();
  const last = lastWords(await words);
  if (last !== "") throw new Error(last.replace(/^error: /, ""));
  throw new AgentStartError("worker", "it does not answer", {
    ...report,
    stderrTail: "",
    by: "kill",
  });
}
