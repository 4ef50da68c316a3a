/**
 * A machine that runs queued sessions: it takes one while it has room, gives it back
 * when it cannot run it, and takes over what a dead machine has left.
 *
 * A first turn is marked as given before it is given: it may be lost with a machine,
 * and is told as such, but never run twice.
 *
 * @module
 */
import { AckPolicy, type Consumer, type JsMsg } from "@nats-io/jetstream";
import { run } from "@bulkhead/sandbox";
import type { Worker } from "../worker.ts";
import { type Fleet, HOST_TTL_MS } from "./connection.ts";
import { FleetError, reasonOf } from "./error.ts";
import { HostBeat } from "./hosts.ts";
import {
  changeJob,
  GIT_SOURCE,
  type JobRecord,
  listJobs,
  putInQueue,
  readJob,
} from "./jobs.ts";
import { claimSession, type FleetSeat, type SeatOptions } from "./member.ts";
import { placedShortId } from "./queue.ts";
import { hostRecord } from "./records.ts";
import { valuesOf, viewFleet } from "./remote.ts";

/** What a host starts. */
export interface PlacedSession {
  /** The job. */
  readonly job: JobRecord;
  /** The directory it works in, here. */
  readonly cwd: string;
  /** The worker's short id. */
  readonly shortId: string;
  /** The id to resume when the session ran elsewhere before; it gets no first turn then. */
  readonly resume: string | undefined;
  /** The lease: give its `decider` to the worker, first. */
  readonly seat: FleetSeat;
}

/** Options of {@linkcode offerHost}. */
export interface HostOptions
  extends Pick<SeatOptions, "leaseMs" | "marginMs" | "stopMs"> {
  /** How many sessions may run here. */
  readonly slots: number;
  /** Memory that sessions may have together. @default not looked at */
  readonly memoryBytes?: number;
  /** Where copies of git workspaces go. */
  readonly workspaces: string;
  /** Starts a worker. */
  start(session: PlacedSession): Promise<Worker>;
  /** How long a host has to start a session before it is given to another. @default 60000 */
  readonly ackMs?: number;
  /** How often a session is offered before it is told as unplaceable. @default 20 */
  readonly maxOffers?: number;
  /** Wait before a session that cannot run here is offered again. @default 2000 */
  readonly againMs?: number;
  /** How often to look for what dead hosts have left. @default 10000 */
  readonly sweepMs?: number;
  /** Takes one line for the log. */
  log?(line: string): void;
}

const FETCH_MS = 2_000;
const CONSUMER = "placement";
const SWEEP_ROUNDS = 12;

/** A machine that takes sessions. Made by {@linkcode offerHost}. */
export class FleetHost implements AsyncDisposable {
  readonly #fleet: Fleet;
  readonly #options: HostOptions;
  readonly #running = new Map<
    string,
    { worker: Worker; seat: FleetSeat; memoryBytes: number }
  >();
  readonly #starting = new Set<Promise<void>>();
  #consumer: Consumer;
  #stopped = false;
  #loop: Promise<void>;
  #sweep: ReturnType<typeof setTimeout> | undefined;
  #free = Promise.withResolvers<void>();
  /** The hosts of the last look. */
  #seen: Set<string> | undefined;
  #calmRounds = 0;

  /**
   * Starts taking sessions; use {@linkcode offerHost}.
   *
   * @param fleet The connection
   * @param consumer The queue's consumer
   * @param options Slots and how to start
   */
  constructor(fleet: Fleet, consumer: Consumer, options: HostOptions) {
    this.#fleet = fleet;
    this.#consumer = consumer;
    this.#options = options;
    const beat = HostBeat.of(fleet);
    beat.slots = options.slots;
    beat.memoryBytes = options.memoryBytes ?? null;
    beat.now();
    this.#loop = this.#take();
    this.#armSweep();
  }

