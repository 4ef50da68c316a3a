/**
 * A worker as the fleet sees it: its frames in the stream, its state and questions in
 * the buckets.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { atMost } from "../agents/_within.ts";
import type { WatchEvent, WorkerClient } from "../client.ts";
import type { Worker } from "../worker.ts";
import type { Fleet } from "./connection.ts";
import { FramePublisher } from "./frames.ts";
import { FLEET_SCHEMA } from "./names.ts";
import type { FleetSessionRecord } from "./records.ts";
import { SessionBoard } from "./session_board.ts";
import { ServerTrouble } from "./trouble.ts";

/** How late the record may say what the server has of the frames. */
const DRAINED_MS = 250;
/** How long the last frames are waited for. */
const FLUSH_MS = 2_000;
/** How long the last word of the record is waited for. */
const CLOSE_MS = 10_000;
/** Frames that are taken out of the log at a time. */
const SLICE = 256;

/** Which session it is. */
export type Shown = Pick<
  FleetSessionRecord,
  | "id"
  | "short_id"
  | "name"
  | "epoch"
  | "fence"
  | "session_id"
  | "cwd"
  | "workspace"
>;

/** Publishes one life of a worker. */
export class Broadcast {
  readonly #publisher: FramePublisher;
  readonly #board: SessionBoard;
  readonly #log: (line: string) => void;
  readonly #left = new AbortController();
  #worker: Worker | undefined;
  #following: Promise<unknown> = Promise.resolve();

  /**
   * Publishes nothing yet.
   *
   * @param fleet The connection.
   * @param shown Which session it is.
   * @param log Takes one line for the log.
   */
  constructor(fleet: Fleet, shown: Shown, log: (line: string) => void) {
    this.#log = log;
    const trouble = new ServerTrouble(fleet, log);
    this.#publisher = new FramePublisher(
      fleet,
      shown.id,
      shown.epoch,
      (error) => trouble.met(error),
      // The record says how many frames the server has; not at each of them.
      () => this.#board.change({}, DRAINED_MS),
    );
    this.#board = new SessionBoard(fleet, trouble, {
      ...shown,
      schema: FLEET_SCHEMA,
      host: fleet.host,
      instance: fleet.instance,
      state: "starting",
      agent: null,
      cost_usd: 0,
      open_asks: 0,
      pending_turns: 0,
      stalled: false,
      next: 0,
      started_at: Date.now(),
      updated_at: Date.now(),
    }, () => ({
      next: this.#publisher.confirmed,
      ...this.#worker === undefined ? {} : { state: this.#worker.state },
    }));
  }

  /** Shows the session; from now on everything that happens in it goes out. */
  async open(worker: Worker, client: WorkerClient): Promise<void> {
    this.#worker = worker;
    await this.#board.open({
      agent: worker.session.driver.name,
      ...worker.sessionId === undefined ? {} : { session_id: worker.sessionId },
    });
    this.#following = Promise.all(
      [this.#follow(client), this.#publish(worker)].map((work) =>
        work.catch((error) => this.#log(`fleet: ${reasonOf(error)}`))
      ),
    );
  }

  /** The last frames go out, then the record says that it is over. A server that takes nothing must not hold it up. */
  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    await atMost(this.#following, FLUSH_MS);
    const flushed = await this.#publisher.flush(FLUSH_MS);
    this.#publisher.stop();
    this.#left.abort();
    if (!flushed) this.#log("fleet: the last frames did not reach the server");
    await atMost(this.#board.close(), CLOSE_MS);
  }

  async #follow(client: WorkerClient): Promise<void> {
    const events = client.watch({
      cursor: Number.MAX_SAFE_INTEGER,
      signal: this.#left.signal,
      answers: true,
    });
    for await (const event of events) this.#take(event);
  }

  #take(event: WatchEvent): void {
    if (event.type === "asks") return this.#board.asks(event.asks);
    if (event.type !== "state") return;
    const sessionId = this.#worker?.sessionId;
    this.#board.change({
      cost_usd: event.costUsd,
      open_asks: event.openAsks,
      pending_turns: event.pendingTurns,
      stalled: event.stalled,
      ...sessionId === undefined ? {} : { session_id: sessionId },
    });
  }

  /** Frames go from the session's own log to the server, without the way over the socket. */
  async #publish({ session }: Worker): Promise<void> {
    let cursor = 0;
    let wake = Promise.withResolvers<void>();
    const unwatch = session.watch(() => wake.resolve());
    try {
      for (;;) {
        const { entries, from, next, gap } = session.log.since(cursor, {
          maxFrames: SLICE,
        });
        if (entries.length > 0) {
          cursor = next;
          const frames = entries.map((entry) => entry.frame);
          await this.#publisher.add({ from, frames, next, gap });
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
}
