/**
 * `fleet host`: this machine takes sessions until it is told to stop.
 *
 * @module
 */
import { approvalOf } from "../cli/questions.ts";
import {
  bulkheadHome,
  ensurePrivateDir,
  reasonOf,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  UsageError,
} from "@bulkhead/sandbox/command";
import type { Decider, ToolSource } from "../agents/driver.ts";
import { createPosture } from "../posture.ts";
import { runWorker, type Worker } from "../worker.ts";
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import { hostDriver } from "./host_agents.ts";
import { grantsOf } from "./job_options.ts";
import type { JobRecord } from "./job_record.ts";
import {
  type HostOptions,
  offerHost,
  type PlacedSession,
} from "./placement.ts";

/** What judges and serves a placed session besides its lease. */
export interface HostJudges {
  /** In order; the lease comes before them. */
  readonly deciders: readonly Decider[];
  /** The tools of this machine's plugins. */
  readonly tools?: ToolSource;
  /** A file that says what may be written, for agents whose gate is a process of its own. */
  readonly marker?: string;
  /** Called when its worker runs. */
  started?(worker: Worker): void;
  /** Called when the session is over. */
  close?(): Promise<void>;
}

/** What a placed session may do on this machine. */
export interface HostScope {
  /** The Bulkhead home. */
  readonly home: string;
  /** Tools that need no question: the host's, and the session's where it is granted them. */
  readonly allow: readonly string[];
  /** Directories that may be written besides the workspace. */
  readonly roots: readonly string[];
  /** Whether the allow list in the project's settings counts. */
  readonly trustProject: boolean;
  /** Whether it gets the tools and hooks of this machine's trusted plugins. */
  readonly plugins: boolean;
  /** Takes one line for the log. */
  log(line: string): void;
}

/** Who judges the sessions of this machine; what the guard and its rules are is not the worker's to know. */
export interface HostPort {
  /**
   * Makes the judges of one session.
   *
   * @param session The session.
   * @param scope What it may do.
   * @returns The judges.
   */
  judges(session: PlacedSession, scope: HostScope): Promise<HostJudges>;
}

/** Only the posture: without a port nothing else is known. */
const POSTURE_ONLY: HostPort = {
  async judges({ cwd }, { allow, roots, trustProject }) {
    return {
      deciders: [
        await createPosture({
          cwd,
          rules: { allow: [...allow] },
          roots: [cwd, ...roots],
          project: trustProject ? "trusted" : "untrusted",
        }),
      ],
    };
  },
};

/**
 * Offers this machine until INT or TERM.
 *
 * @param fleet The connection.
 * @param flags The command line.
 * @param io Where to write.
 * @param port Who judges.
 * @returns 0.
 */
export async function host(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
  port: HostPort = POSTURE_ONLY,
): Promise<number> {
  const given = bulkheadHome(flags.text("home"));
  const home = given.startsWith("/") ? given : `${Deno.cwd()}/${given}`;
  const memoryBytes = bytesOf(flags);
  const sweepMs = flags.integer("sweep-ms", 100);
  const plugins = flags.on("plugins");
  if (plugins && port === POSTURE_ONLY) {
    throw new UsageError(
      "Cannot offer plugins: the worker alone has none",
      "bulkhead fleet host --plugins",
    );
  }
  const place: Place = {
    home,
    allow: flags.list("allow"),
    plugins,
    trustsQueue: flags.on("trust-queue"),
    io,
    port,
  };
  const options: HostOptions = {
    slots: flags.integer("slots", 1) ?? 1,
    ...memoryBytes === undefined ? {} : { memoryBytes },
    ...sweepMs === undefined ? {} : { sweepMs },
    workspaces: `${home}/fleet`,
    log: (line) => io.err(line + "\n"),
    refuse: (job) => refusal(job, place),
    start: (session) => startPlaced(session, place),
  };
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, stop);
  }
  try {
    await using offered = await offerHost(fleet, options);
    io.err(
      `offering ${options.slots} slots as "${fleet.host}"; Ctrl-C ends its sessions\n`,
    );
    const lost = await Promise.race([
      stopped.promise,
      fleet.nc.closed().then((why) => why ?? new Error("it was closed")),
    ]);
    if (lost instanceof Error) {
      throw new FleetError(
        "unreachable",
        `Cannot go on offering this machine: the connection is over: ${lost.message}`,
        "check the server and the credentials of this host, then start it again",
        lost,
      );
    }
    await offered.close();
    return 0;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.removeSignalListener(signal, stop);
    }
  }
}

