/**
 * Faults of a real server: a disk that is full, clients that are too slow, nodes of a
 * cluster that die and come back, hosts that leave sessions behind.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runWorker, scriptedDriver, type Worker } from "@bulkhead/worker";
import {
  claimSession,
  connectFleet,
  type Fleet,
  type FleetSeat,
  listJobs,
  queueSession,
  readJob,
  RemoteWorker,
  sweepFleet,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { eventually } from "./support/eventually.ts";
import {
  acknowledged,
  killAll,
  startProgram,
} from "./support/fleet_program.ts";
import {
  patiently,
  startCluster,
  startNats,
  TestLink,
} from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { sideBySide, type Waiting } from "./support/side_by_side.ts";

const tests: Waiting[] = [];

function faultTest(name: string, fn: (dir: string) => Promise<void>): void {
  tests.push({
    name: `fleet faults: ${name}`,
    async fn() {
      const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "ff" }));
      await Deno.mkdir(`${dir}/ws`);
      try {
        await fn(dir);
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  });
}

const urlOf = (server: { port: number }) => `nats://127.0.0.1:${server.port}`;

/** A session whose every turn makes many frames. */
async function talker(
  fleet: Fleet,
  dir: string,
  frames: number,
  leaseMs: number,
): Promise<{ seat: FleetSeat; worker: Worker; logs: string[] }> {
  const logs: string[] = [];
  // A file: what many frames need is too long for an argument.
  const script = `${dir}/script.json`;
  await Deno.writeTextFile(
    script,
    JSON.stringify({
      schema: 1,
      turns: [1, 2, 3].map(() => ({
        steps: [{ say: "word ".repeat(frames), chunk: 5 }],
      })),
    }),
  );
  const sessionId = crypto.randomUUID();
  const seat = await claimSession(fleet, {
    shortId: "s",
    sessionId,
    leaseMs,
    log: (line) => logs.push(line),
  });
  const worker = await runWorker({
    shortId: "s",
    home: `${dir}/${fleet.host}`,
    claimsRoot: `${dir}/${fleet.host}`,
    cwd: `${dir}/ws`,
    sessionId,
    deciders: [seat.decider],
    frames: { maxFrames: 100_000 },
    driver: scriptedDriver({
      sessions: `${dir}/sessions`,
      script,
    }),
  });
  await seat.attach(worker);
  return { seat, worker, logs };
}

/** Reads up to an index; every frame has to come once and in order. */
async function readTo(
  fleet: Fleet,
  id: string,
  end: number,
  slowMs = 0,
): Promise<number> {
  let next = 0;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 150_000);
  try {
    for await (
      const batch of new RemoteWorker(fleet, id).frames({ signal: stop.signal })
    ) {
      assertEquals([batch.from, batch.gap], [next, false]);
      next = batch.next;
      if (next >= end) break;
      if (slowMs > 0) await new Promise((r) => setTimeout(r, slowMs));
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return next;
}

faultTest("a full disk costs nothing once there is room", async (dir) => {
  const disk = `${dir}/disk`;
  await Deno.mkdir(disk);
  const mount = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=16m", "tmpfs", disk],
    stderr: "null",
  }).output().then(({ success }) => success, () => false);
  if (!mount) {
    // No tool that could be installed: not even CI has the right everywhere.
    return void await Deno.stderr.write(new TextEncoder().encode(
      "skipped: no right to mount a small tmpfs; run as root\n",
    ));
  }
  try {
    await using server = await startNats({ dir: disk });
    await using one = await connectFleet({
      servers: urlOf(server),
      host: "one",
    });
    await using two = await connectFleet({
      servers: urlOf(server),
      host: "two",
    });
    // Long: the server may stop taking anything, and is mended by hand.
    const { seat, worker, logs } = await talker(one, dir, 4_000, 60_000);
    // Everything that is left, in one file.
    {
      using filler = await Deno.open(`${disk}/filler`, {
        write: true,
        create: true,
      });
      const block = new Uint8Array(64 * 1024);
      try {
        for (;;) await filler.write(block);
      } catch (error) {
        assertMatch(String(error), /space/i);
      }
    }
    assertEquals((await worker.ask("one")).outcome, "completed");
    assertEquals((await worker.ask("two")).outcome, "completed");
    await eventually("the host says so", () => logs.length > 0);
    assert(logs.every((line) => !line.includes("\n")), logs.join("|"));
    assert(seat.lease.valid);
    await Deno.remove(`${disk}/filler`);
    // It may not end by itself any more.
    await server.stop("SIGKILL");
    await server.restart();
    const end = worker.session.log.end;
    await eventually(
      "the server answers and has all of it",
      async () =>
        (await new RemoteWorker(two, "one.s").record().catch(() => undefined))
          ?.next === end,
    );
    assertEquals(await readTo(two, "one.s", end), end);
    assert(seat.lease.valid);
    await worker.end();
    await seat.end();
  } finally {
    await new Deno.Command("umount", { args: ["-l", disk] }).output();
  }
});

