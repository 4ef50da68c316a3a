/**
 * The page to watch with, over all machines of the fleet.
 *
 * @module
 */
import type { OpenAsk } from "../asks.ts";
import type { WatchEvent } from "../client.ts";
import type { PageListener, PageSession, PageSource } from "../page/source.ts";
import type { Fleet } from "./connection.ts";
import { followBucket } from "./follow.ts";
import { machinesOf } from "./machines.ts";
import {
  askRecord,
  type FleetHostRecord,
  type FleetSessionRecord,
  hostRecord,
  sessionRecord,
} from "./records.ts";
import { RemoteWorker } from "./remote.ts";

/** How long changes are gathered before listeners hear of them. */
const TELL_MS = 100;

/**
 * The sessions of every machine, for {@linkcode servePage}.
 *
 * @param fleet The connection.
 * @returns The source; closing it leaves the connection open.
 */
export function fleetPageSource(fleet: Fleet): PageSource {
  const feed = new FleetPageFeed(fleet);
  const remote = (id: string) => new RemoteWorker(fleet, id);
  return {
    listen: (listener) => feed.listen(listener),
    watch: (id, cursor, signal) =>
      Promise.resolve(watchRemote(fleet, id, cursor, signal)),
    turn: (id, text) =>
      remote(id).writeTurn(text, { uuid: crypto.randomUUID() }),
    interrupt: (id) => remote(id).interrupt(),
    answer: (id, ask, answer) => remote(id).answerAsk(ask, answer),
    close: () => feed.close(),
  };
}

/** Sessions and hosts as the buckets tell, pushed when they change. */
class FleetPageFeed {
  readonly #fleet: Fleet;
  readonly #listeners = new Set<PageListener>();
  readonly #sessions = new Map<string, FleetSessionRecord>();
  readonly #hosts = new Map<string, FleetHostRecord>();
  readonly #heard = new Map<string, number>();
  #stop: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  listen(listener: PageListener): () => void {
    this.#listeners.add(listener);
    if (this.#stop === undefined) this.#start();
    else this.#soon();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): Promise<void> {
    this.#stop?.abort();
    this.#stop = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return Promise.resolve();
  }

  #start(): void {
    const stop = this.#stop = new AbortController();
    const { names } = this.#fleet;
    const follow = async (
      name: string,
      take: (key: string, text: string | undefined) => void,
    ) => {
      await followBucket(
        this.#fleet,
        name,
        undefined,
        stop.signal,
        (key, text) => {
          take(key, text);
          this.#soon();
        },
      );
    };
    follow(
      names.sessions,
      (key, text) => put(this.#sessions, key, text, sessionRecord),
    ).catch(() => {});
    follow(names.hosts, (key, text) => {
      put(this.#hosts, key, text, hostRecord);
      this.#heard.set(key, performance.now());
    }).catch(() => {});
    // A host that says nothing more is not told of: its word runs out.
    const tick = setInterval(() => this.#forget(), this.#fleet.hostTtlMs / 4);
    stop.signal.addEventListener("abort", () => clearInterval(tick));
  }

  #forget(): void {
    for (const [key, at] of this.#heard) {
      if (performance.now() - at < this.#fleet.hostTtlMs) continue;
      this.#heard.delete(key);
      if (this.#hosts.delete(key)) this.#soon();
    }
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const sessions = this.#view();
      const machines = machinesOf(this.#hosts.values());
      for (const listener of this.#listeners) listener(sessions, machines);
    }, TELL_MS);
  }

  #view(): PageSession[] {
    const there = new Map(
      [...this.#hosts.values()].map((host) => [host.instance, host]),
    );
    return [...this.#sessions.values()].map((record) => ({
      shortId: record.id,
      name: record.name ?? record.id,
      host: record.host,
      hostLoad: there.get(record.instance)?.load ?? null,
      state: record.state === "ended"
        ? "exited"
        : there.has(record.instance)
        ? record.state
        : "orphaned",
      agent: record.agent,
      sessionId: record.session_id,
      cwd: record.cwd,
      pid: null,
      agentPid: null,
      ageMs: Date.now() - record.started_at,
      costUsd: record.cost_usd,
      memoryBytes: null,
      openAsks: record.open_asks,
      pendingTurns: record.pending_turns,
      silentMs: null,
      socketPath: "",
      gate: null,
      settled: record.state === "ended",
      stalled: record.stalled,
    })).toSorted((a, b) => a.shortId < b.shortId ? -1 : 1);
  }
}

function put<T>(
  map: Map<string, T>,
  key: string,
  text: string | undefined,
  read: (text: string) => T | undefined,
): void {
  const value = text === undefined ? undefined : read(text);
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Frames, state and questions of one session in one stream, as a worker's socket gives them. */
async function* watchRemote(
  fleet: Fleet,
  id: string,
  cursor: number,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  const queue: WatchEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const push = (event: WatchEvent) => {
    queue.push(event);
    wake.resolve();
  };
  const asks = new Map<string, OpenAsk>();
  signal.addEventListener("abort", () => wake.resolve(), { once: true });
  const { names } = fleet;
  followBucket(
    fleet,
    names.asks,
    `${id}.>`,
    signal,
    (key, text) => {
      const ask = text === undefined ? undefined : askRecord(text)?.ask;
      if (ask === undefined) asks.delete(key);
      else asks.set(key, ask);
      push({ type: "asks", asks: [...asks.values()] });
    },
  ).catch(() => {});
  followBucket(fleet, names.sessions, id, signal, (_, text) => {
    const record = text === undefined ? undefined : sessionRecord(text);
    if (record === undefined || record.state === "ended") {
      return push({ type: "end", reason: "ended" });
    }
    push(stateEvent(record));
  }).catch(() => {});
  (async () => {
    for await (
      const batch of new RemoteWorker(fleet, id).frames({ cursor, signal })
    ) {
      push({ type: "frames", ...batch });
    }
  })().catch(() =>
    push({ type: "end", reason: "it is no longer in the fleet" })
  );
  while (!signal.aborted) {
    for (
      let event = queue.shift();
      event !== undefined;
      event = queue.shift()
    ) yield event;
    await wake.promise;
    wake = Promise.withResolvers();
  }
}

function stateEvent(record: FleetSessionRecord): WatchEvent {
  const known = ["running", "requires_action", "idle"] as const;
  return {
    type: "state",
    state: known.find((state) => state === record.state) ?? "dead",
    childAlive: record.state !== "dead",
    openAsks: record.open_asks,
    openTasks: 0,
    pendingTurns: record.pending_turns,
    costUsd: record.cost_usd,
    stalled: record.stalled,
  };
}
