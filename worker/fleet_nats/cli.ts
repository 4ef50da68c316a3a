/**
 * The command line of the fleet.
 *
 * @module
 */
import {
  closest,
  type CommandIo,
  type Flags,
  type FlagSpec,
  parseFlags,
  printFailure,
  printResult,
  processIo,
  UsageError,
} from "@bulkhead/sandbox/command";
import { bulkheadHome } from "@bulkhead/sandbox";
import { visible } from "../cli/render.ts";
import type { TurnStatus } from "../client.ts";
import { type FleetSettings, fleetSettings } from "../fleet_settings.ts";
import { servePage } from "../page/server.ts";
import {
  connectFleet,
  type Fleet,
  type FleetConnectOptions,
} from "./connection.ts";
import { doctorFleet } from "./doctor.ts";
import { FleetError } from "./error.ts";
import { bytesOf, host, HOST_AGENTS, type HostPort } from "./host_cli.ts";
import { listJobs } from "./jobs.ts";
import { fleetPageSource } from "./page.ts";
import {
  PERMISSION_ROLES,
  type PermissionRole,
  permissionsConfig,
} from "./perms.ts";
import { queueCommand } from "./queue.ts";
import type { FleetHostRecord } from "./records.ts";
import { RemoteWorker, viewFleet } from "./remote.ts";
import { sweepFleet } from "./sweep.ts";

/** Shorter than a call's own limit. */
const POLL_MS = 5_000;

const SPEC: FlagSpec = {
  boolean: ["json", "help", "wait"],
  string: [
    "servers",
    "credentials",
    "user",
    "tls",
    "ca",
    "prefix",
    "host",
    "replicas",
    "slots",
    "memory",
    "workspace",
    "agent",
    "session-id",
    "cursor",
    "reason",
    "home",
    "port",
    "uuid",
    "sweep-ms",
  ],
  collect: ["allow", "role"],
  alias: { h: "help", j: "json" },
};

const HELP = `The same sessions over many machines, on NATS JetStream

Usage: fleet COMMAND [flags]

Commands:
  list                       hosts, sessions and open questions of all machines
  watch ID                   what a session does, one JSON object a line
  status ID                  how a session stands
  ask ID TEXT                send a turn and print the reply (--no-wait, --uuid UUID)
  answer ID ASK allow|deny   answer a question (--reason TEXT)
  interrupt ID               stop the running turn
  stop ID                    end a session
  queue PROMPT               start a session where there is room
                             (--workspace DIR or git+https://…#COMMIT, --agent claude|codex|opencode|scripted)
  host                       offer this machine (--slots N, --memory 8G, --allow TOOL)
  ui                         the page to watch with, over all machines (--port N)
  sweep                      queue again what dead machines have left
  perms                      NATS subject permissions (--role watch|answer|drive|queue|host)
  doctor                     is the server fit for it?

Flags of every command but perms:
  --servers URL       nats://host:port, several with commas (default $BULKHEAD_FLEET,
                      else [worker] fleet in config.toml)
  --credentials FILE  a NATS credentials file (default $BULKHEAD_FLEET_CREDENTIALS)
  --user NAME         with the password in $BULKHEAD_FLEET_PASSWORD
  --tls required|off  encryption; on unless every server is on this machine
  --ca FILE           the certificate authority of the servers
  --prefix NAME       what all names on the server begin with (default bulkhead)
  --host NAME         this machine's name
  --json              print one object; watch prints one a line

Examples:
  bulkhead fleet doctor --servers nats://127.0.0.1:4222
  bulkhead fleet list --servers nats://127.0.0.1:4222
  bulkhead fleet perms --role watch
`;

export type { HostJudges, HostPort } from "./host_cli.ts";

/** What the program around it gives. */
export interface FleetCommandOptions {
  /** Who judges the sessions of `fleet host`. @default the posture alone */
  readonly host?: HostPort;
  /** The fleet, when the caller knows it already. */
  readonly settings?: FleetSettings;
}

type Verb = (
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
  options: FleetCommandOptions,
) => Promise<number>;

