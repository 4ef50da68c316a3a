/**
 * The fleet on a real nats-server: frames, questions, calls, leases under cut links,
 * stopped processes and servers that go away.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  type AgentScript,
  type ClientFrame,
  createPosture,
  runWorker,
  scriptedDriver,
  servePage,
  type Worker,
} from "@bulkhead/worker";
import {
  claimSession,
  connectFleet,
  type Fleet,
  FleetError,
  fleetPageSource,
  type FleetSeat,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { HostBeat } from "../worker/fleet_nats/hosts.ts";
import { eventually } from "./support/eventually.ts";
import { ended, startProgram } from "./support/fleet_program.ts";
import { startNats, TestLink, type TestServer } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { sideBySide, type Waiting } from "./support/side_by_side.ts";
import {
  assertSilentSince,
  lastTick,
  SHORT_LEASE,
  TICKER,
  ticks,
} from "./support/ticker.ts";
import { withDir } from "./support/with_dir.ts";

const tests: Waiting[] = [];

function natsTest(name: string, fn: () => Promise<void>): void {
  tests.push({ name: `fleet: ${name}`, fn });
}

function withWorkspace(fn: (dir: string) => Promise<void>): Promise<void> {
  return withDir(async (dir) => {
    await Deno.mkdir(`${dir}/ws`);
    await fn(dir);
  });
}

function join(
  server: { port: number },
  host: string,
  more = {},
): Promise<Fleet> {
  return connectFleet({
    servers: `nats://127.0.0.1:${server.port}`,
    host,
    ...more,
  });
}

interface Hosted {
  seat: FleetSeat;
  worker: Worker;
  logs: string[];
}

async function host(
  fleet: Fleet,
  dir: string,
  shortId: string,
  script: AgentScript,
  more: { sessionId?: string; allow?: string[]; lease?: typeof SHORT_LEASE } =
    {},
): Promise<Hosted> {
  const logs: string[] = [];
  const sessionId = more.sessionId ?? crypto.randomUUID();
  const seat = await claimSession(fleet, {
    shortId,
    sessionId,
    cwd: `${dir}/ws`,
    ...more.lease ?? { leaseMs: 60_000 },
    log: (line) => logs.push(line),
  });
  const allow = {
    name: "test",
    decide: () => ({ decision: "allow" as const }),
  };
  const worker = await runWorker({
    shortId,
    home: `${dir}/${fleet.host}`,
    claimsRoot: `${dir}/${fleet.host}`,
    cwd: `${dir}/ws`,
    sessionId,
    asks: "wait",
    deciders: [
      seat.decider,
      more.allow === undefined
        ? await createPosture({
          cwd: `${dir}/ws`,
          rules: {},
          project: "untrusted",
        })
        : allow,
    ],
    driver: scriptedDriver({
      script,
      sessions: `${dir}/sessions-${fleet.host}`,
    }),
  });
  await seat.attach(worker);
  return { seat, worker, logs };
}

/** Reads until the frames fit. */
async function until(
  remote: RemoteWorker,
  fits: (frames: ClientFrame[]) => boolean,
  cursor = 0,
): Promise<{ frames: ClientFrame[]; gaps: number; from: number }> {
  const frames: ClientFrame[] = [];
  let gaps = 0, from = -1;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 90_000);
  try {
    for await (const batch of remote.frames({ cursor, signal: stop.signal })) {
      if (from < 0) from = batch.from;
      if (batch.gap) gaps++;
      else {assertEquals(
          batch.from,
          from + frames.length,
          "no frame is missing or twice",
        );}
      frames.push(...batch.frames);
      if (fits(frames)) return { frames, gaps, from };
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  throw new Error(`the frames ended: ${frames.length}`);
}

const results = (frames: ClientFrame[]) =>
  frames.filter((f) => f.kind === "result").length;

natsTest("any host watches, answers once and drives a session", async () => {
  await withWorkspace(async (dir) => {
    await using server = await startNats();
    await using one = await join(server, "one");
    await using two = await join(server, "two");
    await using three = await join(server, "three");
    const { seat, worker } = await host(one, dir, "demo", {
      schema: 1,
      costUsd: 0.5,
      turns: [{
        steps: [
          { tool: "Write", input: { file_path: "a.txt", content: "1" } },
          { say: "done" },
        ],
      }, { steps: [{ say: "slow ".repeat(400), delayMs: 20 }] }],
    });
    const remote = new RemoteWorker(two, "one.demo");
    const uuid = crypto.randomUUID();
    await remote.writeTurn("go", { uuid });
    await remote.writeTurn("go", { uuid });
    await eventually(
      "the question",
      async () => (await viewFleet(three)).asks.length === 1,
    );
    const view = await viewFleet(three);
    assertEquals(view.hosts.map((h) => h.host), ["one"]);
    assertEquals(
      view.sessions.map((s) => [s.id, s.state, s.lost, s.open_asks]),
      [
        ["one.demo", "requires_action", false, 1],
      ],
    );
    const ask = view.asks[0];
    assert(ask && ask.session === "one.demo" && ask.ask.tool_name === "Write");
    // Two people answer at the same time from two hosts: it counts once.
    const other = new RemoteWorker(three, "one.demo");
    const answers = await Promise.all([
      remote.answerAsk(ask.ask.id, { decision: "allow" }),
      other.answerAsk(ask.ask.id, { decision: "deny" }),
    ]);
    assertEquals(answers.filter((answered) => answered).length, 1);
    const { frames, gaps } = await until(remote, (f) => results(f) === 1);
    assertEquals(gaps, 0);
    assertEquals(frames.length, worker.session.log.end, "every frame once");
    // From the middle, and from beyond the end.
    const half = Math.floor(frames.length / 2);
    const rest = await until(
      other,
      (f) => f.length >= frames.length - half,
      half,
    );
    assertEquals([rest.from, rest.gaps], [half, 0]);
    assertEquals(rest.frames, frames.slice(half));
    await eventually(
      "the question is gone",
      async () => (await viewFleet(two)).asks.length === 0,
    );
    // Interrupt from elsewhere.
    await remote.writeTurn("slow");
    await until(remote, (f) => JSON.stringify(f.at(-1)).includes("slow"));
    await remote.interrupt();
    await until(remote, (f) => results(f) === 2);
    await eventually(
      "cost",
      async () => (await remote.record())?.cost_usd === 1.5,
    );
    await remote.shutdown();
    await worker.ended;
    await seat.end();
    assertEquals((await remote.record())?.state, "ended");
    const gone = await assertRejects(() => remote.interrupt(), FleetError);
    assertEquals(gone.code, "no_worker");
  });
});

natsTest(
  "a second host cannot claim a session, and can once it is released",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      await using one = await join(server, "one");
      await using two = await join(server, "two");
      const sessionId = crypto.randomUUID();
      const { seat, worker } = await host(one, dir, "demo", {
        schema: 1,
        turns: [],
      }, { sessionId });
      const claim = () =>
        claimSession(two, { shortId: "x", sessionId, wait: false });
      const error = await assertRejects(claim, FleetError);
      assertEquals(error.code, "held");
      assertMatch(error.message, /"one\/demo" writes it/);
      await worker.end();
      await seat.end();
      const next = await claim();
      assert(next.lease.fence > seat.lease.fence);
      await next.end();
    });
  },
);

