import { bulkheadHome, requirePermissions } from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";
import { claimWorkspace } from "./run/claim.ts";
import { watchLaunchers } from "./run/launchers.ts";
import {
  parseRunArguments,
  RUN_HELP,
  type RunArguments,
} from "./run/options.ts";
import { pipedPrompt } from "./run/piped.ts";
import { openPlaces } from "./run/places.ts";
import { HostedSession } from "./run/session.ts";

/**
 * `bulkhead run`: hosts one guarded session.
 *
 * @param args The arguments after `run`.
 * @param io The terminal.
 * @returns 0 when the turn was completed, else 1.
 */
export async function runCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  const given = parseRunArguments(args, !Deno.stdin.isTerminal());
  if (given.help) {
    io.out(RUN_HELP);
    return 0;
  }
  const parsed = given.prompt === "-"
    ? { ...given, prompt: await pipedPrompt(io.stdin, args.includes("-")) }
    : given;
  if (parsed.queue) {
    const { queueRun } = await import("./run/fleet.ts");
    return await queueRun(parsed, bulkheadHome(parsed.home), io);
  }
  // Without them there is no agent, and nothing should be begun.
  requirePermissions("Running an agent", [{ name: "run" }, { name: "env" }]);
  const stopWatching = watchLaunchers(() => {
    io.err("ending: the program that started this run is gone\n");
    Deno.kill(Deno.pid, "SIGTERM");
  });
  try {
    return await inClaimedWorkspace(parsed, io);
  } finally {
    stopWatching();
  }
}

async function inClaimedWorkspace(
  args: RunArguments,
  io: CommandIo,
): Promise<number> {
  const places = await openPlaces(args);
  try {
    const release = await claimWorkspace(places, (line) => io.err(`${line}\n`));
    try {
      return await new HostedSession(args, places, io).play();
    } finally {
      await release();
    }
  } finally {
    await places.dispose();
  }
}