/** How many operands each takes, at least and at most. */
const VERBS: Readonly<Record<string, readonly [number, number, Verb]>> = {
  list: [0, 0, list],
  watch: [1, 1, watch],
  status: [1, 1, status],
  ask: [2, Infinity, ask],
  answer: [3, 3, answer],
  interrupt: [1, 1, async (fleet, flags, io) => {
    await remoteOf(fleet, flags).interrupt();
    return done(flags, io, { interrupted: true }, "interrupted");
  }],
  stop: [1, 1, async (fleet, flags, io) => {
    await remoteOf(fleet, flags).shutdown();
    return done(flags, io, { stopped: true }, "stopped");
  }],
  queue: [1, Infinity, queue],
  host: [
    0,
    0,
    (fleet, flags, io, options) => host(fleet, flags, io, options.host),
  ],
  ui: [0, 0, ui],
  sweep: [0, 0, async (fleet, flags, io) => {
    const swept = await sweepFleet(fleet);
    const text =
      `${swept.requeued.length} queued again, ${swept.orphaned.length} orphaned`;
    return done(flags, io, swept, text);
  }],
};

/**
 * Runs one command line of `bulkhead fleet`.
 *
 * @param args The arguments, without the program's name
 * @param io Where to read and write
 * @param options What the program around it gives
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood
 *
 * @example The permissions of somebody who only watches
 * ```ts
 * import { fleetCommand } from "@bulkhead/worker/fleet-cli";
 * import { processIo } from "@bulkhead/sandbox/command";
 * import { assert, assertEquals } from "@std/assert";
 *
 * let out = "";
 * const io = { ...processIo(), out: (text: string) => void (out += text) };
 * assertEquals(await fleetCommand(["perms", "--role", "watch"], io), 0);
 * assert(out.includes("BULKHEAD_WATCH"));
 * ```
 */
export async function fleetCommand(
  args: readonly string[],
  io: CommandIo,
  options: FleetCommandOptions = {},
): Promise<number> {
  try {
    const [word, ...rest] = args;
    const flags = parseFlags(rest, SPEC);
    if (
      word === undefined || /^(?:help|-h|--help)$/.test(word) ||
      flags.on("help")
    ) {
      io.out(HELP);
      return word === undefined ? 2 : 0;
    }
    if (word === "perms") return perms(flags, io);
    if (word === "doctor") return await doctor(flags, io, options);
    const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
    if (verb === undefined) throw unknown(word);
    const [min, max, run] = verb;
    const { length } = flags.operands;
    if (length < min || length > max) {
      throw new UsageError(
        `Cannot read the command line: fleet ${word} takes ${min} operands, got ${length}`,
        "bulkhead fleet --help",
      );
    }
    await using fleet = await connectFleet(await connection(flags, options));
    return await run(fleet, flags, io, options);
  } catch (error) {
    return printFailure(
      io,
      error,
      args.includes("--json") || args.includes("-j"),
    );
  }
}

function unknown(word: string): UsageError {
  const near = closest(word, [...Object.keys(VERBS), "perms", "doctor"]);
  return new UsageError(
    `Cannot read the command line: "${word}" is no command of fleet${
      near === undefined ? "" : `; did you mean ${near}?`
    }`,
    near === undefined ? "bulkhead fleet --help" : `bulkhead fleet ${near}`,
  );
}

/** How to connect, from flags, environment and configuration. */
async function connection(
  flags: Flags,
  options: FleetCommandOptions,
): Promise<FleetConnectOptions> {
  const replicas = flags.integer("replicas", 1);
  const home = bulkheadHome(flags.text("home"));
  const found = options.settings ?? await fleetSettings(
    home,
    (name) =>
      name === "fleet"
        ? flags.text("servers") || Deno.env.get("BULKHEAD_FLEET")
        : flags.text(name.replace("fleet-", "")),
  );
  if (found === undefined) {
    throw new UsageError(
      "Cannot find the fleet: no server is named",
      "--servers nats://host:4222, set BULKHEAD_FLEET, or [worker] fleet in config.toml",
    );
  }
  const { explicit: _, ...settings } = found;
  return {
    ...settings,
    ...settings.credentialsFile === undefined && settings.user === undefined &&
        Deno.env.get("BULKHEAD_FLEET_CREDENTIALS")
      ? { credentialsFile: Deno.env.get("BULKHEAD_FLEET_CREDENTIALS") }
      : {},
    ...replicas === undefined ? {} : { replicas },
  };
}

