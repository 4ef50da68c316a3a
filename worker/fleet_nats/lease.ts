/**
 * A claim with a lease: one writer over many machines.
 *
 * The owner renews it. Whoever wants to take it over must have seen the same revision
 * for the whole lease and a margin, on its own monotonic clock, and replaces exactly
 * that revision. The owner counts from the moment it *sent* the last renewal that was
 * confirmed, on two clocks, and takes the larger: a clock that is set forward or a
 * machine that slept ends it early, one that is set back changes nothing. So an owner
 * stops before anybody else can begin, without any two clocks agreeing.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { isJsonObject } from "../frame.ts";

/** Where leases are kept: a store with revisions. */
export interface LeaseStore {
  /** Writes a key that must not exist; `undefined` when it does. */
  create(key: string, value: string): Promise<number | undefined>;
  /** Replaces exactly this revision; `undefined` when it has moved on. */
  update(
    key: string,
    value: string,
    revision: number,
  ): Promise<number | undefined>;
  /** The newest value. */
  read(key: string): Promise<{ value: string; revision: number } | undefined>;
  /** Removes exactly this revision; nothing when it has moved on. */
  remove(key: string, revision: number): Promise<void>;
  /**
   * Whether a failure passes by itself, so that taking a lease is tried again.
   *
   * @default none does
   */
  passes?(error: unknown): boolean;
}

/** The two clocks that elapsed time is read from. */
export interface LeaseClock {
  /** Milliseconds that never run backwards; may stand still while the machine sleeps. */
  monotonic(): number;
  /** Milliseconds of the day; may jump. */
  wall(): number;
}

/** Options of {@linkcode acquireLease}. */
export interface LeaseOptions {
  /**
   * How long a renewal holds.
   *
   * @default {15000}
   */
  readonly leaseMs?: number;
  /**
   * How much longer a taker waits.
   *
   * @default a fifth of the lease
   */
  readonly marginMs?: number;
  /**
   * How long before the end the owner begins to stop.
   *
   * @default two fifths of the lease
   */
  readonly stopMs?: number;
  /**
   * Wait for a holder that seems dead.
   *
   * @default {true}
   */
  readonly wait?: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /**
   * The clocks.
   *
   * @default the machine's
   */
  readonly clock?: LeaseClock;
}

/** The lease belongs to somebody. */
export interface LeaseHeld {
  /** Who has it. */
  readonly heldBy: string;
}

/** Why a lease was lost. */
export type LeaseEnd = "released" | "expired" | "taken";

const REAL_CLOCK: LeaseClock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
};

/** How long a store may fail while a lease is taken. */
const PATIENCE_MS = 30_000;
/** How long after a failure of the store it is asked again. */
const AGAIN_MS = 250;

interface Mark {
  readonly monotonic: number;
  readonly wall: number;
}

/** A lease that is ours for now. Made by {@linkcode acquireLease}. */
export class Lease {
  /** What is claimed. */
  readonly key: string;
  /** Grows with every owner: the revision with which this one began. */
  readonly fence: number;
  /** Resolves when the owner has to stop; the lease still holds for `stopMs` then, unless it was taken. */
  readonly stopping: Promise<LeaseEnd>;
  readonly #store: LeaseStore;
  readonly #value: string;
  readonly #clock: LeaseClock;
  readonly #leaseMs: number;
  readonly #stopMs: number;
  readonly #listeners = new Set<(remainingMs: number) => void>();
  #revision: number;
  #renewed: Mark;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopTimer: ReturnType<typeof setTimeout> | undefined;
  #stop: (end: LeaseEnd) => void = () => {};
  #giveUp = () => {};
  #over = false;