natsTest(
  "a host that is cut off has ended its agent before another may begin",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      await using link = new TestLink(server.port);
      await using one = await join(link, "one");
      await using two = await join(server, "two");
      const sessionId = crypto.randomUUID();
      const hosted = await host(one, dir, "demo", TICKER, {
        sessionId,
        allow: ["Bash"],
        lease: SHORT_LEASE,
      });
      await hosted.worker.send("go");
      await ticks(`${dir}/ws`);
      link.cut();
      const next = await claimSession(two, {
        shortId: "next",
        sessionId,
        ...SHORT_LEASE,
      });
      const began = Date.now();
      assert(!hosted.seat.lease.valid);
      await assertSilentSince(`${dir}/ws`, began);
      await hosted.worker.ended;
      assert(next.lease.fence > hosted.seat.lease.fence);
      assertMatch(hosted.logs.join("\n"), /the lease of "one.demo" was lost/);
      await next.end();
      link.heal();
    });
  },
);

natsTest(
  "a stopped worker's agent is ended before another may begin",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      await using two = await join(server, "two");
      const sessionId = crypto.randomUUID();
      const child = await startHostProcess(server, dir, sessionId, SHORT_LEASE);
      await ticks(`${dir}/ws`);
      child.kill("SIGSTOP");
      const next = await claimSession(two, {
        shortId: "next",
        sessionId,
        ...SHORT_LEASE,
      });
      const last = await assertSilentSince(`${dir}/ws`, Date.now());
      // Awake again it finds that it has lost, and writes nothing more.
      child.kill("SIGCONT");
      await ended(child);
      assertEquals(await lastTick(`${dir}/ws`), last);
      assert(next.lease.valid);
      await next.end();
    });
  },
);

