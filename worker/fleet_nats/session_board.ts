/**
 * What everybody can read about one session: its record and its open questions.
 *
 * @module
 */
import type { OpenAsk } from "../asks.ts";
import type { Fleet } from "./connection.ts";
import { FLEET_SCHEMA, keyOf } from "./names.ts";
import { untilAnswered } from "./provision.ts";
import type { FleetSessionRecord } from "./records.ts";
import type { ServerTrouble } from "./trouble.ts";

/** How long changes are gathered before they are written. */
const STATE_MS = 100;
/** How long after a write that failed the next one is made. */
const RETRY_MS = 500;

/** One session's record and questions in their buckets; one write after another. */
export class SessionBoard {
  readonly #fleet: Fleet;
  readonly #trouble: ServerTrouble;
  readonly #live: () => Partial<FleetSessionRecord>;
  /** The questions that the bucket has. */
  readonly #listed = new Set<string>();
  #record: FleetSessionRecord;
  #asks: readonly OpenAsk[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #over = false;

  /**
   * Writes nothing yet.
   *
   * @param fleet The connection.
   * @param trouble Hears of what is not taken.
   * @param record How the session begins.
   * @param live What is looked up at each write.
   */
  constructor(
    fleet: Fleet,
    trouble: ServerTrouble,
    record: FleetSessionRecord,
    live: () => Partial<FleetSessionRecord>,
  ) {
    this.#fleet = fleet;
    this.#trouble = trouble;
    this.#record = record;
    this.#live = live;
  }

  /** Several changes within a moment are one write; one that fails is made again. */
  change(changes: Partial<FleetSessionRecord>, ms = STATE_MS): void {
    this.#record = { ...this.#record, ...changes };
    if (this.#over) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#write().catch(() => this.change({}, RETRY_MS));
    }, ms);
  }

  /** The open questions. */
  asks(asks: readonly OpenAsk[]): void {
    this.#asks = asks;
    this.#record = { ...this.#record, open_asks: asks.length };
    if (this.#over) return;
    this.#write().catch(() => this.change({}, RETRY_MS));
  }

  /** Writes it for the first time; what fails then is the caller's. */
  async open(changes: Partial<FleetSessionRecord>): Promise<void> {
    this.#record = { ...this.#record, ...changes };
    await untilAnswered(() => this.#write());
  }

  /** The session is over; its questions go with it. */
  async close(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#asks = [];
    await this.#write().catch(() => {});
  }

  #write(): Promise<void> {
    const work = this.#writing.then(async () => {
      // The state first: a question that is listed belongs to a session that waits.
      await this.#putRecord();
      await this.#putAsks();
    });
    this.#writing = work.catch((error) => this.#trouble.met(error));
    return work;
  }

  async #putRecord(): Promise<void> {
    const bucket = await this.#fleet.bucket(this.#fleet.names.sessions);
    this.#record = {
      ...this.#record,
      ...this.#live(),
      ...this.#over ? { state: "ended" } : {},
      updated_at: Date.now(),
    };
    await bucket.put(this.#record.id, JSON.stringify(this.#record));
  }

  async #putAsks(): Promise<void> {
    const asks = this.#asks;
    const open = new Set(asks.map((ask) => ask.id));
    const unlisted = asks.filter((ask) => !this.#listed.has(ask.id));
    const settled = [...this.#listed].filter((id) => !open.has(id));
    if (unlisted.length + settled.length === 0) return;
    const bucket = await this.#fleet.bucket(this.#fleet.names.asks);
    const { id: session } = this.#record;
    const key = (id: string) => `${session}.${keyOf(id)}`;
    for (const ask of unlisted) {
      await bucket.put(
        key(ask.id),
        JSON.stringify({ schema: FLEET_SCHEMA, session, ask }),
      );
      this.#listed.add(ask.id);
    }
    for (const id of settled) {
      await bucket.delete(key(id));
      this.#listed.delete(id);
    }
  }
}
