/**
 * A session of the fleet whose frames are timed.
 *
 * @module
 */

import { connect, runWorker, scriptedDriver } from "@bulkhead/worker";
import { claimSession, type Fleet, RemoteWorker } from "@bulkhead/worker/fleet";
import { eventually } from "./eventually.ts";

/** How long each frame took, in milliseconds. */
export interface FrameDelays {
  /** To a client of the worker's own socket. */
  readonly near: readonly number[];
  /** To a client on another machine. */
  readonly far: readonly number[];
}

/** Frames at the beginning and at the end of the turn that are not counted: something else goes on there. */
const EDGE = 20;

/**
 * Plays a turn of four hundred pieces of text and times each on its way.
 *
 * @param one Where the session is.
 * @param two Where its remote client is.
 * @returns The delays.
 */
export async function frameDelays(
  one: Fleet,
  two: Fleet,
): Promise<FrameDelays> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const sessionId = crypto.randomUUID();
  const seat = await claimSession(one, { shortId: "s", sessionId });
  const worker = await runWorker({
    shortId: "s",
    home: `${dir}/w`,
    claimsRoot: dir,
    cwd: dir,
    sessionId,
    deciders: [seat.decider],
    driver: scriptedDriver({
      sessions: `${dir}/sessions`,
      script: {
        schema: 1,
        turns: [{ steps: [{ say: "x".repeat(1_600), chunk: 4, delayMs: 6 }] }],
      },
    }),
  });
  await seat.attach(worker);
  const stop = new AbortController();
  const { signal } = stop;
  const made: number[] = [], near: number[] = [], far: number[] = [];
  const note = (times: number[], end: number) => {
    const now = performance.now();
    while (times.length < end) times.push(now);
  };
  const unwatch = worker.session.watch(() =>
    note(made, worker.session.log.end)
  );
  using client = await connect(worker.socketPath);
  const reading = [
    (async () => {
      for await (const event of client.watch({ signal })) {
        if (event.type === "frames") note(near, event.next);
      }
    })(),
    (async () => {
      const frames = new RemoteWorker(two, `${one.host}.s`).frames({ signal });
      for await (const batch of frames) note(far, batch.next);
    })(),
  ];
  await worker.ask("go");
  await eventually(
    "every frame came",
    () => Math.min(near.length, far.length) === worker.session.log.end,
  );
  stop.abort();
  unwatch();
  await Promise.all(reading);
  await worker.end();
  await seat.end();
  await Deno.remove(dir, { recursive: true });
  const delays = (seen: readonly number[]) =>
    seen.map((at, i) => at - (made[i] ?? at)).slice(EDGE, -EDGE);
  return { near: delays(near), far: delays(far) };
}
