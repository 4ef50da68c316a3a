/**
 * `fleet host`: this machine takes sessions until it is told to stop.
 *
 * @module
 */
import { bulkheadHome } from "@bulkhead/sandbox";
import type { CommandIo, Flags } from "@bulkhead/sandbox/command";
import type { AgentDriver, Decider } from "../agents/driver.ts";
import { createPosture } from "../posture.ts";
import { runWorker } from "../worker.ts";
import type { Fleet } from "./connection.ts";
import {
  type HostOptions,
  offerHost,
  type PlacedSession,
} from "./placement.ts";

/** What judges a placed session besides its lease. */
export interface HostJudges {
  /** In order; the lease comes before them. */
  readonly deciders: readonly Decider[];
  /** A file that says what may be written, for agents whose gate is a process of its own. */
  readonly marker?: string;
  /** Called when the session is over. */
  close?(): Promise<void>;
}

/** Who judges the sessions of this machine; what the guard and its rules are is not the worker's to know. */
export interface HostPort {
  /**
   * Makes the judges of one session.
   *
   * @param session The session
   * @param options The Bulkhead home, and tools that need no question
   * @returns The judges
   */
  judges(
    session: PlacedSession,
    options: { home: string; allow: readonly string[] },
  ): Promise<HostJudges>;
}

/** Agents that a host starts. */
export const HOST_AGENTS: readonly string[] = [
  "claude",
  "codex",
  "opencode",
  "scripted",
];

/** Only the posture: without a port nothing else is known. */
const POSTURE_ONLY: HostPort = {
  async judges({ cwd }, { allow }) {
    return {
      deciders: [
        await createPosture({
          cwd,
          rules: { allow: [...allow] },
          project: "untrusted",
        }),
      ],
    };
  },
};

/**
 * Offers this machine until INT or TERM.
 *
 * @param fleet The connection
 * @param flags The command line
 * @param io Where to write
 * @param port Who judges
 * @returns 0
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
  const allow = flags.list("allow");
  const sweepMs = flags.integer("sweep-ms", 100);
  const options: HostOptions = {
    slots: flags.integer("slots", 1) ?? 1,
    ...memoryBytes === undefined ? {} : { memoryBytes },
    ...sweepMs === undefined ? {} : { sweepMs },
    workspaces: `${home}/fleet`,
    log: (line) => io.err(line + "\n"),
    start: (session) => startPlaced(session, { home, allow, io, port }),
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
    await stopped.promise;
    await offered.close();
    return 0;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.removeSignalListener(signal, stop);
    }
  }
}

async function startPlaced(
  session: PlacedSession,
  place: {
    home: string;
    allow: readonly string[];
    io: CommandIo;
    port: HostPort;
  },
) {
  const { job, cwd, shortId, resume, seat } = session;
  const { home, io } = place;
  const judges = await place.port.judges(session, place);
  try {
    const worker = await runWorker({
      shortId,
      name: shortId,
      home: `${home}/workers`,
      cwd,
      driver: await driverFor(job.agent, home, judges.marker),
      asks: "wait",
      ...resume === undefined ? { sessionId: job.sessionId } : { resume },
      claim: { sessionUuid: job.sessionId, holder: `stream:${shortId}` },
      deciders: [seat.decider, ...judges.deciders],
      log: (line) => io.err(`${shortId}: ${line}\n`),
    });
    worker.ended.finally(() => judges.close?.()).catch(() => {});
    const { kind, verified, detail } = worker.gate;
    if (kind === "none" || !verified) {
      await worker.end();
      throw new Error(
        `the gate of "${job.agent}" is not verified (${detail}); update the agent`,
      );
    }
    return worker;
  } catch (error) {
    await judges.close?.();
    throw error;
  }
}

/** Drivers are loaded when a session needs them. */
async function driverFor(
  agent: string,
  home: string,
  marker: string | undefined,
): Promise<AgentDriver> {
  const options = marker === undefined ? {} : { marker };
  switch (agent) {
    case "claude":
      return (await import("../agents/claude.ts")).claudeDriver();
    case "codex":
      return (await import("../agents/codex.ts")).codexDriver(options);
    case "opencode":
      return (await import("../agents/opencode.ts")).openCodeDriver(options);
    case "scripted":
      return (await import("../agents/scripted.ts")).scriptedDriver({
        sessions: `${home}/data/scripted/sessions`,
      });
    default:
      throw new RangeError(
        `no agent "${agent}": a host starts ${HOST_AGENTS.join(", ")}`,
      );
  }
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
