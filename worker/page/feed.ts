/**
 * All sessions of a home as they stand, for as long as somebody looks: one listing
 * for everybody who does, refreshed by what the workers tell.
 *
 * @module
 */
import { connect } from "../client.ts";
import { type FleetEntry, listWorkers } from "../fleet.ts";
import type { PageSession } from "./source.ts";

type Listener = (sessions: readonly PageSession[]) => void;

/** How often the workers are listed again. */
const REFRESH_MS = 2_000;
const LIVE = ["running", "requires_action", "idle"];

/** Watches a home while it has listeners. */
export class FleetFeed {
  readonly #home: string;
  readonly #listeners = new Set<Listener>();
  readonly #watches = new Map<string, AbortController>();
  #sessions = new Map<string, PageSession>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = false;
  #generation = 0;
  #work: Promise<unknown> = Promise.resolve();

  /** @param home The home of the workers. */
  constructor(home: string) {
    this.#home = home;
  }

  /** Calls the listener now and after every change, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#running) listener([...this.#sessions.values()]);
    else this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  /** Stops watching; resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#generation++;
    clearTimeout(this.#timer);
    for (const watch of this.#watches.values()) watch.abort();
    this.#watches.clear();
    await this.#work;
  }

  #begin(): void {
    this.#running = true;
    this.#work = Promise.all([this.#work, this.#refresh()]);
  }

  async #refresh(): Promise<void> {
    const mine = this.#generation;
    try {
      const list = await listWorkers(this.#home);
      if (mine !== this.#generation) return;
      const before = this.#sessions;
      this.#sessions = new Map(list.map((entry) => {
        const known = before.get(entry.shortId);
        return [entry.shortId, {
          ...entry,
          gate: known?.gate ?? null,
          stalled: known?.stalled ?? false,
        }];
      }));
      for (const entry of list) {
        if (LIVE.includes(entry.state) && !this.#watches.has(entry.shortId)) {
          this.#watch(entry);
        }
      }
      this.#tell();
    } catch {
      // A home that cannot be read for a moment.
    }
    if (mine !== this.#generation) return;
    this.#timer = setTimeout(() => this.#begin(), REFRESH_MS);
  }

  /** Follows one worker's state and questions: no frames, so the cursor is at the end. */
  async #watch(entry: FleetEntry): Promise<void> {
    const stop = new AbortController();
    this.#watches.set(entry.shortId, stop);
    try {
      using client = await connect(entry.socketPath);
      const status = await client.status();
      this.#update(entry.shortId, {
        gate: status.gate,
        stalled: status.stalled,
      });
      const events = client.watch({
        cursor: Number.MAX_SAFE_INTEGER,
        answers: true,
        signal: stop.signal,
      });
      for await (const event of events) {
        if (stop.signal.aborted) return;
        if (event.type === "state") {
          this.#update(entry.shortId, {
            state: event.state,
            openAsks: event.openAsks,
            pendingTurns: event.pendingTurns,
            costUsd: event.costUsd,
            stalled: event.stalled,
          });
        } else if (event.type === "asks") {
          this.#update(entry.shortId, { openAsks: event.asks.length });
        }
      }
    } catch {
      // The next listing tells what became of it.
    } finally {
      if (this.#watches.get(entry.shortId) === stop) {
        this.#watches.delete(entry.shortId);
      }
    }
  }

  #update(shortId: string, change: Partial<PageSession>): void {
    const session = this.#sessions.get(shortId);
    if (session === undefined) return;
    this.#sessions.set(shortId, { ...session, ...change });
    this.#tell();
  }

  #tell(): void {
    const sessions = [...this.#sessions.values()];
    for (const listener of this.#listeners) listener(sessions);
  }
}