  /**
   * Wraps a lease that was just won; use {@linkcode acquireLease}.
   *
   * @param parts What it is made of.
   */
  constructor(parts: {
    store: LeaseStore;
    key: string;
    value: string;
    revision: number;
    sent: Mark;
    clock: LeaseClock;
    leaseMs: number;
    stopMs: number;
  }) {
    this.#store = parts.store;
    this.key = parts.key;
    this.#value = parts.value;
    this.fence = this.#revision = parts.revision;
    this.#renewed = parts.sent;
    this.#clock = parts.clock;
    this.#leaseMs = parts.leaseMs;
    this.#stopMs = parts.stopMs;
    this.stopping = new Promise((resolve) => this.#stop = resolve);
    this.#schedule();
  }

  /** Milliseconds that the lease holds for sure; 0 when it is over. */
  get remainingMs(): number {
    if (this.#over) return 0;
    const elapsed = Math.max(
      this.#clock.monotonic() - this.#renewed.monotonic,
      this.#clock.wall() - this.#renewed.wall,
    );
    return Math.max(0, this.#leaseMs - elapsed);
  }

  /** Whether the owner may go on: false from `stopMs` before the end. */
  get valid(): boolean {
    return this.remainingMs > this.#stopMs;
  }

  /** Calls a function after every confirmed renewal, with the time that is left. */
  onRenewed(listener: (remainingMs: number) => void): void {
    this.#listeners.add(listener);
  }

  /** Lets go; the next owner need not wait. Call it when the agent is gone, not before. */
  async release(): Promise<void> {
    if (!this.#over) {
      this.#end("released");
      await this.#store.remove(this.key, this.#revision).catch(() => {});
    }
  }

  /** Gives up without telling the server: it has to run out. */
  abandon(): void {
    this.#end("expired");
  }

  #end(end: LeaseEnd): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#stopTimer);
    this.#giveUp();
    this.#stop(end);
  }

  /** One timer to renew, one to stop: a renewal that gets no answer holds up no stop. */
  #schedule(waitMs = this.#leaseMs / 4): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    clearTimeout(this.#stopTimer);
    if (!this.valid) {
      this.#stop("expired");
      return;
    }
    const left = this.remainingMs - this.#stopMs;
    this.#stopTimer = setTimeout(() => this.#schedule(), left + 1);
    this.#timer = setTimeout(() => this.#renew(), waitMs);
  }

  async #renew(): Promise<void> {
    const sent = markOf(this.#clock);
    // An answer that never comes must not keep the next attempt from being made.
    const answer = await this.#inTime(
      this.#store.update(this.key, this.#value, this.#revision),
    );
    if (this.#over) return;
    if (typeof answer === "number") {
      this.#revision = answer;
      this.#renewed = sent;
      for (const listener of this.#listeners) listener(this.remainingMs);
      this.#schedule();
      return;
    }
    if (answer === "failed") return this.#schedule(this.#leaseMs / 16);
    if (!await this.#isStillOurs()) this.#end("taken");
    this.#schedule(0);
  }

  /** An update that was lost on its way back has moved the revision, not the owner. */
  async #isStillOurs(): Promise<boolean> {
    const found = await this.#inTime(this.#store.read(this.key));
    if (found === "failed") return true;
    if (found === undefined) {
      await this.#makeAnew();
      return true;
    }
    if (found.value !== this.#value) return false;
    this.#revision = found.revision;
    return true;
  }

  /** The store has lost it: nobody else can have it either while ours holds, so it is made again. Who is faster is seen at the next renewal. */
  async #makeAnew(): Promise<void> {
    const made = await this.#inTime(this.#store.create(this.key, this.#value));
    if (typeof made === "number") this.#revision = made;
  }

  /** What the store gives within a quarter of the lease; `failed` for an error, for no answer and for the end. */
  async #inTime<T>(work: Promise<T>): Promise<T | "failed"> {
    const late = Promise.withResolvers<"failed">();
    this.#giveUp = () => {
      clearTimeout(timer);
      late.resolve("failed");
    };
    const timer = setTimeout(() => this.#giveUp(), this.#leaseMs / 4);
    const answer = await Promise.race([
      work.catch(() => "failed" as const),
      late.promise,
    ]);
    clearTimeout(timer);
    return answer;
  }
}

function markOf(clock: LeaseClock): Mark {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

/**
 * Takes a lease: at once when it is free, after its time when its holder has stopped renewing.
 *
 * @param store Where leases are kept.
 * @param key What to claim.
 * @param holder Who claims it; made unique by the call.
 * @param options How long it holds.
 * @returns The lease, or who has it.
 */
export async function acquireLease(
  store: LeaseStore,
  key: string,
  holder: string,
  options: LeaseOptions = {},
): Promise<Lease | LeaseHeld> {
  const leaseMs = options.leaseMs ?? 15_000;
  const stopMs = options.stopMs ?? leaseMs * 2 / 5;
  const marginMs = options.marginMs ?? leaseMs / 5;
  const clock = options.clock ?? REAL_CLOCK;
  // Unique: two starts of one holder are two owners. It carries how long it holds, for takers.
  const value = JSON.stringify({
    holder,
    nonce: crypto.randomUUID(),
    lease_ms: leaseMs,
  });
  const won = (revision: number, sent: Mark) =>
    new Lease({ store, key, value, revision, sent, clock, leaseMs, stopMs });
  const began = clock.monotonic();
  // The first attempt whose answer was lost: it may have been the one that won.
  let lost: Mark | undefined;
  for (;;) {
    let sent = markOf(clock);
    try {
      const created = await store.create(key, value);
      if (created !== undefined) return won(created, sent);
      const found = await store.read(key);
      if (found === undefined) continue;
      if (found.value === value) return won(found.revision, lost ?? sent);
      lost = undefined;
      const held: LeaseHeld = { heldBy: holderOf(found.value) };
      if (options.wait === false) return held;
      const ms = Math.max(leaseOf(found.value) ?? leaseMs, 1) + marginMs;
      if (!await silentFor(store, key, found.revision, ms, clock, options)) {
        return held;
      }
      sent = markOf(clock);
      const taken = await store.update(key, value, found.revision);
      if (taken !== undefined) return won(taken, sent);
    } catch (error) {
      const over = clock.monotonic() - began > PATIENCE_MS ||
        options.signal?.aborted;
      if (over || store.passes?.(error) !== true) throw error;
      lost ??= sent;
      await pause(AGAIN_MS, options.signal);
    }
  }
}

/** Whether the revision stays the same for so long, by our own monotonic clock. */
async function silentFor(
  store: LeaseStore,
  key: string,
  revision: number,
  ms: number,
  clock: LeaseClock,
  options: LeaseOptions,
): Promise<boolean> {
  const began = clock.monotonic();
  for (;;) {
    const left = ms - (clock.monotonic() - began);
    if (left <= 0) return true;
    await pause(Math.min(left, Math.max(50, ms / 8)), options.signal);
    if (options.signal?.aborted) return false;
    const now = await store.read(key);
    if (now === undefined) return true;
    if (now.revision !== revision) return false;
  }
}

function holderOf(value: string): string {
  return String(fieldOf(value, "holder") ?? "somebody");
}

function leaseOf(value: string): number | undefined {
  const ms = fieldOf(value, "lease_ms");
  return typeof ms === "number" && ms > 0 && ms < 86_400_000 ? ms : undefined;
}

function fieldOf(value: string, name: string): unknown {
  try {
    const parsed: unknown = JSON.parse(value);
    return isJsonObject(parsed) ? parsed[name] : undefined;
  } catch {
    return undefined;
  }
}
