/**
 * Frames over the server: a worker's frames go out in batches, each known by the
 * index of its first frame; a reader gets each frame once, in order, and is told of
 * what is gone.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { DeliverPolicy, type JsMsg } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { atMost } from "../agents/_within.ts";
import type { ClientFrame } from "../client.ts";
import { framesOf } from "../client_answers.ts";
import type { Fleet } from "./connection.ts";
import { followStream } from "./follow.ts";
import { frameSubject } from "./names.ts";

const FROM = "Bulkhead-From";
const COUNT = "Bulkhead-Count";
const GAP = "Bulkhead-Gap";
const MESSAGE_ID = "Nats-Msg-Id";
const PUBLISH_TIMEOUT_MS = 3_000;
/** Bytes of frames in one message. */
const MAX_BATCH = 256 * 1024;
/** Bytes that wait for the server before whoever adds more has to wait. */
const MAX_QUEUED = 4 * 1024 * 1024;
const encoder = new TextEncoder();

/** Frames from an index on. */
export interface FrameBatch {
  /** The index of the first frame. */
  readonly from: number;
  /** The frames. */
  readonly frames: ClientFrame[];
  /** The index after the last one. */
  readonly next: number;
  /** True when frames before the first one are gone. */
  readonly gap: boolean;
}

interface Queued {
  readonly index: number;
  readonly json: string;
  readonly gap: boolean;
}

/** Sends one life of a worker's frames to the server; keeps what is not confirmed. */
export class FramePublisher {
  readonly #fleet: Fleet;
  readonly #subject: string;
  readonly #epoch: string;
  readonly #onTrouble: (error: unknown) => void;
  readonly #onDrained: () => void;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #pump: Promise<void> | undefined;
  #room = Promise.withResolvers<void>();
  #stopped = false;
  #next = 0;

  /**
   * Makes a publisher; nothing is sent.
   *
   * @param fleet The connection.
   * @param id The session in the fleet.
   * @param epoch This life of the worker.
   * @param onTrouble Hears of a server that does not take frames.
   * @param onDrained Hears that everything is confirmed.
   */
  constructor(
    fleet: Fleet,
    id: string,
    epoch: string,
    onTrouble: (error: unknown) => void,
    onDrained: () => void = () => {},
  ) {
    this.#fleet = fleet;
    this.#epoch = epoch;
    this.#subject = frameSubject(fleet.names.prefix, id, epoch);
    this.#onTrouble = onTrouble;
    this.#onDrained = onDrained;
  }

  /** The index after the last frame that the server has confirmed. */
  get confirmed(): number {
    return this.#next;
  }

  /** Takes frames; waits while too many are not confirmed, so that the worker's own log bounds the rest. */
  async add(batch: FrameBatch): Promise<void> {
    for (const [i, frame] of batch.frames.entries()) {
      const json = this.#fit(frame);
      this.#queue.push({
        index: batch.from + i,
        json,
        gap: batch.gap && i === 0,
      });
      this.#queuedBytes += json.length;
    }
    this.#pump ??= this.#run();
    while (this.#queuedBytes > MAX_QUEUED && !this.#stopped) {
      await this.#room.promise;
    }
  }

  /** Resolves when everything that was taken is confirmed, or after `ms`. */
  async flush(ms: number): Promise<boolean> {
    await atMost(this.#pump ?? Promise.resolve(), ms);
    return this.#queue.length === 0;
  }

  /** Sends nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#room.resolve();
  }

  async #run(): Promise<void> {
    let wait = 50;
    while (this.#queue.length > 0 && !this.#stopped) {
      const batch = this.#take();
      try {
        await this.#publish(batch);
        this.#drop(batch);
        wait = 50;
      } catch (error) {
        this.#onTrouble(error);
        await pause(wait);
        wait = Math.min(wait * 2, 2_000);
      }
    }
    this.#pump = undefined;
    if (!this.#stopped) this.#onDrained();
  }

  /** The next frames that fit into one message; the same ones until they are confirmed. */
  #take(): Queued[] {
    const limit = Math.min(MAX_BATCH, this.#fleet.maxPayload - 4_096);
    const batch: Queued[] = [];
    let size = 2;
    for (const item of this.#queue) {
      const bytes = encoder.encode(item.json).length + 1;
      if (batch.length > 0 && (size + bytes > limit || item.gap)) break;
      batch.push(item);
      size += bytes;
    }
    return batch;
  }

  async #publish(batch: readonly Queued[]): Promise<void> {
    const first = batch[0];
    if (first === undefined) return;
    const head = headers();
    head.set(FROM, String(first.index));
    head.set(COUNT, String(batch.length));
    if (first.gap) head.set(GAP, "1");
    head.set(MESSAGE_ID, `${this.#epoch}:${first.index}:${batch.length}`);
    await this.#fleet.js.publish(
      this.#subject,
      `[${batch.map((item) => item.json).join(",")}]`,
      { headers: head, timeout: PUBLISH_TIMEOUT_MS },
    );
  }

  #drop(batch: readonly Queued[]): void {
    this.#queue = this.#queue.slice(batch.length);
    this.#queuedBytes -= batch.reduce((sum, item) => sum + item.json.length, 0);
    this.#next = (batch.at(-1)?.index ?? this.#next - 1) + 1;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** A frame that no message can hold is replaced by a note of its size. */
  #fit(frame: ClientFrame): string {
    const json = JSON.stringify(frame);
    if (encoder.encode(json).length <= this.#fleet.maxPayload - 8_192) {
      return json;
    }
    return JSON.stringify({
      kind: "other",
      type_name: "bulkhead_oversize",
      error:
        `a ${frame.kind} frame of ${json.length} characters is larger than the fleet's messages`,
    });
  }
}