faultTest("a slow reader holds up nobody and misses nothing", async (dir) => {
  await using server = await startNats({
    config: 'write_deadline: "300ms"\nmax_pending: 2MB',
  });
  await using link = new TestLink(server.port);
  await using one = await connectFleet({ servers: urlOf(server), host: "one" });
  await using two = await connectFleet({ servers: urlOf(server), host: "two" });
  await using far = await connectFleet({ servers: urlOf(link), host: "far" });
  const { seat, worker } = await talker(one, dir, 20_000, 15_000);
  // One that takes its time, and one that takes nothing until the server lets go of it.
  const slow = readTo(two, "one.s", 20_000, 4);
  const stuck = readTo(far, "one.s", 20_000);
  await worker.send("go");
  await eventually("some of it", () => worker.session.log.end > 500);
  link.cut();
  await eventually("the turn ends", () => worker.state === "idle");
  await eventually(
    "all of it is there",
    async () =>
      (await new RemoteWorker(two, "one.s").record())?.next ===
        worker.session.log.end,
  );
  link.heal();
  const end = worker.session.log.end;
  assert(end > 20_000);
  assert(await slow >= 20_000);
  assert(await stuck >= 20_000);
  await worker.end();
  await seat.end();
});

faultTest(
  "each node of a cluster dies and comes back, one after another",
  async (dir) => {
    const servers = await startCluster();
    try {
      const all = servers.map(urlOf).join(",");
      const open = (host: string) =>
        patiently(() => connectFleet({ servers: all, host, replicas: 3 }));
      await using one = await open("one");
      await using two = await open("two");
      const { seat, worker, logs } = await talker(one, dir, 500, 60_000);
      for (const server of servers) {
        await server.stop("SIGKILL");
        assertEquals((await worker.ask("go")).outcome, "completed");
        await server.restart();
        await eventually(
          () => `its frames are confirmed: ${logs.join("; ")}`,
          async () =>
            (await new RemoteWorker(two, "one.s").record().catch(() =>
              undefined
            ))?.next === worker.session.log.end,
        );
      }
      const end = worker.session.log.end;
      assertEquals(await readTo(two, "one.s", end), end);
      assert(seat.lease.valid, logs.join("; "));
      await worker.end();
      await seat.end();
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
    }
  },
);

faultTest(
  "what nobody can take over is told, and not run again",
  async (dir) => {
    await using server = await startNats();
    await using fleet = await connectFleet({
      servers: urlOf(server),
      host: "watcher",
      hostTtlMs: 8_000,
    });
    // One session that was never queued, one that was.
    const children = [
      await startProgram("fleet_host.ts", [
        urlOf(server),
        dir,
        crypto.randomUUID(),
        JSON.stringify({
          leaseMs: 3_000,
          script: { schema: 1, turns: [{ steps: [{ say: "hi" }] }] },
        }),
      ]),
      await startProgram("fleet_placement_host.ts", [
        urlOf(server),
        "a",
        dir,
        "1",
      ]),
    ];
    try {
      const sessionId = crypto.randomUUID();
      await Deno.mkdir(`${dir}/gone`);
      await queueSession(fleet, {
        sessionId,
        agent: "scripted",
        workspace: { path: `${dir}/gone` },
        prompt: "go",
      });
      const ran = () => Deno.readTextFile(`${dir}/gone/ran`).catch(() => "");
      await eventually("it ran", async () => await ran() === "a\n");
      await acknowledged(fleet);
      await killAll(children);
      await Deno.remove(`${dir}/gone`, { recursive: true });
      children.push(
        await startProgram("fleet_placement_host.ts", [
          urlOf(server),
          "b",
          dir,
          "1",
        ]),
      );
      await eventually(
        "the queued one is told as orphaned",
        async () => (await readJob(fleet, sessionId))?.state === "orphaned",
      );
      const job = await readJob(fleet, sessionId);
      assertMatch(job?.reason ?? "", /workspace/);
      assertEquals(job?.moves, 1);
      // Whoever sweeps: a host of the fleet or a person.
      await sweepFleet(fleet);
      const session = (await viewFleet(fleet)).sessions.find((s) =>
        s.id === "one.demo"
      );
      assertEquals([session?.state, session?.lost], ["orphaned", true]);
      assertEquals((await listJobs(fleet)).length, 1);
      assertEquals(await ran(), "", "nothing was run again");
    } finally {
      await killAll(children);
    }
  },
);

sideBySide(tests, { ignore: !hasTool("nats-server") });