natsTest(
  "a killed worker's agent is ended, long before its lease",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      const leaseMs = 300_000;
      const child = await startHostProcess(server, dir, crypto.randomUUID(), {
        leaseMs,
      });
      await ticks(`${dir}/ws`);
      child.kill("SIGKILL");
      await child.status;
      const killed = Date.now();
      await eventually(
        "it writes nothing more",
        async () => Date.now() - await lastTick(`${dir}/ws`) > 3_000,
      );
      const last = await lastTick(`${dir}/ws`);
      assert(last - killed < leaseMs / 2, `it wrote for ${last - killed} ms`);
    });
  },
);

/** A worker of the fleet as a process of its own. */
function startHostProcess(
  server: TestServer,
  dir: string,
  sessionId: string,
  lease: Partial<typeof SHORT_LEASE>,
): Promise<Deno.ChildProcess> {
  return startProgram("fleet_host.ts", [
    `nats://127.0.0.1:${server.port}`,
    dir,
    sessionId,
    JSON.stringify({ ...lease, script: TICKER }),
  ]);
}

natsTest(
  "frames are neither lost nor doubled over a server that is killed and started again",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      await using one = await join(server, "one");
      await using two = await join(server, "two");
      const { seat, worker } = await host(one, dir, "demo", {
        schema: 1,
        turns: [{
          steps: [{ say: "word ".repeat(1500), delayMs: 2, chunk: 5 }],
        }],
      });
      const remote = new RemoteWorker(two, "one.demo");
      await remote.writeTurn("go");
      await eventually("half of it", () => worker.session.log.end > 300);
      await server.stop("SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.restart();
      await eventually("the turn is done", () => worker.state === "idle");
      const { frames, gaps } = await until(remote, (f) => results(f) === 1);
      assertEquals([frames.length, gaps], [worker.session.log.end, 0]);
      assert(seat.lease.remainingMs > 0);
      await worker.end();
      await seat.end();
    });
  },
);

natsTest("a link that is cut for a while loses no frame", async () => {
  await withWorkspace(async (dir) => {
    await using server = await startNats();
    await using link = new TestLink(server.port);
    await using one = await join(link, "one");
    await using two = await join(server, "two");
    const { seat, worker } = await host(one, dir, "demo", {
      schema: 1,
      turns: [{ steps: [{ say: "word ".repeat(800), delayMs: 2, chunk: 5 }] }],
    });
    await worker.send("go");
    await eventually("some of it", () => worker.session.log.end > 100);
    link.cut();
    await new Promise((resolve) => setTimeout(resolve, 500));
    link.heal();
    await eventually(
      "the turn is done",
      () => worker.state === "idle" || worker.state === "dead",
    );
    assertEquals(worker.state, "idle", "a short cut does not cost the lease");
    const { frames, gaps } = await until(
      new RemoteWorker(two, "one.demo"),
      (f) => results(f) === 1,
    );
    assertEquals([frames.length, gaps], [worker.session.log.end, 0]);
    await worker.end();
    await seat.end();
  });
});