/** Options of {@linkcode readFleetFrames}. */
export interface ReadFrameOptions {
  /**
   * The first wanted frame.
   *
   * @default {0}
   */
  readonly cursor?: number;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

/**
 * One life of a session's frames, from a cursor on, each once and in order.
 *
 * @param fleet The connection.
 * @param id The session in the fleet.
 * @param epoch The life of its worker.
 * @param options Where to begin.
 * @returns The frames as they come.
 */
export async function* readFleetFrames(
  fleet: Fleet,
  id: string,
  epoch: string,
  options: ReadFrameOptions = {},
): AsyncGenerator<FrameBatch, void, undefined> {
  const subject = frameSubject(fleet.names.prefix, id, epoch);
  let cursor = options.cursor ?? 0;
  const messages = followStream(fleet, {
    stream: fleet.names.frames,
    subject,
    signal: options.signal,
    begin: async () => {
      const from = cursor === 0
        ? undefined
        : await findSequence(fleet, subject, cursor);
      return from === undefined
        ? { deliver_policy: DeliverPolicy.All }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from };
    },
  });
  for await (const message of messages) {
    const batch = batchOf(message, cursor);
    if (batch === undefined) continue;
    cursor = batch.next;
    yield batch;
  }
}

/** The part of a message that the reader has not had yet; `undefined` when there is none. */
function batchOf(message: JsMsg, cursor: number): FrameBatch | undefined {
  const from = Number(message.headers?.get(FROM));
  const frames = framesIn(message);
  if (!Number.isSafeInteger(from) || frames === undefined) return undefined;
  const next = from + frames.length;
  if (next <= cursor) return undefined;
  const known = Math.max(0, cursor - from);
  return {
    from: from + known,
    frames: frames.slice(known),
    next,
    gap: from > cursor || (known === 0 && message.headers?.get(GAP) === "1"),
  };
}

/** What somebody published that is no list of frames counts as nothing. */
function framesIn(message: JsMsg): ClientFrame[] | undefined {
  let value: unknown;
  try {
    value = message.json();
  } catch {
    return undefined;
  }
  const frames = framesOf(value);
  return Array.isArray(value) && frames.length === value.length
    ? frames
    : undefined;
}

/** The sequence of the message that holds a frame, by halving: the server knows only its own numbers. */
async function findSequence(
  fleet: Fleet,
  subject: string,
  cursor: number,
): Promise<number | undefined> {
  const at = async (seq: number) => {
    const message = await fleet.jsm.direct.getMessage(fleet.names.frames, {
      seq,
      next_by_subj: subject,
    }).catch(() => null);
    if (message === null) return undefined;
    return { seq: message.seq, from: Number(message.header.get(FROM)) };
  };
  const first = await at(1);
  if (first === undefined || first.from >= cursor) return undefined;
  const last = await fleet.jsm.direct.getMessage(fleet.names.frames, {
    last_by_subj: subject,
  }).catch(() => null);
  if (last === null) return undefined;
  let low = first.seq, high = last.seq;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const found = await at(middle);
    if (found === undefined || found.from > cursor) high = middle - 1;
    else low = Math.max(found.seq, middle);
  }
  return low;
}
