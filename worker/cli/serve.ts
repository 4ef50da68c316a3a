/**
 * `worker --stream …`: be the worker of one session until it ends. Takes what the stream worker of `fno_agents` takes, and more.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  parseFlags,
  UsageError,
} from "@bulkhead/sandbox/command";
import { claudeDriver } from "../agents/claude.ts";
import type { AgentDriver, Decider } from "../agents/driver.ts";
import { scriptedDriver } from "../agents/scripted.ts";
import { argvDriver } from "../agents/stream_json.ts";
import { FLEET_FLAGS, FLEET_HELP, fleetSettings } from "../fleet_settings.ts";
import type { FleetMember } from "../fleet_nats/join.ts";
import { guardDecider, realRoot } from "../guard_decider.ts";
import { createPosture, isTrustedProject } from "../posture.ts";
import { workerFiles, workerHome } from "../store/home.ts";
import { runWorker, type Worker, type WorkerOptions } from "../worker.ts";
import { sessionFlags } from "./session_flags.ts";
import { bulkheadRoot } from "./shared.ts";

const FLAGS: FlagSpec = {
  boolean: [
    "stream",
    "guard",
    "trust-project",
    "force",
    "fleet-optional",
    "help",
  ],
  string: [
    ...FLEET_FLAGS,
    "short-id",
    "home",
    "cwd",
    "session-uuid",
    "holder",
    "agent",
    "name",
    "resume",
    "session-id",
    "model",
    "script",
    "asks",
    "ask-timeout-ms",
    "idle-grace-ms",
    "stall-ms",
  ],
  collect: ["allow", "root"],
};

const HELP = "bulkhead worker --stream --help";

/** The help text. */
export const SERVE_HELP =
  `Usage: worker --stream --short-id ID --home DIR [flags] -- ARGV…
       worker --stream --short-id ID --home DIR --agent NAME [flags]

Is the worker of one session: starts the agent, serves <DIR>/<ID>/worker.sock, ends with the session.

  --cwd DIR              where the agent works (default: the temporary directory)
  --session-uuid U --holder H   the claim on the session; only together
  --agent NAME           claude, codex, opencode, scripted or acp:COMMAND, with our argv and gate,
                         instead of ARGV; ARGV then replaces its program
  --script FILE          what the scripted agent plays
  --resume UUID | --session-id UUID, --model NAME, --name NAME
  --allow TOOL           a tool that may run unasked (again for more)
  --root DIR             may be written besides --cwd (again for more)
  --guard | --no-guard   judge writes, or leave it to the posture (default: judge with --agent,
                         leave with ARGV)
  --trust-project        the allow list in the project's settings counts too
  --asks attached|wait|deny     what becomes of calls that only a person can approve (default: attached)
  --ask-timeout-ms N --idle-grace-ms N --stall-ms N
  --force                start although the agent died at once several times in a row
${FLEET_HELP}`;

/**
 * Runs a worker to its end.
 *
 * @param args The arguments.
 * @param io Where to write.
 * @returns 0 after a normal end.
 */
export async function serve(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const flags = parseFlags(args, FLAGS);
  if (flags.on("help")) {
    io.out(SERVE_HELP);
    return 0;
  }
  const { shortId, home, cwd, claim } = placeOf(flags);
  const options = { ...sessionFlags(flags, HELP), name: flags.text("name") };
  const driver = await driverOf(flags, bulkheadRoot(home));
  const signals = onSignals(driver);
  const log = (line: string) => io.err(`bulkhead worker ${shortId}: ${line}\n`);
  const sessionId = options.resume ?? options.sessionId ??
    claim?.sessionUuid ?? crypto.randomUUID();
  const judges = await judgesOf(flags, home, cwd);
  const member = flags.text("fleet") === undefined
    ? undefined
    : await join(flags, { shortId, cwd, sessionId, log });
  try {
    const worker = await runWorker({
      shortId,
      home,
      cwd,
      driver,
      deciders: [...member === undefined ? [] : [member.decider], ...judges],
      ...claim === undefined ? {} : { claim },
      ...defined(options),
      ...member !== undefined && options.resume === undefined
        ? { sessionId }
        : {},
      force: flags.on("force"),
      log,
    });
    signals.up(worker);
    await member?.attach(worker);
    const { reason } = await worker.ended;
    return reason === "session-held" ? 1 : 0;
  } finally {
    await member?.close();
    signals.release();
  }
}

/** Where a worker lives and works, and what it has to claim. */
interface Place {
  readonly shortId: string;
  readonly home: string;
  readonly cwd: string;
  readonly claim: WorkerOptions["claim"];
}