function perms(flags: Flags, io: CommandIo): number {
  const asked = flags.list("role");
  const wrong = asked.find((role) =>
    !PERMISSION_ROLES.some((known) => known === role)
  );
  if (wrong !== undefined) {
    throw new UsageError(
      `Cannot find the role "${wrong}": there is ${
        PERMISSION_ROLES.join(", ")
      }`,
      "--role watch",
    );
  }
  const roles: PermissionRole[] = PERMISSION_ROLES.filter((role) =>
    asked.length === 0 || asked.includes(role)
  );
  const prefix = flags.text("prefix");
  const text = permissionsConfig({
    roles,
    ...prefix === undefined ? {} : { prefix },
  });
  if (flags.on("json")) printResult(io, { roles, config: text });
  else io.out(text);
  return 0;
}

async function doctor(
  flags: Flags,
  io: CommandIo,
  options: FleetCommandOptions,
): Promise<number> {
  const checks = await doctorFleet(await connection(flags, options));
  const ok = checks.every((check) => check.ok);
  if (flags.on("json")) printResult(io, { healthy: ok, checks });
  else {
    for (const check of checks) {
      io.out(`${check.ok ? "ok  " : "FAIL"} ${check.name}: ${check.found}\n`);
      if (!check.ok && check.fix !== undefined) io.out(`     ${check.fix}\n`);
    }
  }
  return ok ? 0 : 1;
}

async function list(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const [view, jobs] = await Promise.all([viewFleet(fleet), listJobs(fleet)]);
  if (flags.on("json")) {
    printResult(io, { ...view, jobs });
    return 0;
  }
  for (const line of hostLines(view.hosts)) io.out(line);
  for (const session of view.sessions) {
    io.out(
      `${session.id}  ${session.lost ? "lost" : session.state}  ${
        session.agent ?? "-"
      }  ` +
        `$${session.cost_usd.toFixed(4)}  ${session.open_asks} open\n`,
    );
  }
  for (const { session, ask } of view.asks) {
    io.out(`ask ${ask.id}  ${session}  ${ask.tool_name}\n`);
  }
  for (const job of jobs) {
    if (["queued", "unplaceable", "orphaned"].includes(job.state)) {
      io.out(
        `job ${job.sessionId}  ${job.state}${
          job.reason === null ? "" : `: ${job.reason}`
        }\n`,
      );
    }
  }
  return 0;
}

/** A machine may run several programs of the fleet: one line each machine. */
function hostLines(records: readonly FleetHostRecord[]): string[] {
  const hosts = Map.groupBy(records, (record) => record.host);
  return [...hosts].toSorted(([a], [b]) => a < b ? -1 : 1).map(
    ([host, all]) => {
      const sessions = all.reduce((sum, one) => sum + one.sessions.length, 0);
      const slots = all.reduce((sum, one) => sum + one.slots, 0);
      const load = all.find((one) => one.load !== null)?.load;
      const memory = all.find((one) => one.memory_bytes !== null)?.memory_bytes;
      return `host ${host}  ${sessions} sessions` +
        `${slots === 0 ? "" : `, ${slots} slots`}` +
        `${
          memory === undefined || memory === null
            ? ""
            : `, ${(memory / 1024 ** 3).toFixed(1)} GB offered`
        }` +
        `${
          load === undefined || load === null ? "" : `, load ${load.toFixed(2)}`
        }\n`;
    },
  );
}

function remoteOf(fleet: Fleet, flags: Flags): RemoteWorker {
  return new RemoteWorker(fleet, flags.operands[0] ?? "");
}

function done(
  flags: Flags,
  io: CommandIo,
  result: object,
  text: string,
): number {
  if (flags.on("json")) printResult(io, { ...result });
  else io.out(text + "\n");
  return 0;
}

