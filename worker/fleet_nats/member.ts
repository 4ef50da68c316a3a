/**
 * A worker's place in the fleet: it holds the lease of its session, publishes its
 * frames, state and questions, and answers calls from other hosts.
 *
 * @module
 */
import type { Decider } from "../agents/driver.ts";
import type { OpenAsk } from "../asks.ts";
import { connect, type WatchEvent, type WorkerClient } from "../client.ts";
import { RpcError } from "../rpc.ts";
import { processStart } from "../store/processes.ts";
import type { Worker } from "../worker.ts";
import type { Fleet } from "./connection.ts";
import { FleetError, reasonOf } from "./error.ts";
import { FramePublisher } from "./frames.ts";
import { HostBeat } from "./hosts.ts";
import {
  acquireLease,
  Lease,
  type LeaseHeld,
  type LeaseOptions,
} from "./lease.ts";
import { fleetLeases } from "./lease_store.ts";
import { controlSubject, FLEET_SCHEMA, keyOf, roleOf, token } from "./names.ts";
import type { FleetSessionRecord } from "./records.ts";
import { Watchdog } from "./watchdog.ts";

/** Options of {@linkcode claimSession}. */
export interface SeatOptions extends Omit<LeaseOptions, "clock"> {
  /** The worker's short id on this host. */
  readonly shortId: string;
  /** The session's own id, which is what is claimed. */
  readonly sessionId: string;
  /** The agent's own id of it, when that is another one and known: claimed as well. */
  readonly agentSessionId?: string;
  /** Where it works. */
  readonly cwd?: string;
  /** Where a copy of the workspace comes from, for a start elsewhere. */
  readonly workspace?: string;
  /** Takes one line for the log. */
  log?(line: string): void;
}

const STATE_MS = 100;
const DRAINED_MS = 250;
const RETRY_MS = 500;
const TELL_MS = 30_000;
const FLUSH_MS = 2_000;

/**
 * Claims a session over all hosts. Do it before the worker is started.
 *
 * @param fleet The connection
 * @param options The session
 * @returns The seat; give its `decider` to the worker, then `attach` it
 * @throws {FleetError} `held` when another host writes the session
 */
export async function claimSession(
  fleet: Fleet,
  options: SeatOptions,
): Promise<FleetSeat> {
  const lease = await claim(fleet, options, options.sessionId);
  const seat = new FleetSeat(fleet, lease, options);
  const { agentSessionId } = options;
  if (agentSessionId !== undefined && agentSessionId !== options.sessionId) {
    try {
      seat.alsoHold(await claim(fleet, options, agentSessionId));
    } catch (error) {
      await seat.end();
      throw error;
    }
  }
  return seat;
}

async function claim(
  fleet: Fleet,
  options: SeatOptions,
  sessionId: string,
): Promise<Lease> {
  const holder = `${fleet.host}/${options.shortId}`;
  let lease: Lease | LeaseHeld;
  try {
    lease = await acquireLease(
      fleetLeases(fleet),
      `session:${sessionId}`,
      holder,
      options,
    );
  } catch (error) {
    throw new FleetError(
      "timeout",
      `Cannot claim the session "${sessionId}": ${reasonOf(error)}`,
      "check the link to the server and the rights of this host",
      error,
    );
  }
  if (lease instanceof Lease) return lease;
  throw new FleetError(
    "held",
    `Cannot claim the session "${sessionId}": "${lease.heldBy}" writes it`,
    "stop it there first, or watch it from here",
  );
}

/** The lease of one session and what hangs on it. Made by {@linkcode claimSession}. */
export class FleetSeat implements AsyncDisposable {
  /** The session in the fleet: `<host>.<short id>`. */
  readonly id: string;
  /** The lease. */
  readonly lease: Lease;
  /** Denies every call while the lease is not sure; put it first. */
  readonly decider: Decider;
  /** This life of the worker. */
  readonly epoch: string = crypto.randomUUID();
  readonly #fleet: Fleet;
  readonly #options: SeatOptions;
  readonly #publisher: FramePublisher;
  readonly #asks = new Map<string, number>();
  readonly #left = new AbortController();
  /** The lease of the agent's own id, for agents that name their sessions themselves. */
  #second: Lease | undefined;
  #wasLost = false;
  #worker: Worker | undefined;
  #client: WorkerClient | undefined;
  #watchdog: Watchdog | undefined;
  #record: FleetSessionRecord;
  #stateTimer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #following: Promise<unknown> = Promise.resolve();
  #ending: Promise<void> | undefined;
  #unserve = () => {};
  #unsynced: readonly OpenAsk[] | undefined;
  #told: number | undefined;
  #repairing = false;

