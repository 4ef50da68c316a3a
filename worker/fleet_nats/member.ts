/**
 * A worker's place in the fleet: it holds the lease of its session, publishes its
 * frames, state and questions, and answers calls from other hosts.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import type { Decider } from "../agents/driver.ts";
import { atMost } from "../agents/_within.ts";
import { connect, type WorkerClient } from "../client.ts";
import { processStart } from "../store/processes.ts";
import type { Worker } from "../worker.ts";
import { Broadcast } from "./broadcast.ts";
import type { Fleet } from "./connection.ts";
import { serveCalls } from "./control.ts";
import { FleetError } from "./error.ts";
import { HostBeat } from "./hosts.ts";
import {
  acquireLease,
  Lease,
  type LeaseHeld,
  type LeaseOptions,
} from "./lease.ts";
import { fleetLeases } from "./lease_store.ts";
import { token } from "./names.ts";
import { Watchdog } from "./watchdog.ts";

/** Options of {@linkcode claimSession}. */
export interface SeatOptions extends Omit<LeaseOptions, "clock"> {
  /** The worker's short id on this host. */
  readonly shortId: string;
  /** The session's own id, which is what is claimed. */
  readonly sessionId: string;
  /** The agent's own id of it, when that is another one and known: claimed as well. */
  readonly agentSessionId?: string;
  /** What people call it. */
  readonly name?: string;
  /** Where it works. */
  readonly cwd?: string;
  /** Where a copy of the workspace comes from, for a start elsewhere. */
  readonly workspace?: string;
  /** Takes one line for the log. */
  log?(line: string): void;
}

/**
 * Claims a session over all hosts. Do it before the worker is started.
 *
 * @param fleet The connection.
 * @param options The session.
 * @returns The seat; give its `decider` to the worker, then `attach` it.
 * @throws {FleetError} `held` when another host writes the session.
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
  readonly #broadcast: Broadcast;
  /** The lease of the agent's own id, for agents that name their sessions themselves. */
  #second: Lease | undefined;
  #wasLost = false;
  #worker: Worker | undefined;
  #client: WorkerClient | undefined;
  #watchdog: Watchdog | undefined;
  #ending: Promise<void> | undefined;
  #unserve = () => {};

  /**
   * Wraps a lease; use {@linkcode claimSession}.
   *
   * @param fleet The connection.
   * @param lease The lease.
   * @param options The session.
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
    this.#broadcast = new Broadcast(fleet, {
      id: this.id,
      short_id: options.shortId,
      name: options.name ?? null,
      epoch: this.epoch,
      fence: lease.fence,
      session_id: options.sessionId,
      cwd: options.cwd ?? null,
      workspace: options.workspace ?? null,
    }, (line) => this.#log(line));
    this.#loseWith(lease);
  }

  /**
   * Publishes a worker and answers for it until it ends or the lease is lost.
   *
   * @param worker The worker, started with this seat's decider.
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
    HostBeat.of(this.#fleet).add(this.id);
    this.#unserve = serveCalls(this.#fleet, {
      id: this.id,
      client,
      valid: () => this.valid,
    });
    await this.#broadcast.open(worker, client);
    this.#inBackground(worker.ended.finally(() => this.end()));
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
    this.#loseWith(lease);
  }

  #loseWith(lease: Lease): void {
    this.#inBackground(lease.stopping.then(async (end) => {
      if (end !== "released") await this.#lost(end);
    }));
  }

  /** Nobody waits for it: what fails is a line in the log, and never ends the program. */
  #inBackground(work: Promise<unknown>): void {
    work.catch((error) => this.#log(`fleet: ${reasonOf(error)}`));
  }

  #log(line: string): void {
    this.#options.log?.(line);
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
          this.#inBackground(watch().catch(() => worker.end()));
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
    const gone = await this.#endWorker();
    await this.#broadcast.close();
    this.#unserve();
    // After its record says that it is over: before, a host that is gone would make it a lost one.
    await HostBeat.of(this.#fleet).remove(this.id);
    this.#client?.close();
    // Last: whoever is next may begin now.
    for (const lease of [this.#second, this.lease]) {
      if (gone) await lease?.release();
      else lease?.abandon();
    }
  }

  /** Whether the agent is gone for sure; if not, its watchdog ends it when the lease runs out. */
  async #endWorker(): Promise<boolean> {
    try {
      await this.#worker?.end();
    } catch (error) {
      this.#log(`fleet: the agent may not have ended: ${reasonOf(error)}`);
      return false;
    }
    await this.#watchdog?.done().catch(() => {});
    return true;
  }

  /** The lease cannot be renewed or was taken: no turn, no call, and the agent ends within what is left. */
  async #lost(why: string): Promise<void> {
    if (this.#wasLost) return;
    const left = this.#remainingMs;
    this.#wasLost = true;
    this.#log(
      `fleet: the lease of "${this.id}" was lost (${why}); the session ends here`,
    );
    const driver = this.#worker?.session.driver;
    // Short waits: it must be gone before anybody else can begin. The watchdog is there for what hangs.
    const closing = driver?.close({
      eofMs: Math.min(500, left / 4),
      termMs: Math.min(1_000, left / 4),
    });
    // On the record it has ended in order: the agent did not leave by itself.
    this.#worker?.end().catch(() => {});
    await atMost(Promise.resolve(closing), left);
    this.lease.abandon();
    this.#second?.abandon();
    await this.end();
  }
}
