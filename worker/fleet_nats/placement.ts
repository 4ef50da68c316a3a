/**
 * A machine that runs queued sessions: it takes one while it has room, gives it back
 * when it cannot run it, and takes over what a dead machine has left.
 *
 * A first turn is marked as given before it is given: it may be lost with a machine,
 * and is told as such, but never run twice.
 *
 * @module
 */
import { atMost } from "../agents/_within.ts";
import { pause, reasonOf } from "@bulkhead/sandbox";
import type { Consumer, JsMsg } from "@nats-io/jetstream";
import type { Worker } from "../worker.ts";
import type { EndReason } from "../worker_options.ts";
import type { Fleet } from "./connection.ts";
import { FleetError } from "./error.ts";
import { HostBeat } from "./hosts.ts";
import type { JobRecord } from "./job_record.ts";
import { markDelivered, readJob, settleJob } from "./jobs.ts";
import { claimSession, type FleetSeat, type SeatOptions } from "./member.ts";
import {
  answerOffer,
  type Fate,
  type OfferOptions,
  queueConsumer,
} from "./offers.ts";
import { placedShortId } from "./queue.ts";
import { hostRecord } from "./records.ts";
import { valuesOf } from "./values.ts";
import { sweepFleet } from "./sweep.ts";
import { prepareWorkspace } from "./workspace.ts";

/** What a host starts. */
export interface PlacedSession {
  /** The job. */
  readonly job: JobRecord;
  /** The directory it works in, here. */
  readonly cwd: string;
  /** The worker's short id. */
  readonly shortId: string;
  /** The id to resume when the session ran before. */
  readonly resume: string | undefined;
  /** The lease: give its `decider` to the worker, first. */
  readonly seat: FleetSeat;
}

/** Options of {@linkcode offerHost}. */
export interface HostOptions
  extends OfferOptions, Pick<SeatOptions, "leaseMs" | "marginMs" | "stopMs"> {
  /** How many sessions may run here. */
  readonly slots: number;
  /**
   * Memory that sessions may have together.
   *
   * @default not looked at
   */
  readonly memoryBytes?: number;
  /** Where copies of git workspaces go. */
  readonly workspaces: string;
  /** Why this machine does not take a session, if it does not. */
  refuse?(job: JobRecord): string | undefined;
  /** Starts a worker. */
  start(session: PlacedSession): Promise<Worker>;
  /**
   * How often a session is offered before it is told as unplaceable.
   *
   * @default {20}
   */
  readonly maxOffers?: number;
  /**
   * How often to look for what dead hosts have left.
   *
   * @default {10000}
   */
  readonly sweepMs?: number;
}

interface Running {
  readonly worker: Worker;
  readonly memoryBytes: number;
  /** Resolves when it is over and its job says so. */
  readonly settled: Promise<void>;
}

/** How long one request for an offer stays with the server. */
const FETCH_MS = 2_000;
/** How long a step of leaving waits for the server. */
const LEAVE_MS = 5_000;
/** After so many rounds in which no host was missing it is swept all the same. */
const SWEEP_ROUNDS = 12;

