/**
 * One client of a worker's server: answers in the order of their requests, and what it follows, at its own speed.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { encodeMessage, errorBody } from "./rpc.ts";
import type { JsonObject } from "./frame.ts";
import type { FrameWire } from "./frame_wire.ts";
import { asksJson, cursorOf, stateOf } from "./server_answers.ts";
import type { Session, SessionChange } from "./session.ts";

/** How many requests of one client may be under way. */
const MAX_IN_FLIGHT = 64;

/** How much a push carries at most, in bytes of lines. */
export const PUSH_BYTES = 1_048_576;

/** A follower that is so many frames behind is waited for. */
const LAG_FRAMES = 1024;

/** A follower that takes nothing for so long is slow: nobody waits for it until it has caught up. */
const STUCK_MS = 250;

/** One connection, and what is pushed to it. */
export class ServerClient {
  readonly #connection: Deno.UnixConn;
  readonly #session: Session;
  readonly #wire: FrameWire;
  readonly #underWay = new Set<Promise<void>>();
  #sending: Promise<void> = Promise.resolve();
  #free = true;
  #detach: (() => void) | undefined;
  #cursor: number | undefined;
  #raw = false;
  #stateDue = false;
  #asksDue = false;
  #pumping: Promise<void> | undefined;
  #stepped = Promise.withResolvers<void>();
  #steppedAt = 0;
  #slow = false;
  #closed = false;

  constructor(connection: Deno.UnixConn, session: Session, wire: FrameWire) {
    this.#connection = connection;
    this.#session = session;
    this.#wire = wire;
  }

  /** Sends one body after whatever is on its way. */
  send(json: string): Promise<void> {
    return this.#write(encodeOrExplain(json));
  }

  /** Sends a body once it is there, without holding up the requests behind it. */
  async later(answer: Promise<string>): Promise<void> {
    const task = answer.then((json) => this.send(json)).catch(() => {}).finally(
      () => this.#underWay.delete(task),
    );
    this.#underWay.add(task);
    if (this.#underWay.size >= MAX_IN_FLIGHT) {
      await Promise.race(this.#underWay);
    }
  }

  subscribe(params: JsonObject): string {
    this.#cursor = cursorOf(params.cursor);
    this.#raw = params.raw === true;
    if (params.answers === true) this.answers();
    this.#stateDue = this.#asksDue = true;
    // The answer is written first: it is queued by whoever called us, the first push behind it.
    queueMicrotask(() => this.#pump());
    return JSON.stringify({
      subscribed: true,
      cursor: Math.min(this.#cursor, this.#session.log.end),
    });
  }

  unsubscribe(): string {
    this.#cursor = undefined;
    this.#stepped.resolve();
    return '{"subscribed":false}';
  }

  answers(): void {
    this.#detach ??= this.#session.attachAnswerer();
  }

  changed(change: SessionChange): void {
    if (this.#cursor === undefined) return;
    if (change === "state" || change === "ended") this.#stateDue = true;
    if (change === "asks") this.#asksDue = true;
    this.#pump();
  }

  /** What the client follows, when it moves. */
  get follows(): "plain" | "raw" | undefined {
    if (this.#slow || this.#cursor === undefined) return undefined;
    return this.#raw ? "raw" : "plain";
  }

  /** True for a follower that is far behind and still moves. */
  get lags(): boolean {
    return !this.#slow && this.#cursor !== undefined &&
      this.#session.log.end - this.#cursor > LAG_FRAMES;
  }

  /** Resolves with the next push that is through. */
  step(): Promise<void> {
    return this.#stepped.promise;
  }

  /** The wait was in vain: a client that has not moved for long is slow. */
  judge(): void {
    this.#slow = performance.now() - this.#steppedAt > STUCK_MS;
  }

  async farewell(reason: string): Promise<void> {
    await Promise.allSettled(this.#underWay);
    if (this.#cursor === undefined) return;
    this.#stateDue = true;
    this.#pump();
    await this.#pumping;
    await this.send(`{"event":"end","reason":${JSON.stringify(reason)}}`).catch(
      () => {},
    );
  }

  /** The client has said its last; what is under way is still answered. */
  async finish(): Promise<void> {
    this.#detach?.();
    this.#cursor = undefined;
    await Promise.allSettled(this.#underWay);
    await this.#sending.catch(() => {});
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#connection.close();
    } catch {
      // Closed by the other side.
    }
  }

  /** Pushes what the client has not seen. It reads at its own speed: what it misses is a gap, and it holds up nobody. */
  #pump(): void {
    this.#pumping ??= this.#pumpAll().catch(() => {
      // A follower that cannot be written to is hung up on, so that it knows.
      this.#cursor = undefined;
      this.#pumping = undefined;
      this.close();
    });
  }

  async #pumpAll(): Promise<void> {
    // Not before it is noted as running: a round with nothing to send ends at once.
    await Promise.resolve();
    for (;;) {
      const cursor = this.#cursor;
      if (cursor === undefined) {
        this.#pumping = undefined;
        return;
      }
      const push = this.#wire.push(cursor, this.#raw, PUSH_BYTES);
      if (push !== undefined) {
        this.#cursor = push.next;
        if (this.#free) this.#steppedAt = performance.now();
        await this.#write(push.bytes);
        this.#steppedAt = performance.now();
        this.#stepped.resolve();
        this.#stepped = Promise.withResolvers();
      } else if (this.#stateDue) {
        this.#stateDue = false;
        await this.send(
          `{"event":"state",${JSON.stringify(stateOf(this.#session)).slice(1)}`,
        );
      } else if (this.#asksDue) {
        this.#asksDue = false;
        await this.send(`{"event":"asks","asks":${asksJson(this.#session)}}`);
      } else {
        // Cleared at once: whatever changes from here on starts a new round.
        this.#slow = false;
        this.#pumping = undefined;
        return;
      }
    }
  }

  /** Writes whole messages one after the other; the first of them at once. */
  #write(bytes: Uint8Array): Promise<void> {
    const sent = this.#free
      ? this.#flush(bytes)
      : this.#sending.then(() => this.#flush(bytes));
    this.#free = false;
    this.#sending = sent;
    sent.then(() => {
      if (this.#sending === sent) this.#free = true;
    }, () => {});
    return sent;
  }

  async #flush(bytes: Uint8Array): Promise<void> {
    let at = await this.#connection.write(bytes);
    while (at < bytes.length) {
      at += await this.#connection.write(bytes.subarray(at));
    }
  }
}

function encodeOrExplain(json: string): Uint8Array {
  try {
    return encodeMessage(json);
  } catch (error) {
    const id = /^\{"id":(\d+)/.exec(json)?.[1];
    if (id === undefined) throw error;
    return encodeMessage(
      errorBody(id, "internal", reasonOf(error)),
    );
  }
}