  /**
   * Wraps a lease; use {@linkcode claimSession}.
   *
   * @param fleet The connection
   * @param lease The lease
   * @param options The session
   */
  constructor(fleet: Fleet, lease: Lease, options: SeatOptions) {
    this.#fleet = fleet;
    this.lease = lease;
    this.#options = options;
    this.id = `${token(fleet.host)}.${token(options.shortId)}`;
    this.decider = {
      name: "fleet",
      decide: () =>
        this.valid ? null : {
          decision: "deny",
          reason:
            "this host is not sure to be the only writer of the session any more",
          by: "fleet",
        },
    };
    this.#publisher = new FramePublisher(
      fleet,
      this.id,
      this.epoch,
      (error) => this.#trouble(error),
      // The record says how many frames the server has; not at each of them.
      () => this.#soon(DRAINED_MS),
    );
    this.#record = {
      schema: FLEET_SCHEMA,
      id: this.id,
      host: fleet.host,
      instance: fleet.instance,
      short_id: options.shortId,
      epoch: this.epoch,
      fence: lease.fence,
      session_id: options.sessionId,
      state: "starting",
      agent: null,
      cwd: options.cwd ?? null,
      workspace: options.workspace ?? null,
      cost_usd: 0,
      open_asks: 0,
      pending_turns: 0,
      stalled: false,
      next: 0,
      started_at: Date.now(),
      updated_at: Date.now(),
    };
    lease.stopping.then((end) => {
      if (end !== "released") this.#lost(end);
    });
  }

  /**
   * Publishes a worker and answers for it until it ends or the lease is lost.
   *
   * @param worker The worker, started with this seat's decider
   */
  async attach(worker: Worker): Promise<void> {
    this.#worker = worker;
    await this.#claimOwnId(worker);
    if (!this.valid) {
      await worker.end();
      throw new FleetError(
        "held",
        "The lease was lost while the worker started",
        "start it again",
      );
    }
    await this.#guard(worker);
    const client = await connect(worker.socketPath);
    this.#client = client;
    this.#record = {
      ...this.#record,
      state: worker.state,
      agent: worker.session.driver.name,
      session_id: worker.sessionId ?? this.#record.session_id,
    };
    HostBeat.of(this.#fleet).add(this.id);
    this.#serve(client);
    await this.#writeState();
    this.#following = Promise.all([
      this.#follow(client),
      this.#publish(worker),
    ]);
    worker.ended.finally(() => this.end()).catch(() => {});
  }

  /** Whether the lease was lost, so that the session is somebody else's now. */
  get lost(): boolean {
    return this.#wasLost;
  }

  /** Whether this host may go on: every lease of the session is sure. */
  get valid(): boolean {
    return this.lease.valid && this.#second?.valid !== false;
  }

  /** Milliseconds that every lease of the session holds for sure. */
  get #remainingMs(): number {
    return Math.min(
      this.lease.remainingMs,
      this.#second?.remainingMs ?? Infinity,
    );
  }

  /** @ignore */
  alsoHold(lease: Lease): void {
    this.#second = lease;
    lease.stopping.then((end) => {
      if (end !== "released") this.#lost(end);
    });
  }

  /** An agent may name its session itself: whoever resumes it by that name must find it taken. */
  async #claimOwnId(worker: Worker): Promise<void> {
    const own = worker.sessionId;
    const known = [this.#options.sessionId, this.#options.agentSessionId];
    if (own === undefined || known.includes(own)) return;
    try {
      this.alsoHold(
        await claim(this.#fleet, { ...this.#options, wait: false }, own),
      );
    } catch (error) {
      await worker.end();
      throw error;
    }
  }

  /** A process of its own ends the agent if we do not vouch for the lease in time. */
  async #guard(worker: Worker): Promise<void> {
    const pid = worker.session.driver.status().pid;
    const start = pid === null ? undefined : await processStart(pid);
    if (pid === null || start === undefined) return;
    const watch = async () => {
      const watchdog = await Watchdog.start(
        { pid, ticks: start.ticks },
        this.#remainingMs,
      );
      this.#watchdog = watchdog;
      // One that is killed leaves nobody to look after us: another takes its place.
      watchdog.onLost(() => {
        if (this.#ending === undefined && !this.#wasLost) {
          watch().catch(() => void worker.end());
        }
      });
    };
    await watch();
    const vouch = () => void this.#watchdog?.vouch(this.#remainingMs);
    this.lease.onRenewed(vouch);
    this.#second?.onRenewed(vouch);
  }

  /** The end of the seat: the last frames and the state go out, then the lease. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Same as {@linkcode end}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #end(): Promise<void> {
    await this.#worker?.end().catch(() => {});
    await this.#watchdog?.done();
    // A server that takes nothing must not keep the session from ending.
    await Promise.race([this.#following, pause(FLUSH_MS)]);
    const flushed = await this.#publisher.flush(FLUSH_MS);
    this.#publisher.stop();
    this.#unserve();
    this.#left.abort();
    clearTimeout(this.#stateTimer);
    if (!flushed) {
      this.#options.log?.("fleet: the last frames did not reach the server");
    }
    this.#record = {
      ...this.#record,
      state: "ended",
      next: this.#publisher.confirmed,
    };
    await this.#writeState().catch(() => {});
    await this.#dropAsks().catch(() => {});
    // After its record says that it is over: before, a host that is gone would make it a lost one.
    await HostBeat.of(this.#fleet).remove(this.id);
    this.#client?.close();
    // Last: whoever is next may begin now.
    await this.#second?.release();
    await this.lease.release();
  }

  /** The lease cannot be renewed or was taken: no turn, no call, and the agent ends within what is left. */
  async #lost(why: string): Promise<void> {
    if (this.#wasLost) return;
    const left = this.#remainingMs;
    this.#wasLost = true;
    this.#options.log?.(
      `fleet: the lease of "${this.id}" was lost (${why}); the session ends here`,
    );
    const driver = this.#worker?.session.driver;
    // Short waits: it must be gone before anybody else can begin. The watchdog is there for what hangs.
    const closing = driver?.close({
      eofMs: Math.min(500, left / 4),
      termMs: Math.min(1_000, left / 4),
    });
    await Promise.race([
      closing?.catch(() => {}),
      pause(this.#remainingMs),
    ]);
    this.lease.abandon();
    this.#second?.abandon();
    await this.end();
  }

  async #follow(client: WorkerClient): Promise<void> {
    try {
      for await (
        const event of client.watch({
          cursor: Number.MAX_SAFE_INTEGER,
          signal: this.#left.signal,
          answers: true,
        })
      ) {
        this.#take(event);
      }
    } catch (error) {
      this.#options.log?.(`fleet: ${reasonOf(error)}`);
    }
  }

  /** Frames go from the session's own log to the server, without the way over the socket. */
  async #publish(worker: Worker): Promise<void> {
    const { session } = worker;
    let cursor = 0;
    let wake = Promise.withResolvers<void>();
    const unwatch = session.watch(() => wake.resolve());
    try {
      for (;;) {
        const slice = session.log.since(cursor, { maxFrames: 256 });
        if (slice.entries.length > 0) {
          cursor = slice.next;
          const frames = slice.entries.map((entry) => entry.frame);
          await this.#publisher.add({
            from: slice.from,
            frames,
            next: slice.next,
            gap: slice.gap,
          });
          continue;
        }
        if (session.state === "dead" || this.#left.signal.aborted) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      unwatch();
    }
  }

  #take(event: WatchEvent): void {
    switch (event.type) {
      case "frames":
        return;
      case "state":
        this.#record = {
          ...this.#record,
          state: event.state,
          cost_usd: event.costUsd,
          open_asks: event.openAsks,
          pending_turns: event.pendingTurns,
          stalled: event.stalled,
          session_id: this.#worker?.sessionId ?? this.#record.session_id,
        };
        return this.#soon();
      case "asks":
        // The state first: a question that is listed belongs to a session that waits.
        this.#record = { ...this.#record, open_asks: event.asks.length };
        this.#writing = this.#writing.then(() => this.#writeState()).then(() =>
          this.#syncAsks(event.asks)
        ).catch((error) => {
          this.#trouble(error);
          this.#unsynced = event.asks;
          this.#soon(RETRY_MS);
        });
        return;
      case "end":
        return;
    }
  }

  /** Several changes within a moment are one write; one that fails is made again. */
  #soon(ms = STATE_MS): void {
    if (this.#ending !== undefined) return;
    this.#stateTimer ??= setTimeout(() => {
      this.#stateTimer = undefined;
      this.#writing = this.#writing.then(() => this.#writeState()).catch(
        (error) => {
          this.#trouble(error);
          this.#soon(RETRY_MS);
        },
      );
    }, ms);
  }

  async #writeState(): Promise<void> {
    const bucket = await this.#fleet.bucket(this.#fleet.names.sessions);
    const over = this.#record.state === "ended";
    this.#record = {
      ...this.#record,
      state: over ? "ended" : this.#worker?.state ?? this.#record.state,
      next: this.#publisher.confirmed,
      updated_at: Date.now(),
    };
    await bucket.put(this.id, JSON.stringify(this.#record));
    const asks = this.#unsynced;
    this.#unsynced = undefined;
    if (asks !== undefined) await this.#syncAsks(asks);
  }

  async #syncAsks(asks: readonly OpenAsk[]): Promise<void> {
    const bucket = await this.#fleet.bucket(this.#fleet.names.asks);
    const open = new Set(asks.map((ask) => ask.id));
    for (const ask of asks) {
      if (this.#asks.has(ask.id)) continue;
      const value = JSON.stringify({
        schema: FLEET_SCHEMA,
        session: this.id,
        ask,
      });
      this.#asks.set(
        ask.id,
        await bucket.put(`${this.id}.${keyOf(ask.id)}`, value),
      );
    }
    for (const id of this.#asks.keys()) {
      if (open.has(id)) continue;
      await bucket.delete(`${this.id}.${keyOf(id)}`);
      this.#asks.delete(id);
    }
  }

  async #dropAsks(): Promise<void> {
    await this.#writing;
    await this.#syncAsks([]);
  }

  /** The socket's calls as request and reply; the subject says which role the caller has. */
  #serve(client: WorkerClient): void {
    const subject = controlSubject(this.#fleet.names.prefix, this.id, "*");
    const subscription = this.#fleet.nc.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null || message.reply === undefined) return;
        const role = message.subject.slice(
          message.subject.lastIndexOf(".") + 1,
        );
        this.#answer(client, role, message.data)
          .then((body) => void message.respond(body))
          .catch(() => {});
      },
    });
    this.#unserve = () => subscription.unsubscribe();
  }

  async #answer(
    client: WorkerClient,
    role: string,
    data: Uint8Array,
  ): Promise<string> {
    let id: unknown = null;
    const fail = (code: string, message: string) =>
      JSON.stringify({ id, error: { code, message } });
    try {
      const request: unknown = JSON.parse(new TextDecoder().decode(data));
      if (typeof request !== "object" || request === null) {
        return fail("malformed_frame", "no object");
      }
      const { method, params } = request as {
        method?: unknown;
        params?: unknown;
      };
      id = (request as { id?: unknown }).id ?? null;
      if (typeof method !== "string" || roleOf(method) !== role) {
        return fail("unknown_method", `unknown stream method: ${method}`);
      }
      if (role === "drive" && !this.valid) {
        return fail("shutting_down", "this host is losing the session");
      }
      const given = typeof params === "object" && params !== null
        ? { ...params }
        : {};
      return JSON.stringify({ id, result: await client.call(method, given) });
    } catch (error) {
      return fail(
        error instanceof RpcError ? error.code : "internal",
        reasonOf(error),
      );
    }
  }

  /**
   * A server that takes nothing is told of, at most every half minute; local work goes on while the
   * lease holds. It may have lost its streams: they are made again.
   */
  #trouble(error: unknown): void {
    const now = performance.now();
    if (this.#told === undefined || now - this.#told > TELL_MS) {
      this.#told = now;
      this.#options.log?.(`fleet: ${reasonOf(error)}; trying again`);
    }
    if (this.#repairing || this.#fleet.nc.isClosed()) return;
    this.#repairing = true;
    this.#fleet.repair().catch(() => {}).finally(() => this.#repairing = false);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
