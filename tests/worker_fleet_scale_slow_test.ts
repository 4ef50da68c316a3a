/**
 * The fleet at size: a thousand sessions listed, a hundred thousand frames caught up
 * with, how long a frame takes, a cluster that loses a node, fifty hosts.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { runWorker, scriptedDriver } from "@bulkhead/worker";
import {
  acquireLease,
  claimSession,
  connectFleet,
  type Fleet,
  Lease,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { median } from "../scripts/bench/harness.ts";
import { FramePublisher } from "../worker/fleet_nats/frames.ts";
import { fleetLeases } from "../worker/fleet_nats/lease_store.ts";
import { HostBeat } from "../worker/fleet_nats/hosts.ts";
import { eventually } from "./support/eventually.ts";
import { frameDelays } from "./support/frame_delays.ts";
import { putSession } from "./support/fleet_program.ts";
import { patiently, startCluster, startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { sideBySide, type Waiting } from "./support/side_by_side.ts";

const tests: Waiting[] = [];

function scaleTest(name: string, fn: () => Promise<void>): void {
  tests.push({ name: `fleet at size: ${name}`, fn });
}

async function tell(text: string): Promise<void> {
  await Deno.stderr.write(new TextEncoder().encode(text + "\n"));
}

function join(
  server: { port: number },
  host: string,
  replicas = 1,
): Promise<Fleet> {
  return connectFleet({
    servers: `nats://127.0.0.1:${server.port}`,
    host,
    replicas,
  });
}

scaleTest("fifty hosts with twenty sessions each are listed", async () => {
  await using server = await startNats();
  const hosts = await Promise.all(
    Array.from({ length: 50 }, (_, i) => join(server, `h${i}`)),
  );
  await Promise.all(hosts.map(async (host, h) => {
    HostBeat.of(host).slots = 20;
    HostBeat.of(host).now();
    for (let i = 0; i < 20; i++) await putSession(host, `h${h}.s${i}`);
  }));
  await using viewer = await join(server, "viewer");
  const times: number[] = [];
  for (let round = 0; round < 7; round++) {
    const began = performance.now();
    const view = await viewFleet(viewer);
    times.push(performance.now() - began);
    assertEquals(view.sessions.length, 1_000);
    assertEquals(view.sessions.filter((s) => s.lost).length, 0);
    assertEquals(view.hosts.length, 50);
  }
  await tell(
    `fleet: 1000 sessions on 50 hosts listed in ${
      Math.round(median(times))
    } ms (median of 7)`,
  );
  await Promise.all(hosts.map((host) => host.close()));
});

scaleTest(
  "a client catches up with 100 000 frames, none lost, none twice",
  async () => {
    await using server = await startNats();
    await using one = await join(server, "one");
    await using two = await join(server, "two");
    const epoch = crypto.randomUUID();
    await putSession(one, "one.big", epoch);
    const publisher = new FramePublisher(one, "one.big", epoch, () => {});
    const total = 100_000;
    const began = performance.now();
    for (let from = 0; from < total; from += 500) {
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
    assert(await publisher.flush(90_000));
    const published = performance.now() - began;
    const read = async (cursor: number) => {
      const start = performance.now();
      let next = cursor;
      for await (
        const batch of new RemoteWorker(two, "one.big").frames({ cursor })
      ) {
        assertEquals(batch.from, next);
        assertEquals(batch.gap, false);
        next = batch.next;
        if (next === total) break;
      }
      return performance.now() - start;
    };
    const whole = await read(0), tail = await read(total - 10);
    await tell(
      `fleet: 100 000 frames sent in ${
        Math.round(published)
      } ms, caught up in ${Math.round(whole)} ms, the last ten in ${
        Math.round(tail)
      } ms`,
    );
  },
);

scaleTest(
  "every frame of a turn reaches a remote client and a local one",
  async () => {
    await using server = await startNats();
    await using one = await join(server, "one");
    await using two = await join(server, "two");
    const delays = await frameDelays(one, two);
    const near = median(delays.near), far = median(delays.far);
    await tell(
      `fleet: a frame takes ${near.toFixed(2)} ms to a local client, ${
        far.toFixed(2)
      } ms to a remote one (${(far / near).toFixed(1)} ×)`,
    );
  },
);

scaleTest("a cluster that loses a node keeps leases and frames", async () => {
  const servers = await startCluster();
  try {
    const all = servers.map((s) => `nats://127.0.0.1:${s.port}`).join(",");
    const open = (host: string) =>
      patiently(() => connectFleet({ servers: all, host, replicas: 3 }));
    await using one = await open("one");
    await using two = await open("two");
    const lease = await acquireLease(fleetLeases(one), "session:x", "one", {
      leaseMs: 60_000,
    });
    assert(lease instanceof Lease);
    const epoch = crypto.randomUUID();
    await patiently(() => putSession(one, "one.c", epoch));
    const publisher = new FramePublisher(one, "one.c", epoch, () => {});
    const send = (from: number, count: number) =>
      publisher.add({
        from,
        frames: Array.from({ length: count }, (_, i) => ({
          kind: "stream_event" as const,
          delta: String(from + i),
        })),
        next: from + count,
        gap: false,
      });
    for (let i = 0; i < 20; i++) await send(i * 10, 10);
    // The node that our connection is on: the hardest case.
    const port = Number(one.nc.getServer().split(":").at(-1));
    const victim = servers.find((s) => s.port === port) ?? servers[0];
    await victim?.stop("SIGKILL");
    for (let i = 20; i < 60; i++) await send(i * 10, 10);
    assert(
      await publisher.flush(90_000),
      "everything is confirmed by the rest",
    );
    let next = 0;
    for await (const batch of new RemoteWorker(two, "one.c").frames()) {
      assertEquals([batch.from, batch.gap], [next, false]);
      next = batch.next;
      if (next === 600) break;
    }
    assert(lease.valid, "the lease was renewed over the loss");
    assertEquals(
      await acquireLease(fleetLeases(two), "session:x", "two", { wait: false }),
      { heldBy: "one" },
    );
    await lease.release();
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
});

scaleTest(
  "a server whose disk is full takes no frames, and the session goes on",
  async () => {
    const dir = await Deno.realPath(await Deno.makeTempDir());
    {
      await using server = await startNats();
      await using one = await connectFleet({
        servers: `nats://127.0.0.1:${server.port}`,
        host: "one",
      });
      const logs: string[] = [];
      const sessionId = crypto.randomUUID();
      const seat = await claimSession(one, {
        shortId: "s",
        sessionId,
        log: (l) => logs.push(l),
      });
      const worker = await runWorker({
        shortId: "s",
        home: `${dir}/w`,
        claimsRoot: dir,
        cwd: dir,
        sessionId,
        deciders: [seat.decider],
        driver: scriptedDriver({ sessions: `${dir}/sessions` }),
      });
      await seat.attach(worker);
      // No room for a single message any more: what a full disk answers.
      const info = await one.jsm.streams.info(one.names.frames);
      await one.jsm.streams.update(one.names.frames, {
        ...info.config,
        max_msg_size: 1,
      });
      assertEquals((await worker.ask("hi")).outcome, "completed");
      await eventually(
        "the host says so",
        () => logs.some((line) => line.startsWith("fleet: ")),
      );
      assert(seat.lease.valid);
      await worker.end();
      await seat.end();
    }
    await Deno.remove(dir, { recursive: true });
  },
);

// Two at a time: what they measure is told beside what else runs.
sideBySide(tests, { atOnce: 2, ignore: !hasTool("nats-server") });
