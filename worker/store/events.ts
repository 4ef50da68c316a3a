/**
 * What happened to workers: one JSON line each, appended, capped, rotated.
 *
 * @module
 */
import {
  namedPermissions,
  namePermission,
  withFileLock,
} from "@bulkhead/sandbox";
import { type WorkerHome, WRITE_LOCK_MS } from "./home.ts";

/** One event. */
export interface WorkerEvent {
  /** What happened, such as `agent_exited`. */
  readonly type: string;
  /** Who says so, such as `stream-worker:<short id>`. */
  readonly source: string;
  /** Its facts. */
  readonly data?: Readonly<Record<string, unknown>> | null;
}

/** An event as it was read. */
export interface RecordedEvent extends WorkerEvent {
  /** When, in ISO 8601 with milliseconds. */
  readonly ts: string;
}

/** Bytes that an event's data may have. */
const MAX_DATA = 500;
/** Bytes at which the file of events is put aside. */
const MAX_FILE = 8 * 1024 * 1024;
const encoder = new TextEncoder();

/**
 * Adds an event to the home's events.
 *
 * @param home The home.
 * @param event The event.
 * @throws {TypeError} When its data is no object.
 *
 * @example
 * ```ts
 * import { appendEvent, readEvents, workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = workerHome(await Deno.makeTempDir());
 * await appendEvent(home, { type: "worker_started", source: "demo", data: { pid: 7 } });
 * assertEquals((await readEvents(home)).map((e) => e.type), ["worker_started"]);
 * await Deno.remove(home.root, { recursive: true });
 * ```
 */
export async function appendEvent(
  home: WorkerHome,
  event: WorkerEvent,
): Promise<void> {
  await namedPermissions(
    "Recording an event",
    () => appendEventLine(home.events, event),
  );
}

/** Adds an event to a file. */
export async function appendEventLine(
  path: string,
  event: WorkerEvent,
): Promise<void> {
  const line = encoder.encode(eventLine(event) + "\n");
  await rotate(path);
  const file = await Deno.open(path, {
    append: true,
    create: true,
    mode: 0o600,
  });
  try {
    // One write: a line of this size is never mixed with another writer's.
    let at = 0;
    while (at < line.length) at += await file.write(line.subarray(at));
  } finally {
    file.close();
  }
}

/** The line of an event; data that is too long is replaced by a note of its size. */
export function eventLine(event: WorkerEvent, now: Date = new Date()): string {
  const data = event.data ?? {};
  if (typeof data !== "object" || Array.isArray(data)) {
    throw new TypeError(
      `Cannot record the event "${event.type}": its data is ${
        JSON.stringify(data)
      }, want an object`,
    );
  }
  const size = dataSize(data);
  const head = { ts: now.toISOString() };
  if (size <= MAX_DATA) {
    return JSON.stringify({
      ...head,
      type: event.type,
      source: event.source,
      data,
    });
  }
  return JSON.stringify({
    ...head,
    type: "event_payload_too_large",
    source: event.source,
    data: { intended_kind: event.type, size },
  });
}

/**
 * Shortens one text of an event's data so that the event fits: the end is kept, cut at a character.
 *
 * @param data The event's data.
 * @param field The field that may be shortened.
 * @returns Data that fits, or the data without the field when nothing else helps.
 *
 * @example
 * ```ts
 * import { fitEventData } from "@bulkhead/worker";
 * import { assert } from "@std/assert";
 *
 * const data = fitEventData({ exit_code: 7, stderr_tail: "é".repeat(9000) }, "stderr_tail");
 * assert(JSON.stringify(data).length <= 500 && data.exit_code === 7);
 * ```
 */
export function fitEventData(
  data: Readonly<Record<string, unknown>>,
  field: string,
): Record<string, unknown> {
  if (dataSize(data) <= MAX_DATA) return { ...data };
  const points = Array.from(String(data[field] ?? "").slice(-MAX_DATA * 2));
  let low = 0, high = points.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const text = points.slice(points.length - middle).join("");
    if (dataSize({ ...data, [field]: text }) <= MAX_DATA) low = middle;
    else high = middle - 1;
  }
  return { ...data, [field]: low === 0 ? "" : points.slice(-low).join("") };
}

function dataSize(data: unknown): number {
  return encoder.encode(JSON.stringify(data)).length;
}

/** Renames a file that has grown too large; one generation is kept. */
async function rotate(path: string): Promise<void> {
  if (!await tooLarge(path)) return;
  await withFileLock(`${path}.lock`, async () => {
    if (await tooLarge(path)) await Deno.rename(path, `${path}.1`);
  }, { timeoutMs: WRITE_LOCK_MS });
}

async function tooLarge(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).size > MAX_FILE;
  } catch {
    return false;
  }
}

/**
 * Reads the newest events of a home.
 *
 * @param home The home.
 * @param options How many.
 * @returns The events, oldest first; lines that are none are left out.
 */
export async function readEvents(
  home: WorkerHome,
  options: { limit?: number } = {},
): Promise<RecordedEvent[]> {
  let text: string;
  try {
    text = await Deno.readTextFile(home.events);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw namePermission("Reading the events", error);
  }
  const lines = text.split("\n").slice(-(options.limit ?? 1000) - 1);
  return lines.flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isEvent(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

function isEvent(value: unknown): value is RecordedEvent {
  return typeof value === "object" && value !== null && "ts" in value &&
    "type" in value &&
    typeof value.ts === "string" && typeof value.type === "string";
}
