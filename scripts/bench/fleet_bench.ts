/**
 * The fleet on a real nats-server: how long a frame takes to a remote client, how long
 * a list of a thousand sessions takes, how fast a client catches up.
 *
 * @module
 */
import {
  connectFleet,
  type Fleet,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { frameDelays } from "../../tests/support/frame_delays.ts";
import { putSession } from "../../tests/support/fleet_program.ts";
import { startNats } from "../../tests/support/nats_server.ts";
import { FramePublisher } from "../../worker/fleet_nats/frames.ts";
import { type BenchCase, median, time } from "./harness.ts";

const SESSIONS = 1_000;
const FRAMES = 100_000;
const area = "fleet";

/** Two machines on one server; nothing when there is no server to be had. */
async function withFleet(
  measure: (one: Fleet, two: Fleet) => Promise<number>,
): Promise<number | { skipped: string }> {
  if (!await hasServer()) {
    return { skipped: "nats-server is not installed: apt install nats-server" };
  }
  await using server = await startNats();
  const servers = `nats://127.0.0.1:${server.port}`;
  await using one = await connectFleet({ servers, host: "one" });
  await using two = await connectFleet({ servers, host: "two" });
  return await measure(one, two);
}

async function hasServer(): Promise<boolean> {
  for (const dir of (Deno.env.get("PATH") ?? "").split(":")) {
    if (await Deno.stat(`${dir}/nats-server`).then(() => true, () => false)) {
      return true;
    }
  }
  return false;
}

/** How much longer a frame takes to a remote client than to one on the worker's socket. */
async function frameRatio(one: Fleet, two: Fleet): Promise<number> {
  const { near, far } = await frameDelays(one, two);
  return median(far) / median(near);
}

/** Figures of the fleet. */
export const benches: BenchCase[] = [
  {
    area,
    name: "a frame to a remote client over the local socket, p50",
    bound: 3,
    keep: "at most",
    unit: "×",
    noise: 0.3,
    measure: () => withFleet(frameRatio),
  },
  {
    area,
    name: "a list of 1 000 sessions",
    bound: 200,
    keep: "at most",
    unit: "ms",
    measure: () =>
      withFleet(async (one, two) => {
        for (let at = 0; at < SESSIONS; at += 50) {
          await Promise.all(
            Array.from(
              { length: 50 },
              (_, i) => putSession(one, `one.s${at + i}`, "e"),
            ),
          );
        }
        const times: number[] = [];
        for (let round = 0; round < 9; round++) {
          times.push(await time(() => viewFleet(two)));
        }
        return median(times);
      }),
  },
  {
    area,
    name: "a client catches up with 100 000 frames",
    bound: 2_000,
    keep: "at most",
    unit: "ms",
    measure: () =>
      withFleet(async (one, two) => {
        const epoch = crypto.randomUUID();
        await putSession(one, "one.big", epoch);
        const publisher = new FramePublisher(one, "one.big", epoch, () => {});
        for (let from = 0; from < FRAMES; from += 500) {
          await publisher.add({
            from,
            frames: Array.from({ length: 500 }, (_, i) => ({
              kind: "stream_event" as const,
              delta: `delta ${from + i} `.padEnd(60, "x"),
            })),
            next: from + 500,
            gap: false,
          });
        }
        if (!await publisher.flush(60_000)) {
          throw new Error("the server does not take the frames");
        }
        return await time(async () => {
          for await (
            const { next } of new RemoteWorker(two, "one.big").frames()
          ) {
            if (next >= FRAMES) return;
          }
        });
      }),
  },
];