  /** The sessions that run here. */
  get sessions(): string[] {
    return [...this.#running.keys()];
  }

  /** Takes no more sessions; those that run go on until they end, unless `end`. */
  async close(options: { end?: boolean } = {}): Promise<void> {
    this.#stopped = true;
    this.#free.resolve();
    clearTimeout(this.#sweep);
    await this.#loop;
    await Promise.all(this.#starting);
    if (options.end !== false) {
      await Promise.all(
        [...this.#running.values()].map(async ({ worker, seat }) => {
          await worker.end();
          await seat.end();
        }),
      );
    }
    await HostBeat.of(this.#fleet).stop();
  }

  /** Same as {@linkcode close}: sessions end in order. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #take(): Promise<void> {
    while (!this.#stopped) {
      if (this.#running.size + this.#starting.size >= this.#options.slots) {
        await this.#free.promise;
        continue;
      }
      try {
        const message = await this.#consumer.next({ expires: FETCH_MS });
        if (message === null) continue;
        if (this.#stopped) {
          message.nak();
          return;
        }
        const work = this.#place(message).catch((error) => {
          this.#options.log?.(`fleet: ${reasonOf(error)}`);
          message.nak(this.#options.againMs ?? 2_000);
        });
        const tracked = work.finally(() => {
          this.#starting.delete(tracked);
          this.#freed();
        });
        this.#starting.add(tracked);
      } catch (error) {
        if (this.#fleet.nc.isClosed()) return;
        this.#options.log?.(`fleet: ${reasonOf(error)}; trying again`);
        await new Promise((resolve) => setTimeout(resolve, 500));
        this.#consumer = await queueConsumer(this.#fleet, this.#options).catch(
          () => this.#consumer,
        );
      }
    }
  }

  #freed(): void {
    this.#free.resolve();
    this.#free = Promise.withResolvers();
  }

  async #place(message: JsMsg): Promise<void> {
    const sessionId = message.string();
    const job = await readJob(this.#fleet, sessionId);
    if (job === undefined || ["ended", "unplaceable"].includes(job.state)) {
      return void message.term();
    }
    const beat = setInterval(
      () => message.working(),
      (this.#options.ackMs ?? 60_000) / 3,
    );
    try {
      const cwd = await this.#roomFor(job);
      if (cwd === undefined) {
        return await this.#pass(
          message,
          job,
          "no host has its workspace and room for it",
        );
      }
      await this.#run(job, cwd);
      await message.ackAck();
    } catch (error) {
      if (error instanceof FleetError && error.code === "held") {
        // It runs: this message is the second one of a session that was placed.
        await message.ackAck();
        return;
      }
      await this.#pass(message, job, reasonOf(error));
    } finally {
      clearInterval(beat);
    }
  }

  /** Offers it to others, until that has been done too often. */
  async #pass(message: JsMsg, job: JobRecord, reason: string): Promise<void> {
    this.#options.log?.(`fleet: cannot run "${job.sessionId}" here: ${reason}`);
    if (message.info.deliveryCount < (this.#options.maxOffers ?? 20)) {
      message.nak(this.#options.againMs ?? 2_000);
      return;
    }
    const state = job.moves > 0 || job.state === "delivered"
      ? "orphaned"
      : "unplaceable";
    await changeJob(this.#fleet, job.sessionId, () => ({ state, reason }));
    message.term(reason);
  }

  /** The directory to work in, when this machine has it and room for the session. */
  async #roomFor(job: JobRecord): Promise<string | undefined> {
    const { memoryBytes } = this.#options;
    const used = [...this.#running.values()].reduce(
      (sum, r) => sum + r.memoryBytes,
      0,
    );
    if (
      memoryBytes !== undefined && used + (job.memoryBytes ?? 0) > memoryBytes
    ) return undefined;
    return await prepareWorkspace(job, this.#options.workspaces);
  }

  async #run(job: JobRecord, cwd: string): Promise<void> {
    const shortId = placedShortId(job.sessionId);
    const seat = await claimSession(this.#fleet, {
      ...this.#options,
      shortId,
      cwd,
      sessionId: job.sessionId,
      ...job.agentSession === null ? {} : { agentSessionId: job.agentSession },
    });
    let worker: Worker | undefined;
    try {
      // Read again: who had it before us may have given the first turn.
      const now = await readJob(this.#fleet, job.sessionId) ?? job;
      const resume = now.state === "delivered"
        ? now.agentSession ?? job.sessionId
        : undefined;
      await changeJob(this.#fleet, job.sessionId, (j) => ({
        host: `${this.#fleet.host}/${this.#fleet.instance}`,
        state: j.state === "delivered" ? "delivered" : "placed",
        reason: null,
      }));
      worker = await this.#options.start({
        job: now,
        cwd,
        shortId,
        resume,
        seat,
      });
      await seat.attach(worker);
      this.#keep(job, worker, seat);
      const { sessionId } = worker;
      if (sessionId !== undefined && sessionId !== job.sessionId) {
        await this.#rememberOwnId(job, sessionId);
      }
      if (now.prompt !== undefined && resume === undefined) {
        await this.#give(now, worker);
      }
    } catch (error) {
      await worker?.end().catch(() => {});
      await seat.end();
      throw error;
    }
  }

