/**
 * The command that starts a worker in the background.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { connect } from "../client.ts";
import { listWorkers } from "../fleet.ts";
import {
  FLEET_FLAGS,
  fleetFlags,
  type FleetSettings,
  fleetSettings,
  isQueued,
  PLACE_HELP,
} from "../fleet_settings.ts";
import { ensureHome, shortIdFor, workerFiles } from "../store/home.ts";
import { readRegistry } from "../store/registry.ts";
import { launch } from "./launch.ts";
import { SESSION_FLAGS, sessionFlags } from "./session_flags.ts";
import { bulkheadRoot, gateLine, homeOf, type WorkerVerb } from "./shared.ts";

/** `start`: a worker in the background. */
export const start: WorkerVerb = {
  summary: "start a session in the background",
  help: `Usage: worker start NAME [flags] [-- COMMAND…]

  --agent NAME              claude (default), codex, opencode, scripted or acp:COMMAND;
                            COMMAND after -- replaces its program
  --cwd DIR                 where it works (default: here)
  --resume UUID | --session-id UUID, --model NAME, --script FILE
  --prompt TEXT             its first turn
  --allow TOOL              a tool that may run unasked (again for more)
  --root DIR                may be written besides --cwd (again for more)
  --no-guard                do not judge writes: only the posture does
  --asks attached|wait|deny what becomes of calls that only a person can approve (default: wait)
  --idle-grace-ms N --ask-timeout-ms N --stall-ms N --trust-project --force

${PLACE_HELP}  What is started on another machine: --cwd is a directory that hosts share, or
  git+https://…#COMMIT; --script goes with it; --allow and --trust-project count on hosts
  with --trust-queue; its program, guard and plugins are the host's.

Examples:
  bulkhead worker start demo --agent scripted
  bulkhead worker start docs --agent codex --cwd ../docs --asks wait
`,
  flags: {
    boolean: ["guard", "trust-project", "force", "here"],
    string: [
      ...FLEET_FLAGS,
      "prompt",
      "agent",
      "cwd",
      "resume",
      "session-id",
      "asks",
      ...SESSION_FLAGS,
    ],
    collect: ["allow", "root"],
  },
  operands: [1, 1],
  async run(flags, io): Promise<number> {
    const name = flags.operands[0] ?? "";
    if (name.trim() === "") {
      throw new UsageError(
        "Cannot read the command line: the name is empty",
        "bulkhead worker start NAME",
      );
    }
    const given = sessionFlags(flags, "bulkhead worker start --help");
    const home = homeOf(flags);
    const fleet = await fleetSettings(
      bulkheadRoot(home.root),
      (flag) => flags.text(flag),
    );
    if (
      fleet !== undefined && isQueued(flags.text("fleet"), flags.on("here"))
    ) return await queue(flags, io, fleet);
    await ensureHome(home);
    const taken = new Set<string>();
    for (const worker of await listWorkers(home)) {
      if (worker.state !== "exited" && worker.state !== "orphaned") {
        taken.add(worker.shortId);
      }
    }
    const { rows } = await readRegistry(home);
    const known = rows.find((row) => row.name === name)?.short_id;
    if (known !== undefined && taken.has(known)) {
      // The command line was fine.
      throw new Deno.errors.AlreadyExists(
        `Cannot start "${name}": a worker of that name runs; bulkhead worker stop ${known}`,
      );
    }
    const shortId = known ?? shortIdFor(name, taken);
    const files = workerFiles(home, shortId);
    const cwd = await Deno.realPath(flags.text("cwd") ?? ".");
    const agent = flags.text("agent") ?? "claude";
    const args = [
      "--stream",
      "--short-id",
      shortId,
      "--home",
      home.root,
      "--cwd",
      cwd,
      "--name",
      name,
    ];
    args.push("--agent", agent, "--asks", given.asks ?? "wait");
    const session = given.resume ?? given.sessionId ??
      crypto.randomUUID();
    args.push(
      given.resume === undefined ? "--session-id" : "--resume",
      session,
    );
    args.push("--session-uuid", session, "--holder", `stream:${shortId}`);
    for (const flag of SESSION_FLAGS) {
      const value = flags.text(flag);
      if (value !== undefined) args.push(`--${flag}`, value);
    }
    for (const tool of flags.list("allow")) args.push("--allow", tool);
    for (const root of flags.list("root")) args.push("--root", root);
    if (flags.off("guard")) args.push("--no-guard");
    for (const flag of ["trust-project", "force"]) {
      if (flags.on(flag)) args.push(`--${flag}`);
    }
    if (fleet !== undefined) {
      args.push(...fleetFlags(fleet));
      if (!fleet.explicit) args.push("--fleet-optional");
    }
    if (flags.rest.length > 0) args.push("--", ...flags.rest);
    const pid = await launch(files.socket, args, {
      home: home.root,
      cwd,
      agent,
      fleet,
    });
    using worker = await connect(files.socket);
    const prompt = flags.text("prompt");
    if (prompt !== undefined) await worker.writeTurn(prompt);
    const status = await worker.status();
    if (flags.on("json")) {
      printResult(io, {
        id: shortId,
        name,
        pid,
        socket: files.socket,
        // Codex and OpenCode name their sessions themselves.
        session: status.sessionId ?? session,
        gate: status.gate,
        judgedBy: status.judgedBy,
      });
    } else {io.out(
        `${shortId}  ${status.state}  gate: ${gateLine(status)}\n`,
      );}
    return 0;
  },
};

/** A session for whichever machine has room. */
async function queue(
  flags: Flags,
  io: CommandIo,
  fleet: FleetSettings,
): Promise<number> {
  if (flags.off("guard")) {
    throw new UsageError(
      "Cannot queue the session: its guard is that of the machine that takes it",
      "leave out --no-guard, or start it here with --here",
    );
  }
  const { queueCommand, requestOf } = await import("../fleet_nats/queue.ts");
  return await queueCommand(
    fleet,
    {
      ...requestOf(flags),
      name: flags.operands[0],
      workspace: flags.text("cwd") ?? ".",
      prompt: flags.text("prompt"),
    },
    flags.on("json"),
    io,
  );
}