/** How this machine takes sessions. */
interface Place {
  readonly home: string;
  readonly allow: readonly string[];
  readonly plugins: boolean;
  readonly trustsQueue: boolean;
  readonly io: CommandIo;
  readonly port: HostPort;
}

/** What widens an agent's rights is for this machine's operator to grant, not for whoever may queue. */
function refusal(
  { options = {} }: JobRecord,
  { trustsQueue }: Place,
): string | undefined {
  const wanted = grantsOf(options);
  return trustsQueue || wanted.length === 0
    ? undefined
    : `it asks for ${wanted.join(", ")}, which takes a host with --trust-queue`;
}

async function startPlaced(
  session: PlacedSession,
  place: Place,
): Promise<Worker> {
  const { job, cwd, shortId, resume, seat } = session;
  const { options = {} } = job;
  const { home, io } = place;
  const log = (line: string) => io.err(`${shortId}: ${line}\n`);
  const judges = await place.port.judges(session, {
    home,
    allow: [...place.allow, ...options.allow ?? []],
    roots: options.roots ?? [],
    trustProject: options.trustProject === true,
    plugins: place.plugins,
    log,
  });
  let script: string | undefined;
  let closing: Promise<void> | undefined;
  const close = () =>
    closing ??= (async () => {
      if (script !== undefined) await Deno.remove(script).catch(() => {});
      await judges.close?.();
    })();
  try {
    script = await scriptOf(job, home, shortId);
    const { model, asks, askTimeoutMs, idleGraceMs, stallMs, force } = options;
    const worker = await runWorker({
      shortId,
      name: shortId,
      home: `${home}/workers`,
      cwd,
      driver: await hostDriver(job.agent, {
        marker: judges.marker,
        sessions: `${home}/data/scripted/sessions`,
        script,
        example: options.example,
      }),
      asks: asks ?? "wait",
      ...model === undefined ? {} : { model },
      ...askTimeoutMs === undefined ? {} : { askTimeoutMs },
      ...idleGraceMs === undefined ? {} : { idleGraceMs },
      ...stallMs === undefined ? {} : { stallMs },
      ...force === undefined ? {} : { force },
      ...judges.tools === undefined ? {} : { tools: judges.tools },
      ...resume === undefined ? { sessionId: job.sessionId } : { resume },
      claim: { sessionUuid: job.sessionId, holder: `stream:${shortId}` },
      deciders: [seat.decider, ...judges.deciders],
      log,
    });
    worker.ended.finally(close).catch((error) => log(reasonOf(error)));
    const { kind, verified, detail } = worker.gate;
    if (kind === "none" || !verified) {
      await worker.end();
      throw new Error(
        `the gate of "${job.agent}" is not verified (${detail}); update the agent`,
      );
    }
    if (options.approve === true) approveAll(worker);
    judges.started?.(worker);
    return worker;
  } catch (error) {
    await close();
    throw error;
  }
}

/** The script that came with the job, in a file. */
async function scriptOf(
  { options }: JobRecord,
  home: string,
  shortId: string,
): Promise<string | undefined> {
  if (options?.script === undefined) return undefined;
  await ensurePrivateDir(`${home}/fleet`);
  const path = `${home}/fleet/${shortId}.script.json`;
  await writeFileAtomic(path, options.script);
  return path;
}

/** Every question is answered with yes: its owner said so, and this machine grants it. */
function approveAll({ session }: Worker): void {
  const answer = () => {
    for (const ask of session.asks) {
      session.answer(ask.id, approvalOf(ask).answer);
    }
  };
  session.watch((change) => {
    if (change === "asks") answer();
  });
  answer();
}

/** `--memory`: bytes, or a number with K, M or G. */
export function bytesOf(flags: Flags): number | undefined {
  const text = flags.text("memory");
  if (text === undefined) return undefined;
  const [, digits, unit] = /^(\d+)\s*([KMG]?)(?:i?B)?$/i.exec(text) ?? [];
  if (digits === undefined) {
    return flags.integer("memory", 0);
  }
  const factor = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 }[
    (unit ?? "").toUpperCase()
  ] ?? 1;
  return Number(digits) * factor;
}