natsTest(
  "streams and buckets that are deleted under us are made again, and the gap is told",
  async () => {
    await withWorkspace(async (dir) => {
      await using server = await startNats();
      await using one = await join(server, "one");
      await using two = await join(server, "two");
      const script: AgentScript = { schema: 1, turns: [] };
      const lease = { leaseMs: 20_000, marginMs: 4_000, stopMs: 4_000 };
      const { seat, worker } = await host(one, dir, "demo", script, { lease });
      const remote = new RemoteWorker(two, "one.demo");
      assertEquals((await worker.ask("one")).outcome, "completed");
      const before = worker.session.log.end;
      await eventually(
        "confirmed",
        async () => (await remote.record())?.next === before,
      );
      // One who watches all the while misses nothing; one who comes later is told of the gap.
      let seen = 0;
      const watching = until(remote, (frames) => {
        seen = frames.length;
        return results(frames) === 2;
      });
      await eventually("it is watched", () => seen === before);
      for (const { config } of await two.jsm.streams.list().next()) {
        await two.jsm.streams.delete(config.name);
      }
      assertEquals((await worker.ask("two")).outcome, "completed");
      const watched = await watching;
      assertEquals(watched.frames.length, worker.session.log.end);
      await eventually(
        "it is listed again",
        async () =>
          await viewFleet(two).then(
            ({ sessions }) => sessions.some((s) => s.id === "one.demo"),
            () => false,
          ),
      );
      const { gaps, from } = await until(remote, (f) => results(f) >= 1);
      assertEquals([gaps, from], [1, before]);
      await new Promise<void>((resolve) =>
        seat.lease.onRenewed(() => resolve())
      );
      assert(seat.valid, "the session goes on");
      const claiming = claimSession(two, {
        shortId: "x",
        sessionId: worker.sessionId ?? "",
        wait: false,
      });
      assertEquals(
        (await assertRejects(() => claiming, FleetError)).code,
        "held",
      );
      await worker.end();
      await seat.end();
    });
  },
);

natsTest(
  "what is wrong with a server is told in one line with the fix",
  async () => {
    const failure = async (options: Parameters<typeof connectFleet>[0]) => {
      const error = await assertRejects(
        () => connectFleet({ timeoutMs: 30_000, host: "h", ...options }),
        FleetError,
      );
      assert(!error.message.includes("\n"), error.message);
      return error.code;
    };
    assertEquals(
      await failure({ servers: "nats://127.0.0.1:1" }),
      "unreachable",
    );
    {
      await using server = await startNats({ jetstream: false });
      assertEquals(
        await failure({ servers: `nats://127.0.0.1:${server.port}` }),
        "no_jetstream",
      );
    }
    {
      await using server = await startNats({
        config: 'authorization { users: [ { user: "u", password: "p" } ] }',
      });
      const servers = `nats://127.0.0.1:${server.port}`;
      assertEquals(await failure({ servers }), "not_authorized");
      assertEquals(
        await failure({ servers, user: "u", password: "x" }),
        "not_authorized",
      );
      assertEquals(
        await failure({ servers, credentialsFile: "/does/not/exist" }),
        "not_authorized",
      );
      assertEquals(await failure({ servers, tls: "required" }), "insecure");
      await using fleet = await connectFleet({
        servers,
        user: "u",
        password: "p",
        host: "h",
      });
      const meta = await fleet.bucket(fleet.names.meta);
      await meta.put("schema", "2");
      assertEquals(
        await failure({ servers, user: "u", password: "p" }),
        "newer_schema",
      );
    }
  },
);

