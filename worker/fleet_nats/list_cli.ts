/**
 * `fleet list`: hosts, sessions, open questions and what waits for a machine.
 *
 * @module
 */
import {
  type CommandIo,
  type Flags,
  printResult,
  visible,
} from "@bulkhead/sandbox/command";
import type { PageHost } from "../page/source.ts";
import type { Fleet } from "./connection.ts";
import type { JobRecord } from "./job_record.ts";
import { listJobs } from "./jobs.ts";
import { machinesOf } from "./machines.ts";
import { type FleetSession, viewFleet } from "./remote.ts";

/** Jobs that are told: the others are sessions. */
const WAITING: readonly string[] = ["queued", "unplaceable", "orphaned"];

/**
 * Lists everything.
 *
 * @param fleet The connection.
 * @param flags The command line.
 * @param io Where to write.
 * @param shown Sessions that the caller lists itself, and whether they run.
 * @returns 0.
 */
export async function list(
  fleet: Fleet,
  flags: Flags,
  io: CommandIo,
  shown: ReadonlyMap<string, boolean> = new Map(),
): Promise<number> {
  const [view, jobs] = await Promise.all([viewFleet(fleet), listJobs(fleet)]);
  // A session has one writer: one that runs here is not another one there.
  const sessions = view.sessions.filter(({ session_id: id, state }) => {
    const here = shown.get(id);
    return here === undefined || (!here && state !== "ended");
  });
  if (flags.on("json")) {
    printResult(io, { ...view, sessions, jobs });
    return 0;
  }
  const machines = machinesOf(view.hosts);
  for (const machine of machines) io.out(hostLine(machine));
  for (const session of sessions) io.out(sessionLine(session));
  for (const { session, ask } of view.asks) {
    io.out(`ask ${visible(ask.id)}  ${session}  ${visible(ask.tool_name)}\n`);
  }
  const waiting = jobs.filter(({ state }) => WAITING.includes(state));
  for (const job of waiting) io.out(jobLine(job, machines));
  if (machines.length + sessions.length + waiting.length === 0) {
    io.out("no host and no session in the fleet\n");
  }
  return 0;
}

function sessionLine(session: FleetSession): string {
  return `${session.id}  ${session.lost ? "lost" : session.state}  ` +
    `${session.agent ?? "-"}  $${session.cost_usd.toFixed(4)}  ` +
    `${session.open_asks} open${nameOf(session.name)}\n`;
}

function jobLine(job: JobRecord, machines: readonly PageHost[]): string {
  const why = job.reason ??
    (job.state === "queued" ? waitsFor(job, machines) : undefined);
  const reason = why === undefined ? "" : `: ${visible(why)}`;
  return `job ${job.sessionId}  ${job.state}${reason}${nameOf(job.name)}\n`;
}

/**
 * What a queued session waits for, as far as the hosts' own records tell.
 *
 * @param job The session.
 * @param machines The hosts.
 * @returns What it waits for; `undefined` when a host has room for it.
 */
export function waitsFor(
  job: Pick<JobRecord, "memoryBytes">,
  machines: readonly PageHost[],
): string | undefined {
  const offering = machines.filter(({ slots }) => slots > 0);
  if (offering.length === 0) {
    return "no machine takes sessions; start `bulkhead fleet host`";
  }
  const wanted = job.memoryBytes ?? 0;
  const large = offering.filter(({ memoryBytes }) =>
    memoryBytes === null || memoryBytes >= wanted
  );
  if (large.length === 0) return "no machine offers that much memory";
  return large.every(({ sessions, slots }) => sessions >= slots)
    ? "every slot is taken"
    : undefined;
}

function nameOf(name: string | null | undefined): string {
  return name === null || name === undefined ? "" : `  ${visible(name)}`;
}

function hostLine(
  { host, sessions, slots, load, memoryBytes }: PageHost,
): string {
  const facts = [
    `${sessions} sessions`,
    slots === 0 ? "" : `${slots} slots`,
    memoryBytes === null
      ? ""
      : `${(memoryBytes / 1024 ** 3).toFixed(1)} GB offered`,
    load === null ? "" : `load ${load.toFixed(2)}`,
  ];
  return `host ${host}  ${facts.filter((fact) => fact !== "").join(", ")}\n`;
}