function placeOf(flags: Flags): Place {
  const need = (name: string): string => {
    const value = flags.text(name);
    if (value === undefined || value === "") {
      throw usage(`--${name} is missing`);
    }
    return value;
  };
  if (!flags.on("stream")) throw usage("--stream is missing");
  const shortId = need("short-id");
  const home = absolute(need("home"));
  checkName(home, shortId);
  const cwd = absolute(flags.text("cwd") ?? temporary());
  const sessionUuid = flags.text("session-uuid");
  const holder = flags.text("holder");
  if ((sessionUuid === undefined) !== (holder === undefined)) {
    throw usage("--session-uuid and --holder go together");
  }
  if (flags.operands.length > 0) {
    throw usage(
      `"${flags.operands[0]}" is no flag; the agent's argv follows "--"`,
    );
  }
  const claim = sessionUuid === undefined || holder === undefined
    ? undefined
    : { sessionUuid, holder };
  return { shortId, home, cwd, claim };
}

/** Who judges calls: the guard where writes are judged, then the posture. */
async function judgesOf(
  flags: Flags,
  home: string,
  cwd: string,
): Promise<Decider[]> {
  const trusted = flags.on("trust-project") ||
    await isTrustedProject(cwd, Deno.env.get("HOME") ?? "/");
  const roots = await Promise.all(flags.list("root").map(realRoot));
  const posture = await createPosture({
    cwd,
    rules: { allow: flags.list("allow") },
    roots,
    project: trusted ? "trusted" : "untrusted",
  });
  return guarded(flags)
    ? [await guardOf(home, [cwd, ...roots]), posture]
    : [posture];
}

/** Whether writes are judged: those of an agent with our gate, and whenever it is asked for. */
function guarded(flags: Flags): boolean {
  return !flags.off("guard") &&
    (flags.text("agent") !== undefined || flags.on("guard"));
}

/** What may be written; Bulkhead's own files never. */
async function guardOf(
  home: string,
  [cwd = "/", ...roots]: readonly string[],
): Promise<Decider> {
  return await guardDecider({
    // A directory that is missing is told when the agent starts in it.
    roots: [await Deno.realPath(cwd).catch(() => cwd), ...roots],
    protectedPaths: [bulkheadRoot(home)],
    home: Deno.env.get("HOME"),
  });
}

/** The session in the fleet; the fleet's program is loaded only here. */
async function join(
  flags: Flags,
  session: {
    shortId: string;
    cwd: string;
    sessionId: string;
    log: (line: string) => void;
  },
): Promise<FleetMember | undefined> {
  // Flags alone: what is configured was read by whoever started us.
  const settings = await fleetSettings(undefined, (name) => flags.text(name));
  if (settings === undefined) return undefined;
  const { joinFleet } = await import("../fleet_nats/join.ts");
  return await joinFleet({
    ...settings,
    explicit: !flags.on("fleet-optional"),
  }, { ...session, resumed: flags.text("resume") !== undefined });
}

/** HUP is ignored: whoever started us may go. TERM and INT end the session in order, or the start of it. */
function onSignals(
  driver: AgentDriver,
): { up(worker: Worker): void; release(): void } {
  let running: Worker | undefined;
  let asked = false;
  const ignore = () => {};
  const end = () => {
    asked = true;
    const ending = running === undefined
      ? driver.close({ eofMs: 0 })
      : running.end();
    ending.catch(() => {});
  };
  Deno.addSignalListener("SIGHUP", ignore);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, end);
  }
  return {
    up(worker: Worker): void {
      running = worker;
      if (asked) end();
    },
    release(): void {
      Deno.removeSignalListener("SIGHUP", ignore);
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        Deno.removeSignalListener(signal, end);
      }
    },
  };
}

/** Drivers are loaded when they are asked for: a worker carries one agent. */
async function driverOf(flags: Flags, root: string): Promise<AgentDriver> {
  const agent = flags.text("agent");
  if (agent === undefined) {
    if (flags.rest.length === 0) throw usage("the agent's argv is missing");
    return argvDriver(flags.rest);
  }
  const command = flags.rest.length === 0 ? {} : { command: flags.rest };
  if (agent.startsWith("acp:") || agent === "acp") {
    const { acpDriver } = await import("../agents/acp.ts");
    const words = agent === "acp"
      ? flags.rest
      : agent.slice(4).trim().split(/\s+/);
    return acpDriver({ command: words });
  }
  switch (agent) {
    case "claude":
      return claudeDriver(command);
    case "codex":
      return (await import("../agents/codex.ts")).codexDriver(command);
    case "opencode":
      return (await import("../agents/opencode.ts")).openCodeDriver(command);
    default: {
      const script = flags.text("script");
      return scriptedDriver({
        ...script === undefined ? {} : { script: absolute(script) },
        sessions: `${root}/data/scripted/sessions`,
      });
    }
  }
}

/** A name that cannot be one is the caller's mistake; a path that is too long is the place's. */
function checkName(home: string, shortId: string): void {
  try {
    workerFiles(workerHome(home), shortId);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message, HELP);
  }
}

function defined<T extends object>(
  options: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const set: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  return Object.assign(
    set,
    Object.fromEntries(
      Object.entries(options).filter(([, value]) => value !== undefined),
    ),
  );
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `${Deno.cwd()}/${path}`;
}

function temporary(): string {
  return Deno.env.get("TMPDIR") || "/tmp";
}

function usage(found: string): UsageError {
  return new UsageError(`Cannot read the command line: ${found}`, HELP);
}
