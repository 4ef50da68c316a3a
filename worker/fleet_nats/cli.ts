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
import type { AgentDriver } from "../agents/driver.ts";
import { createPosture } from "../posture.ts";
import { servePage } from "../page/server.ts";
import { runWorker } from "../worker.ts";
import { connectFleet, type Fleet } from "./connection.ts";
import { doctorFleet } from "./doctor.ts";
import { listJobs, queueSession } from "./jobs.ts";
import { fleetPageSource } from "./page.ts";
import {
  PERMISSION_ROLES,
  type PermissionRole,
  permissionsConfig,
} from "./perms.ts";
import { type HostOptions, offerHost, sweepFleet } from "./placement.ts";
import { RemoteWorker, viewFleet } from "./remote.ts";

const SPEC: FlagSpec = {
  boolean: ["json", "help"],
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
  ],
  collect: ["allow", "role"],
  alias: { h: "help", j: "json" },
};

const HELP = `The same sessions over many machines, on NATS JetStream

Usage: fleet COMMAND [flags]

Commands:
  list                       hosts, sessions and open questions of all machines
  watch ID                   what a session does, one JSON object a line
  ask ID TEXT                send a turn
  answer ID ASK allow|deny   answer a question (--reason TEXT)
  interrupt ID               stop the running turn
  stop ID                    end a session
  queue PROMPT               start a session where there is room
                             (--workspace DIR or git+https://…#COMMIT, --agent claude|scripted)
  host                       offer this machine (--slots N, --memory BYTES, --allow TOOL)
  ui                         the page to watch with, over all machines (--port N)
  sweep                      queue again what dead machines have left
  perms                      NATS subject permissions (--role watch|answer|drive|queue|host)
  doctor                     is the server fit for it?

Flags of every command but perms:
  --servers URL       nats://host:port, several with commas (default $BULKHEAD_FLEET)
  --credentials FILE  a NATS credentials file (default $BULKHEAD_FLEET_CREDENTIALS)
  --user NAME         with the password in $BULKHEAD_FLEET_PASSWORD
  --tls required|off  encryption; on unless every server is on this machine
  --ca FILE           the certificate authority of the servers
  --prefix NAME       what all names on the server begin with (default bulkhead)
  --host NAME         this machine's name
  --json              print one object; watch prints one a line
`;

type Verb = (fleet: Fleet, flags: Flags, io: CommandIo) => Promise<number>;