/** A machine that takes sessions. Made by {@linkcode offerHost}. */
export class FleetHost implements AsyncDisposable {
  readonly #fleet: Fleet;
  readonly #options: HostOptions;
  readonly #running = new Map<string, Running>();
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
   * @param fleet The connection.
   * @param consumer The queue's consumer.
   * @param options Slots and how to start.
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
    // A server that is gone answers nothing of this; whoever sweeps after it is back finds what it was not told.
    await atMost(this.#loop, LEAVE_MS);
    await atMost(Promise.all(this.#starting), LEAVE_MS);
    if (options.end !== false) {
      await Promise.all(
        [...this.#running.values()].map(async ({ worker, settled }) => {
          await worker.end().catch((error) =>
            this.#log(`fleet: ${reasonOf(error)}`)
          );
          await atMost(settled, LEAVE_MS);
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
        const work: Promise<void> = this.#place(message).finally(() => {
          this.#starting.delete(work);
          this.#freed();
        });
        this.#starting.add(work);
      } catch (error) {
        if (this.#fleet.nc.isClosed()) return;
        this.#log(`fleet: ${reasonOf(error)}; trying again`);
        await pause(500);
        await this.#fleet.repair().catch(() => {});
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

  #place(message: JsMsg): Promise<void> {
    return answerOffer(message, () => this.#fateOf(message), this.#options);
  }

  /** Runs it, if it can: `done`; `over` for what nobody has to run any more; `again` for others to try. */
  async #fateOf(message: JsMsg): Promise<Fate> {
    const job = await readJob(this.#fleet, message.string());
    if (job === undefined || ["ended", "unplaceable"].includes(job.state)) {
      return "over";
    }
    try {
      const refusal = this.#options.refuse?.(job);
      if (refusal !== undefined) return await this.#pass(message, job, refusal);
      const cwd = await this.#roomFor(job);
      if (cwd === undefined) {
        return await this.#pass(
          message,
          job,
          "no host has its workspace and room for it",
        );
      }
      await this.#run(job, cwd);
      return "done";
    } catch (error) {
      // It runs: this message is the second one of a session that was placed.
      if (error instanceof FleetError && error.code === "held") return "done";
      return await this.#pass(message, job, reasonOf(error));
    }
  }

  /** Offers it to others, until that has been done too often. */
  async #pass(
    message: JsMsg,
    job: JobRecord,
    reason: string,
  ): Promise<Fate> {
    this.#log(`fleet: cannot run "${job.sessionId}" here: ${reason}`);
    if (message.info.deliveryCount < (this.#options.maxOffers ?? 20)) {
      return "again";
    }
    const state = job.moves > 0 || job.state === "delivered"
      ? "orphaned"
      : "unplaceable";
    await settleJob(this.#fleet, job.sessionId, { state, reason });
    return "over";
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
      ...job.name === undefined ? {} : { name: job.name },
      ...job.agentSession === null ? {} : { agentSessionId: job.agentSession },
    });
    let worker: Worker | undefined;
    try {
      // Read again: who had it before us may have given the first turn.
      const now = await readJob(this.#fleet, job.sessionId) ?? job;
      const delivered = now.state === "delivered";
      const resume = delivered || now.resume === true
        ? now.agentSession ?? job.sessionId
        : undefined;
      await settleJob(this.#fleet, job.sessionId, {
        host: `${this.#fleet.host}/${this.#fleet.instance}`,
        state: delivered ? "delivered" : "placed",
        reason: null,
      });
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
        // Without it nobody could resume the session elsewhere: it is written before the first turn.
        await settleJob(this.#fleet, job.sessionId, {
          agentSession: sessionId,
        });
      }
      if (now.prompt !== undefined && !delivered) {
        await this.#give(now, worker);
      }
    } catch (error) {
      await worker?.end().catch(() => {});
      await seat.end();
      throw error;
    }
  }

  #keep(job: JobRecord, worker: Worker, seat: FleetSeat): void {
    const { sessionId } = job;
    const settled = worker.ended
      .then(({ reason }) => this.#settle(sessionId, seat, reason))
      .catch((error) => this.#log(`fleet: ${reasonOf(error)}`))
      .finally(() => {
        this.#running.delete(sessionId);
        this.#freed();
      });
    const { memoryBytes = 0 } = job;
    this.#running.set(sessionId, { worker, memoryBytes, settled });
  }

  /** Ended by itself or by a person: it is over. With its lease lost it is somebody else's. */
  async #settle(
    sessionId: string,
    seat: FleetSeat,
    why: EndReason,
  ): Promise<void> {
    await seat.end();
    if (seat.lost) return;
    const reason = why === "child_exited"
      ? "its agent ended by itself"
      : why === "session-held"
      ? "its agent went on with a session that somebody else writes"
      : null;
    await settleJob(this.#fleet, sessionId, {
      state: reason === null ? "ended" : "orphaned",
      reason,
    });
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }

  /** Marks the first turn as given, then gives it. */
  async #give(job: JobRecord, worker: Worker): Promise<void> {
    if (await markDelivered(this.#fleet, job.sessionId)) {
      await worker.send({ text: job.prompt ?? "", uuid: job.turn });
    }
  }

  /** Not all hosts at the same moment. */
  #armSweep(): void {
    if (this.#stopped || this.#fleet.nc.isClosed()) return;
    const every = this.#options.sweepMs ?? this.#fleet.hostTtlMs / 2;
    this.#sweep = setTimeout(async () => {
      await this.#sweepIfNeeded().catch((error) =>
        this.#log(`fleet: ${reasonOf(error)}`)
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
 * @param fleet The connection.
 * @param options Slots, and how a worker is started.
 * @returns The running host.
 */
export async function offerHost(
  fleet: Fleet,
  options: HostOptions,
): Promise<FleetHost> {
  return new FleetHost(fleet, await queueConsumer(fleet, options), options);
}
