/**
 * Figures of the worker: ingest, push, round trip, asks, memory.
 *
 * @module
 */

import { connect, FrameLog, parseLine } from "@bulkhead/worker";
import { LineReader } from "../../worker/line_reader.ts";
import { asks, rpc } from "./_worker_calls.ts";
import { corpus } from "./_worker_corpus.ts";
import { worker } from "./_worker_place.ts";
import { push } from "./_worker_push.ts";
import { type BenchCase, ratio } from "./harness.ts";

const CHUNK = 65_536;

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.subarray(at, at + CHUNK));
      at += CHUNK;
    },
  });
}

/** Split at newlines over bytes, decode each line, parse it, keep nothing. */
async function bareIngest(stream: ReadableStream<Uint8Array>): Promise<number> {
  const decoder = new TextDecoder();
  let held = new Uint8Array(0);
  let count = 0;
  const reader = stream.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    const chunk = step.value;
    let bytes = chunk;
    if (held.length > 0) {
      bytes = new Uint8Array(held.length + chunk.length);
      bytes.set(held);
      bytes.set(chunk, held.length);
    }
    let start = 0;
    for (
      let end = bytes.indexOf(10);
      end >= 0;
      end = bytes.indexOf(10, start)
    ) {
      const value: unknown = JSON.parse(
        decoder.decode(bytes.subarray(start, end)),
      );
      if (value !== null) count++;
      start = end + 1;
    }
    held = bytes.slice(start);
  }
  return count;
}

async function ourIngest(stream: ReadableStream<Uint8Array>): Promise<number> {
  const log = new FrameLog();
  const reader = new LineReader(stream, 67_108_864);
  for await (const batch of reader.batches()) {
    log.begin();
    for (const line of batch) {
      log.push({
        frame: parseLine(line.text).frame,
        raw: line.text,
        bytes: line.bytes,
      });
    }
  }
  return log.end;
}

async function ingest(): Promise<number> {
  const bytes = corpus(50_000);
  const slower = await ratio(
    () => ourIngest(streamOf(bytes)),
    () => bareIngest(streamOf(bytes)),
    { rounds: 21, warmUp: 4 },
  );
  return 1 / slower;
}

/** Resident memory of a worker after ten million frames, in MiB. */
async function memory(): Promise<number | { skipped: string }> {
  if (Deno.build.os !== "linux") return { skipped: "reads /proc" };
  const line = JSON.stringify({
    type: "stream_event",
    event: {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "some words" },
    },
    session_id: "4ee2c66c-836c-4c0e-b9d0-386917c1a891",
    uuid: "527d1061-f248-43dd-ad69-3e41396680f6",
  });
  const script =
    `yes '${line}' | head -n 10000000; echo '{"type":"result"}'; cat >/dev/null`;
  await using place = await worker(["sh", "-c", script], [
    "--v8-flags=--max-semi-space-size=4",
  ]);
  using client = await connect(place.socket);
  while ((await client.status()).next < 10_000_001) {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const status = await Deno.readTextFile(`/proc/${place.pid}/status`);
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** The figures. */
export const benches: BenchCase[] = [
  {
    area: "worker",
    name: "ingest (split, parse, ring) / bare split + JSON.parse",
    bound: 0.85,
    keep: "at least",
    unit: "×",
    measure: ingest,
  },
  {
    area: "worker",
    name: "push to 4 clients / bare batched writes",
    bound: 0.9,
    keep: "at least",
    unit: "×",
    noise: 0.15,
    measure: push,
  },
  {
    area: "worker",
    name: "round trip p50 / bare echo",
    bound: 1.25,
    keep: "at most",
    unit: "×",
    measure: rpc,
  },
  {
    area: "worker",
    name: "can_use_tool answered, p99",
    bound: 2,
    keep: "at most",
    unit: "ms",
    noise: 0.5,
    measure: asks,
  },
  {
    area: "worker",
    name: "resident memory after 10 million frames",
    bound: 120,
    keep: "at most",
    unit: "MiB",
    measure: memory,
  },
];