  /** Without it nobody could resume the session elsewhere: it is written before the first turn. */
  async #rememberOwnId(job: JobRecord, agentSession: string): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      const changed = await changeJob(
        this.#fleet,
        job.sessionId,
        (now) =>
          now.agentSession === agentSession ? undefined : { agentSession },
      );
      if (changed !== undefined) return;
      const now = await readJob(this.#fleet, job.sessionId);
      if (now?.agentSession === agentSession) return;
    }
    throw new Error(`cannot note the agent's own id of "${job.sessionId}"`);
  }

  #keep(job: JobRecord, worker: Worker, seat: FleetSeat): void {
    const { sessionId } = job;
    this.#running.set(sessionId, {
      worker,
      seat,
      memoryBytes: job.memoryBytes ?? 0,
    });
    worker.ended.then(async ({ reason }) => {
      await seat.end();
      // Ended by itself or by a person: it is over. Otherwise it is somebody else's.
      if (seat.lost) return;
      const state = reason === "child_exited" ? "orphaned" : "ended";
      await changeJob(this.#fleet, sessionId, () => ({
        state,
        reason: reason === "child_exited" ? "its agent ended by itself" : null,
      }));
    }).catch(() => {}).finally(() => {
      this.#running.delete(sessionId);
      this.#freed();
    });
  }

  /** Marks the first turn as given, then gives it. */
  async #give(job: JobRecord, worker: Worker): Promise<void> {
    const marked = await changeJob(
      this.#fleet,
      job.sessionId,
      (j) => j.state === "delivered" ? undefined : { state: "delivered" },
    );
    if (marked !== undefined) {
      await worker.send({ text: job.prompt ?? "", uuid: job.turn });
    }
  }

  /** Not all hosts at the same moment. */
  #armSweep(): void {
    if (this.#stopped) return;
    const every = this.#options.sweepMs ?? HOST_TTL_MS / 2;
    this.#sweep = setTimeout(async () => {
      await this.#sweepIfNeeded().catch((error) =>
        this.#options.log?.(`fleet: ${reasonOf(error)}`)
      );
      this.#armSweep();
    }, every * (0.75 + Math.random() / 2));
  }

  /** Reading everything is for when a host has gone, and now and then: many hosts would read all the time. */
  async #sweepIfNeeded(): Promise<void> {
    const bucket = await this.#fleet.bucket(this.#fleet.names.hosts);
    const there = new Set(
      (await valuesOf(bucket, hostRecord)).map((host) => host.instance),
    );
    const before = this.#seen;
    const calm = before !== undefined && before.isSubsetOf(there);
    if (!calm || ++this.#calmRounds >= SWEEP_ROUNDS) {
      await sweepFleet(this.#fleet);
      this.#calmRounds = 0;
    }
    this.#seen = there;
  }
}

