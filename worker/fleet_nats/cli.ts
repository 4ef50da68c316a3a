/**
 * The command line of the fleet.
 *
 * @module
 */
import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  parseFlags,
  printFailure,
  printResult,
  processIo,
  unknownCommand,
  UsageError,
} from "@bulkhead/sandbox/command";
import { bulkheadHome } from "@bulkhead/sandbox";
import { type FleetSettings, fleetSettings } from "../fleet_settings.ts";
import { servePage } from "../page/server.ts";
import {
  connectFleet,
  type Fleet,
  type FleetConnectOptions,
} from "./connection.ts";
import { doctorFleet } from "./doctor.ts";
import { bytesOf, host, type HostPort } from "./host_cli.ts";
import { list } from "./list_cli.ts";
import { fleetPageSource } from "./page.ts";
import {
  PERMISSION_ROLES,
  type PermissionRole,
  permissionsConfig,
} from "./perms.ts";
import { QUEUE_FLAGS, queueCommand, requestOf } from "./queue.ts";
import {
  answer,
  ask,
  done,
  interrupt,
  status,
  stop,
  watch,
} from "./session_cli.ts";
import { sweepFleet } from "./sweep.ts";

const SPEC: FlagSpec = {
  boolean: [
    ...QUEUE_FLAGS.boolean ?? [],
    "json",
    "help",
    "wait",
    "plugins",
    "trust-queue",
    "other",
  ],
  string: [
    ...QUEUE_FLAGS.string ?? [],
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
    "name",
    "cursor",
    "reason",
    "home",
    "port",
    "uuid",
    "sweep-ms",
  ],
  collect: [...QUEUE_FLAGS.collect ?? [], "role"],
  alias: { h: "help", j: "json" },
};

const HELP = `The same sessions over many machines, on NATS JetStream

Usage: bulkhead fleet COMMAND [flags]

Commands:
  list                       hosts, sessions and open questions of all machines
  watch ID                   what a session does, one JSON object a line
  status ID                  how a session stands
  ask ID TEXT                send a turn and print the reply (--no-wait, --uuid UUID)
  answer ID ASK allow|deny   answer a question (--reason TEXT); one with options by an
                             option, or by words of your own with --other
  interrupt ID               stop the running turn
  stop ID                    end a session
  queue PROMPT               start a session where there is room; its flags are below
  host                       offer this machine (--slots N, --memory 8G, --allow TOOL;
                             --plugins: sessions get its trusted plugins;
                             --trust-queue: they get what their --allow, --root, --approve
                             and --trust-project ask for)
  ui                         the page to watch with, over all machines (--port N)
  sweep                      queue again what dead machines have left
  perms                      NATS subject permissions (--role watch|answer|drive|queue|host)
  doctor                     is the server fit for it?

Flags of queue:
  --agent NAME        claude (default), codex, opencode or scripted
  --workspace DIR     a directory that hosts share, or git+https://…#COMMIT (default: here)
  --session-id UUID | --resume UUID, --model NAME, --name NAME, --memory 2G
  --script FILE       what the scripted agent plays; goes with the session
  --asks attached|wait|deny, --ask-timeout-ms N, --idle-grace-ms N, --stall-ms N, --force
  --allow TOOL, --root DIR, --approve, --trust-project
                      only on hosts with --trust-queue; DIR has to exist there

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

export type { HostJudges, HostPort, HostScope } from "./host_cli.ts";

/** What the program around it gives. */
export interface FleetCommandOptions {
  /**
   * Who judges the sessions of `fleet host`.
   *
   * @default the posture alone
   */
  readonly host?: HostPort;
  /** The fleet, when the caller knows it already. */
  readonly settings?: FleetSettings;
  /** Sessions that the caller lists itself, by their ids, and whether they run. */
  readonly shown?: ReadonlyMap<string, boolean>;
}

type Verb = (
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
  options: FleetCommandOptions,
) => Promise<number>;

/** How many operands each takes, at least and at most. */
const VERBS: Readonly<Record<string, readonly [number, number, Verb]>> = {
  list: [
    0,
    0,
    (fleet, flags, io, options) => list(fleet, flags, io, options.shown),
  ],
  watch: [1, 1, watch],
  status: [1, 1, status],
  ask: [2, Infinity, ask],
  answer: [3, Infinity, answer],
  interrupt: [1, 1, interrupt],
  stop: [1, 1, stop],
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
 * @param args The arguments, without the program's name.
 * @param io Where to read and write.
 * @param options What the program around it gives.
 * @returns The exit code: 0, 1 for a failure, 2 for a command line that cannot be understood.
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
    if (verb === undefined) {
      throw unknownCommand("bulkhead fleet", word, [
        ...Object.keys(VERBS),
        "perms",
        "doctor",
      ]);
    }
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

async function queue(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  return await queueCommand(
    fleet,
    {
      ...requestOf(flags),
      name: flags.text("name"),
      workspace: flags.text("workspace") ?? ".",
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