async function watch(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const stop = new AbortController();
  const end = () => stop.abort();
  Deno.addSignalListener("SIGINT", end);
  try {
    const cursor = flags.integer("cursor") ?? 0;
    for await (
      const batch of remoteOf(fleet, flags).frames({
        cursor,
        signal: stop.signal,
      })
    ) {
      if (batch.gap) {
        io.out(JSON.stringify({ type: "gap", next: batch.from }) + "\n");
      }
      for (const [i, frame] of batch.frames.entries()) {
        io.out(
          JSON.stringify({ type: "frame", index: batch.from + i, frame }) +
            "\n",
        );
      }
    }
    return 0;
  } finally {
    Deno.removeSignalListener("SIGINT", end);
  }
}

async function ask(fleet: Fleet, flags: Flags, io: CommandIo): Promise<number> {
  const remote = remoteOf(fleet, flags);
  const uuid = flags.text("uuid") ?? crypto.randomUUID();
  const words = flags.operands.slice(1).join(" ");
  const text = words === "-"
    ? await new Response(Deno.stdin.readable).text()
    : words;
  await remote.writeTurn(text, { uuid });
  if (flags.off("wait")) {
    return done(flags, io, { turn: uuid }, `queued ${uuid}`);
  }
  let status: TurnStatus = { phase: "written" };
  while (status.phase !== "done") status = await remote.turn(uuid, POLL_MS);
  if (flags.on("json")) printResult(io, { turn: uuid, ...status });
  else {
    if (status.text !== null) io.out(`${visible(status.text, true)}\n`);
    for (const denied of status.denied) {
      io.err(`denied: ${denied.tool}: ${visible(denied.reason ?? "")}\n`);
    }
    if (status.outcome !== "completed") {
      io.err(`${status.outcome}: ${visible(status.errors.join("; "))}\n`);
    }
  }
  return status.outcome === "completed" ? 0 : 1;
}

async function status(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const remote = remoteOf(fleet, flags);
  const record = await remote.record();
  if (record === undefined) {
    throw new FleetError(
      "no_worker",
      `Cannot find "${remote.id}": there is no such session in the fleet`,
      "look at `bulkhead fleet list`",
    );
  }
  const lines = Object.entries(record).map(([name, value]) =>
    `${name.padEnd(13)} ${visible(String(value ?? "-"))}`
  );
  return done(flags, io, record, lines.join("\n"));
}

async function answer(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const [, id = "", decision] = flags.operands;
  if (decision !== "allow" && decision !== "deny") {
    throw new UsageError(
      `Cannot answer "${decision}": want allow or deny`,
      "allow",
    );
  }
  const reason = flags.text("reason");
  const answered = await remoteOf(fleet, flags).answerAsk(id, {
    decision,
    ...reason === undefined ? {} : { reason },
  });
  done(flags, io, { answered }, answered ? "answered" : "settled before");
  return answered ? 0 : 1;
}

async function queue(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const agent = flags.text("agent") ?? "claude";
  if (!HOST_AGENTS.includes(agent)) {
    throw new UsageError(
      `Cannot queue a session of "${agent}": hosts start ${
        HOST_AGENTS.join(", ")
      }`,
      "--agent claude",
    );
  }
  return await queueCommand(
    fleet,
    {
      agent,
      workspace: flags.text("workspace") ?? ".",
      sessionId: flags.text("session-id"),
      prompt: flags.operands.join(" "),
      memoryBytes: bytesOf(flags),
    },
    flags.on("json"),
    io,
  );
}

async function ui(fleet: Fleet, flags: Flags, io: CommandIo): Promise<number> {
  const port = flags.integer("port", 0);
  await using page = await servePage({
    home: "",
    source: fleetPageSource(fleet),
    ...port === undefined ? {} : { port },
  });
  if (flags.on("json")) printResult(io, { url: page.url });
  else io.out(page.url + "\n");
  const stopped = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => stopped.resolve());
  }
  await stopped.promise;
  return 0;
}

if (import.meta.main) Deno.exit(await fleetCommand(Deno.args, processIo()));