natsTest("a role may do what it is for and nothing more", async () => {
  await withWorkspace(async (dir) => {
    const { permissionsConfig } = await import("@bulkhead/worker/fleet");
    const users = ["watch", "answer", "drive", "queue", "host"]
      .map((role) =>
        `{ user: ${role}, password: x, permissions: $BULKHEAD_${role.toUpperCase()} }`
      );
    await using server = await startNats({
      config: permissionsConfig() +
        `authorization { users: [ ${users.join(", ")} ] }`,
    });
    const as = (user: string) =>
      join(server, user, { user, password: "x", create: user === "host" });
    await using owner = await as("host");
    const { seat, worker } = await host(owner, dir, "demo", {
      schema: 1,
      turns: [],
    });
    assertEquals((await worker.ask("hi")).outcome, "completed");
    await using watcher = await as("watch");
    await using answerer = await as("answer");
    await using driver = await as("drive");
    await eventually(
      "the session",
      async () => (await viewFleet(watcher)).sessions.length === 1,
    );
    const watching = new RemoteWorker(watcher, "host.demo");
    await until(watching, (f) => results(f) === 1);
    await watching.call("stream.status");
    const denied = async (work: () => Promise<unknown>) => {
      const error = await assertRejects(work, FleetError);
      assertEquals(error.code, "not_authorized");
    };
    await denied(() => watching.writeTurn("no"));
    await denied(() => watching.answerAsk("x", { decision: "allow" }));
    const answering = new RemoteWorker(answerer, "host.demo");
    assertEquals(await answering.answerAsk("x", { decision: "allow" }), false);
    await denied(() => answering.interrupt());
    const sessions = await watcher.bucket(watcher.names.sessions);
    await assertRejects(() => sessions.put("host.demo", "{}"));
    await new RemoteWorker(driver, "host.demo").writeTurn("yes");
    await until(watching, (f) => results(f) === 2);
    await worker.end();
    await seat.end();
  });
});

natsTest("the page over all machines shows, streams and answers", async () => {
  await withWorkspace(async (dir) => {
    await using server = await startNats();
    await using one = await join(server, "one");
    await using two = await join(server, "two");
    const { seat, worker } = await host(one, dir, "demo", {
      schema: 1,
      turns: [{
        steps: [
          { tool: "Write", input: { file_path: "a.txt", content: "1" } },
          { say: "done" },
        ],
      }],
    });
    {
      await using page = await servePage({
        home: "",
        source: fleetPageSource(two),
        token: "t",
      });
      const headers = { authorization: "Bearer t" };
      const base = `http://127.0.0.1:${page.port}/api`;
      const lines = async function* (path: string) {
        const answer = await fetch(`${base}/${path}`, { headers });
        let rest = "";
        for await (
          const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []
        ) {
          const parts = (rest + part).split("\n");
          rest = parts.pop() ?? "";
          for (const line of parts) yield JSON.parse(line);
        }
      };
      // A machine without sessions is shown as well.
      HostBeat.of(two).slots = 3;
      HostBeat.of(two).memoryBytes = 2 ** 30;
      HostBeat.of(two).now();
      for await (const message of lines("fleet")) {
        const idle = message.hosts.find((h: { host: string }) =>
          h.host === "two"
        );
        if (idle === undefined) continue;
        assertEquals([idle.sessions, idle.slots, idle.memoryBytes], [
          0,
          3,
          2 ** 30,
        ]);
        assertEquals(typeof idle.load, "number");
        break;
      }
      for await (const message of lines("fleet")) {
        const session = message.sessions[0];
        if (session?.state !== "idle") continue;
        assertEquals([session.shortId, session.host], ["one.demo", "one"]);
        break;
      }
      const post = (path: string, body: unknown) =>
        fetch(`${base}/${path}`, {
          method: "POST",
          headers,
          body: JSON.stringify(body),
        })
          .then((answer) => answer.json());
      await post("turn/one.demo", { text: "go" });
      let said = "", answered = 0;
      for await (const event of lines("watch/one.demo?cursor=0")) {
        if (
          event.type === "asks" && event.asks.length === 1 && answered === 0
        ) {
          answered++;
          const reply = await post("answer/one.demo", {
            id: event.asks[0].id,
            decision: "allow",
          });
          assertEquals(reply, { answered: true });
        }
        if (event.type !== "frames") continue;
        for (const frame of event.frames) {
          if (frame.kind === "result") said = frame.result;
        }
        if (said !== "") break;
      }
      assertEquals(said, "done");
      assertEquals(await Deno.readTextFile(`${dir}/ws/a.txt`), "1");
    }
    await worker.end();
    await seat.end();
  });
});

sideBySide(tests, { ignore: !hasTool("nats-server") });
