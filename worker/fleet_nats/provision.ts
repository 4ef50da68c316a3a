// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What has to be on the server: one stream of frames, one of work, five buckets, and
 * the number of their format.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import type { KV, Kvm } from "@nats-io/kv";
import type { Fleet, FleetConnectOptions } from "./connection.ts";
import { FleetError } from "./error.ts";
import { FLEET_SCHEMA, type FleetNames } from "./names.ts";

/** How long a host counts as there after its last word. */
export const HOST_TTL_MS = 20_000;
const DAY_MS = 86_400_000;
/** How long the server remembers the ids of messages. */
const DUPLICATE_WINDOW_NS = 120_000_000_000;

/** Makes the streams that are missing. */
export async function makeStreams(
  jsm: JetStreamManager,
  names: FleetNames,
  options: FleetConnectOptions,
): Promise<void> {
  const common = {
    storage: StorageType.File,
    duplicate_window: DUPLICATE_WINDOW_NS,
    num_replicas: options.replicas ?? 1,
  };
  await makeStream(jsm, {
    ...common,
    name: names.frames,
    subjects: [`${names.prefix}.frames.>`],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_bytes: options.maxFrameBytes ?? 1_073_741_824,
    max_age: (options.maxFrameAgeMs ?? 7 * DAY_MS) * 1e6,
    allow_direct: true,
  });
  await makeStream(jsm, {
    ...common,
    name: names.queue,
    subjects: [`${names.prefix}.queue.>`],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_bytes: 64 * 1024 * 1024,
  });
}

async function makeStream(
  jsm: JetStreamManager,
  config: Parameters<JetStreamManager["streams"]["add"]>[0],
): Promise<void> {
  await severalTimes(async () => {
    try {
      await jsm.streams.info(config.name);
    } catch {
      await jsm.streams.add(config);
    }
  });
}

/** A bucket; made when it is missing. */
export async function makeBucket(
  kvm: Kvm,
  names: FleetNames,
  name: string,
  options: FleetConnectOptions,
): Promise<KV> {
  return await severalTimes(() =>
    kvm.create(name, {
      history: 1,
      replicas: options.replicas ?? 1,
      storage: StorageType.File,
      // What a copy that lags behind says is enough to be shown, and no ground to act on: then reads are the leader's.
      allow_direct: [names.sessions, names.asks, names.hosts].includes(name),
      ...name === names.hosts ? { ttl: options.hostTtlMs ?? HOST_TTL_MS } : {},
    })
  );
}

/** @throws {FleetError} When the format is newer than this program. */
export async function checkSchema(fleet: Fleet): Promise<void> {
  const meta = await fleet.bucket(fleet.names.meta);
  // A bucket that was made a moment ago may not answer yet.
  const entry = await severalTimes(() => meta.get("schema"));
  if (entry === null) {
    if (fleet.creates) {
      await meta.create("schema", String(FLEET_SCHEMA)).catch(() => {});
    }
    return;
  }
  const schema = Number(entry.string());
  if (schema > FLEET_SCHEMA) {
    throw new FleetError(
      "newer_schema",
      `Cannot use the fleet "${fleet.names.prefix}": its format is ${schema}, this program knows ${FLEET_SCHEMA}`,
      "update this program or use another prefix",
    );
  }
}

/** Whether the server refused, rather than failed. */
export function isNotPermitted(error: unknown): boolean {
  return /permissions? violation/i.test(String(error));
}

/** How long a server that chooses a leader is waited for. */
const ANSWER_MS = 15_000;
const NOBODY = /no responders|jetstream is not enabled/i;

/**
 * What is asked of a stream whose leader is still being chosen is answered by nobody:
 * nothing was written, so it is asked again.
 */
export function untilAnswered<T>(work: () => Promise<T>): Promise<T> {
  return again(work, (error) => NOBODY.test(String(error)));
}

/** What may be done twice is asked again when no answer came, as well. */
export function insistently<T>(work: () => Promise<T>): Promise<T> {
  return again(work, isPassing);
}

/** Whether a failure is one of the moment: the next attempt may find a server that answers. */
export function isPassing(error: unknown): boolean {
  return NOBODY.test(String(error)) || /timeout/i.test(String(error));
}

async function again<T>(
  work: () => Promise<T>,
  passes: (error: unknown) => boolean,
): Promise<T> {
  const deadline = performance.now() + ANSWER_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || performance.now() > deadline) {
        throw error;
      }
      await pause(250);
    }
  }
}

/** Hosts that start at the same moment make the same things: whoever is late finds them. */
async function severalTimes<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 6 || isNotPermitted(error)) throw error;
      await pause(tries * 50 * (1 + Math.random()));
    }
  }
}