const VERBS: Readonly<Record<string, readonly [number, Verb]>> = {
  list: [0, list],
  watch: [1, watch],
  ask: [2, ask],
  answer: [3, answer],
  interrupt: [1, async (fleet, flags, io) => {
    await remoteOf(fleet, flags).interrupt();
    return done(flags, io, { interrupted: true }, "interrupted");
  }],
  stop: [1, async (fleet, flags, io) => {
    await remoteOf(fleet, flags).shutdown();
    return done(flags, io, { stopped: true }, "stopped");
  }],
  queue: [1, queue],
  host: [0, host],
  ui: [0, ui],
  sweep: [0, async (fleet, flags, io) => {
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
    if (word === "doctor") return await doctor(flags, io);
    const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
    if (verb === undefined) throw unknown(word);
    const [operands, run] = verb;
    if (flags.operands.length !== operands) {
      throw new UsageError(
        `Cannot read the command line: fleet ${word} takes ${operands} operands, got ${flags.operands.length}`,
        "bulkhead fleet --help",
      );
    }
    await using fleet = await connectFleet(connection(flags));
    return await run(fleet, flags, io);
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

/** How to connect, from flags and environment. */
function connection(flags: Flags): Parameters<typeof connectFleet>[0] {
  const servers = flags.text("servers") ?? Deno.env.get("BULKHEAD_FLEET");
  if (!servers) {
    throw new UsageError(
      "Cannot find the fleet: no server is named",
      "--servers nats://host:4222, or set BULKHEAD_FLEET",
    );
  }
  const tls = flags.text("tls");
  if (tls !== undefined && tls !== "required" && tls !== "off") {
    throw new UsageError(
      `Cannot read --tls "${tls}": want required or off`,
      "--tls required",
    );
  }
  const credentialsFile = flags.text("credentials") ??
    Deno.env.get("BULKHEAD_FLEET_CREDENTIALS");
  const user = flags.text("user");
  const password = Deno.env.get("BULKHEAD_FLEET_PASSWORD");
  const replicas = flags.integer("replicas", 1);
  const set = {
    ...credentialsFile ? { credentialsFile } : {},
    ...user === undefined ? {} : { user, password: password ?? "" },
    ...tls === undefined ? {} : { tls },
    ...flags.text("ca") === undefined ? {} : { caFile: flags.text("ca") },
    ...flags.text("prefix") === undefined
      ? {}
      : { prefix: flags.text("prefix") },
    ...flags.text("host") === undefined ? {} : { host: flags.text("host") },
    ...replicas === undefined ? {} : { replicas },
  };
  return { servers, ...set } as Parameters<typeof connectFleet>[0];
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

async function doctor(flags: Flags, io: CommandIo): Promise<number> {
  const checks = await doctorFleet(connection(flags));
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
  for (const host of view.hosts) {
    io.out(
      `host ${host.host}  ${host.sessions.length}/${host.slots} sessions` +
        `${host.load === null ? "" : `  load ${host.load.toFixed(2)}`}\n`,
    );
  }
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
  const uuid = crypto.randomUUID();
  await remoteOf(fleet, flags).writeTurn(flags.operands[1] ?? "", { uuid });
  return done(flags, io, { turn: uuid }, `sent ${uuid}`);
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
  const workspace = flags.text("workspace") ?? Deno.cwd();
  const sessionId = flags.text("session-id") ?? crypto.randomUUID();
  const memoryBytes = flags.integer("memory", 0);
  await queueSession(fleet, {
    sessionId,
    agent: flags.text("agent") ?? "claude",
    workspace: workspace.startsWith("git+") ? { git: workspace } : {
      path: workspace.startsWith("/")
        ? workspace
        : `${Deno.cwd()}/${workspace}`,
    },
    prompt: flags.operands[0] ?? "",
    ...memoryBytes === undefined ? {} : { memoryBytes },
  });
  return done(flags, io, { session_id: sessionId }, `queued ${sessionId}`);
}

async function host(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const home = bulkheadHome(flags.text("home"));
  const memoryBytes = flags.integer("memory", 0);
  const allow = flags.list("allow");
  const options: HostOptions = {
    slots: flags.integer("slots", 1) ?? 1,
    ...memoryBytes === undefined ? {} : { memoryBytes },
    workspaces: `${home}/fleet`,
    log: (line) => io.err(line + "\n"),
    async start({ job, cwd, shortId, resume, seat }) {
      return await runWorker({
        shortId,
        name: shortId,
        home: `${home}/workers`,
        cwd,
        driver: await driverFor(job.agent),
        asks: "wait",
        ...resume ? { resume: job.sessionId } : { sessionId: job.sessionId },
        claim: { sessionUuid: job.sessionId, holder: `stream:${shortId}` },
        deciders: [
          seat.decider,
          await createPosture({ cwd, rules: { allow }, project: "untrusted" }),
        ],
        log: (line) => io.err(`${shortId}: ${line}\n`),
      });
    },
  };
  const offered = await offerHost(fleet, options);
  io.err(`offering ${options.slots} slots as "${fleet.host}"\n`);
  const stopped = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => stopped.resolve());
  }
  await stopped.promise;
  await offered.close();
  return 0;
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

async function driverFor(agent: string): Promise<AgentDriver> {
  switch (agent) {
    case "claude":
      return (await import("../agents/claude.ts")).claudeDriver();
    case "scripted":
      return (await import("../agents/scripted.ts")).scriptedDriver();
    default:
      throw new RangeError(
        `Cannot start the agent "${agent}": a fleet host runs claude and scripted`,
      );
  }
}

if (import.meta.main) Deno.exit(await fleetCommand(Deno.args, processIo()));
