/**
 * Messages of a stream as they come, each once and in order, over servers that are
 * started again, links that are cut and streams that are made anew.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  type JsMsg,
} from "@nats-io/jetstream";
import { atMost } from "../agents/_within.ts";
import type { Fleet } from "./connection.ts";
import { isNotPermitted } from "./provision.ts";

/** How long after a break the next consumer is made. */
const RETRY_MS = 250;
/** A consumer may stall for good when a server drops what it was about to send: one that is silent is made anew. */
const IDLE_MS = 10_000;
/** How long a consumer may take to stop. */
const CLOSE_MS = 500;
/** Messages on their way at a time. A server lets go of a reader that is asked for more than its link can carry. */
const AT_ONCE = 64;

/** Where a reader begins. */
export type Beginning = Pick<ConsumerConfig, "deliver_policy"> & {
  opt_start_seq?: number;
};

/** What is followed. */
export interface FollowOptions {
  /** The stream. */
  readonly stream: string;
  /** The subject in it. */
  readonly subject: string;
  /** Ends the following. */
  readonly signal?: AbortSignal | undefined;
  /** Where to begin, asked again when the stream was made anew. */
  begin(): Promise<Beginning>;
}

/** Follows a stream until the signal fires; throws when that is not permitted or the connection is closed. */
export async function* followStream(
  fleet: Fleet,
  options: FollowOptions,
): AsyncGenerator<JsMsg, void, undefined> {
  const { signal } = options;
  let after: number | undefined;
  let made: string | undefined;
  let atOnce = AT_ONCE;
  while (!signal?.aborted) {
    const before = after;
    let wasCut = false;
    // A server that was started again has forgotten its consumers: go on where we were.
    try {
      const { created } = await fleet.jsm.streams.info(options.stream);
      // A stream that was made anew counts from the start.
      if (created !== made) after = undefined;
      made = created;
      const beginning = after === undefined ? await options.begin() : {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: after + 1,
      };
      for await (
        const message of consume(
          fleet,
          options,
          beginning,
          atOnce,
          () => wasCut = true,
        )
      ) {
        after = message.seq;
        yield message;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (
        fleet.nc.isClosed() || isNotPermitted(error)
      ) throw error;
    }
    // Cut before anything came: less at a time, until something does.
    atOnce = wasCut && after === before ? Math.max(1, atOnce >> 2) : AT_ONCE;
    await pause(RETRY_MS, signal);
  }
}

/** The messages of one consumer, until it is gone, something was lost on the way, or the signal fires. */
async function* consume(
  fleet: Fleet,
  { stream, subject, signal }: FollowOptions,
  beginning: Beginning,
  atOnce: number,
  cut: () => void,
): AsyncGenerator<JsMsg, void, undefined> {
  const { name } = await fleet.jsm.consumers.add(stream, {
    filter_subject: subject,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: 60_000_000_000,
    ...beginning,
  });
  const consumer = await fleet.js.consumers.get(stream, name);
  const messages = await consumer.consume({
    max_messages: atOnce,
    idle_heartbeat: 1_000,
    abort_on_missing_resource: true,
  });
  const close = () => messages.close().catch(() => {});
  const stop = () => void close();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  // What was asked for before a cut is not sent any more.
  const forget = fleet.onReconnect(() => {
    cut();
    stop();
  });
  let delivered = 0;
  let idle = setTimeout(stop, IDLE_MS);
  try {
    for await (const message of messages) {
      clearTimeout(idle);
      idle = setTimeout(stop, IDLE_MS);
      // What went out while the link was gone is not sent again by itself.
      if (message.info.deliverySequence !== ++delivered) return;
      yield message;
    }
  } finally {
    forget();
    signal?.removeEventListener("abort", stop);
    clearTimeout(idle);
    await atMost(close(), CLOSE_MS);
    fleet.jsm.consumers.delete(stream, name).catch(() => {});
  }
}

/** Every value of a bucket, now and as it changes; `undefined` for one that is taken away. What expires is not told. */
export async function followBucket(
  fleet: Fleet,
  bucket: string,
  key: string | undefined,
  signal: AbortSignal,
  take: (key: string, text: string | undefined) => void,
): Promise<void> {
  const prefix = `$KV.${bucket}.`;
  const messages = followStream(fleet, {
    stream: `KV_${bucket}`,
    subject: prefix + (key ?? ">"),
    signal,
    begin: () =>
      Promise.resolve({ deliver_policy: DeliverPolicy.LastPerSubject }),
  });
  for await (const message of messages) {
    const gone = (message.headers?.get("KV-Operation") ?? "") !== "";
    take(
      message.subject.slice(prefix.length),
      gone ? undefined : message.string(),
    );
  }
}