/**
 * Offers this machine to the fleet.
 *
 * @param fleet The connection
 * @param options Slots, and how a worker is started
 * @returns The running host
 */
export async function offerHost(
  fleet: Fleet,
  options: HostOptions,
): Promise<FleetHost> {
  return new FleetHost(fleet, await queueConsumer(fleet, options), options);
}

async function queueConsumer(
  fleet: Fleet,
  options: HostOptions,
): Promise<Consumer> {
  const { queue } = fleet.names;
  try {
    await fleet.jsm.consumers.info(queue, CONSUMER);
  } catch {
    await fleet.jsm.consumers.add(queue, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: (options.ackMs ?? 60_000) * 1e6,
      max_deliver: -1,
    });
  }
  return await fleet.js.consumers.get(queue, CONSUMER);
}

/**
 * Puts back into the queue what dead hosts have left, and tells of what nobody can take over: a
 * session that was not queued, and whose machine is gone, is orphaned.
 *
 * @param fleet The connection
 * @returns The sessions that were queued again and those that were found orphaned
 */
export async function sweepFleet(
  fleet: Fleet,
): Promise<{ requeued: string[]; orphaned: string[] }> {
  const [view, jobs] = await Promise.all([viewFleet(fleet), listJobs(fleet)]);
  // A program that was started again is another one: what it ran before is lost all the same.
  const there = new Set(view.hosts.map((h) => `${h.host}/${h.instance}`));
  const requeued: string[] = [], orphaned: string[] = [];
  for (const job of jobs) {
    if (job.host === null || there.has(job.host)) continue;
    if (job.state !== "placed" && job.state !== "delivered") continue;
    const moved = await changeJob(
      fleet,
      job.sessionId,
      (now) =>
        now.host === job.host && now.moves === job.moves &&
          now.state === job.state
          ? { host: null, moves: now.moves + 1 }
          : undefined,
    );
    if (moved === undefined) continue;
    await putInQueue(fleet, moved);
    requeued.push(job.sessionId);
  }
  const bucket = await fleet.bucket(fleet.names.sessions);
  for (const session of view.sessions) {
    if (!session.lost || session.state === "orphaned") continue;
    if (jobs.some((job) => job.sessionId === session.session_id)) continue;
    const { lost: _, ...record } = session;
    await bucket.put(
      session.id,
      JSON.stringify({ ...record, state: "orphaned" }),
    );
    orphaned.push(session.id);
  }
  return { requeued, orphaned };
}

/** The directory of a job on this machine; `undefined` when it cannot be had. */
export async function prepareWorkspace(
  job: Pick<JobRecord, "workspace" | "sessionId">,
  root: string,
): Promise<string | undefined> {
  if ("path" in job.workspace) {
    const info = await Deno.stat(job.workspace.path).catch(() => undefined);
    return info?.isDirectory
      ? await Deno.realPath(job.workspace.path)
      : undefined;
  }
  const [, url, commit] = GIT_SOURCE.exec(job.workspace.git) ?? [];
  if (url === undefined || commit === undefined) return undefined;
  const dir = `${root}/${job.sessionId}`;
  if ((await Deno.stat(`${dir}/.git`).catch(() => undefined))?.isDirectory) {
    return dir;
  }
  await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
  // Exactly that commit, no prompt, no helper that the url could name.
  const steps = [
    ["init", "--quiet"],
    ["fetch", "--quiet", "--depth", "1", "--", url, commit],
    ["checkout", "--quiet", "--detach", commit],
  ];
  for (const step of steps) {
    const result = await run(
      ["git", "-c", "protocol.ext.allow=never", ...step],
      {
        cwd: dir,
        env: {
          PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
          HOME: Deno.env.get("HOME") ?? "/",
          GIT_TERMINAL_PROMPT: "0",
        },
        timeoutMs: 120_000,
      },
    ).catch(() => undefined);
    if (result?.success !== true) {
      await Deno.remove(dir, { recursive: true }).catch(() => {});
      return undefined;
    }
  }
  return dir;
}
