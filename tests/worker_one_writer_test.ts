/** One session, one writer: whoever names the session, and whenever its name is told. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  acquireClaim,
  type AgentStart,
  type AgentStarted,
  processStart,
  readClaim,
  readRegistry,
  runWorker,
  scriptedDriver,
  StreamJsonDriver,
  type WorkerOptions,
} from "@bulkhead/worker";
import { eventually } from "./support/eventually.ts";
import { hasTool } from "./support/require_tool.ts";
import { Counted, SimulatedAgent } from "./support/simulated_agent.ts";
import { SeedClient, WorkerWorld } from "./support/worker_world.ts";

/** An agent that names its session itself, as Codex, OpenCode and those of the protocol do. */
class SelfNamed extends SimulatedAgent {
  readonly #named: string;
  readonly #resumable: boolean;
  started = false;

  constructor(named: string, resumable = true) {
    super(new Counted(), "here");
    this.#named = named;
    this.#resumable = resumable;
  }

  override async start(options: AgentStart): Promise<AgentStarted> {
    this.started = true;
    return {
      ...await super.start(options),
      sessionId: this.#named,
      resumable: this.#resumable,
    };
  }
}

/** Runs a worker of a world. */
function start(
  world: WorkerWorld,
  shortId: string,
  options:
    & Pick<WorkerOptions, "driver">
    & Partial<WorkerOptions>,
) {
  return runWorker({
    shortId,
    home: world.home.root,
    cwd: world.cwd,
    claimsRoot: world.root,
    ...options,
  });
}

function claimOf(world: WorkerWorld, session: string) {
  return readClaim(`session:${session}`, { root: world.root });
}

Deno.test("worker: an agent that names a session somebody else writes is ended, and the start is refused", async () => {
  await using world = await WorkerWorld.make();
  {
    await using first = await start(world, "a", { driver: new SelfNamed("t") });
    assertEquals((await claimOf(world, "t"))?.holder, "stream:a");
    const driver = new SelfNamed("t");
    const refused = await assertRejects(
      () => start(world, "b", { driver }),
      Deno.errors.Busy,
    );
    assertStringIncludes(refused.message, '"t": "stream:a"');
    assert(driver.started && !driver.status().alive);
    assertEquals(first.state, "idle");
    assertEquals((await claimOf(world, "t"))?.holder, "stream:a");
    await using other = await start(world, "b", {
      driver: new SelfNamed("another"),
    });
    assertEquals(other.sessionId, "another");
  }
  assertEquals(await claimOf(world, "t"), undefined);
  await using next = await start(world, "b", { driver: new SelfNamed("t") });
  assertEquals((await claimOf(world, "t"))?.holder, "stream:b");
  assertEquals(next.sessionId, "t");
});

Deno.test("worker: names of sessions that nobody can go on with may be the same", async () => {
  await using world = await WorkerWorld.make();
  await using one = await start(world, "a", {
    driver: new SelfNamed("1", false),
  });
  await using two = await start(world, "b", {
    driver: new SelfNamed("1", false),
  });
  assertEquals([one.sessionId, two.sessionId], ["1", "1"]);
  assertEquals(await claimOf(world, "1"), undefined);
});

Deno.test("worker: a session that is written is not resumed: the agent is not even started", async () => {
  await using world = await WorkerWorld.make();
  await using _first = await start(world, "a", { driver: new SelfNamed("t") });
  for (const options of [{ resume: "t" }, { sessionId: "t" }]) {
    const driver = new SelfNamed("t");
    await assertRejects(
      () => start(world, "b", { driver, ...options }),
      Deno.errors.Busy,
      '"stream:a"',
    );
    assert(!driver.started);
  }
});

Deno.test("worker: the same name in two homes of one process are two writers", async () => {
  await using world = await WorkerWorld.make();
  await using _first = await start(world, "a", { driver: new SelfNamed("t") });
  await assertRejects(
    () =>
      start(world, "a", {
        driver: new SelfNamed("t"),
        home: `${world.root}/other`,
      }),
    Deno.errors.Busy,
    '"stream:a"',
  );
  const both = await Promise.allSettled(
    ["x", "y"].map((home) =>
      start(world, "c", {
        driver: new SelfNamed("at once"),
        home: `${world.root}/${home}`,
      })
    ),
  );
  assertEquals(
    both.map((one) => one.status).toSorted(),
    ["fulfilled", "rejected"],
  );
  for (const one of both) {
    if (one.status === "fulfilled") await one.value.end();
  }
});

Deno.test("worker: a session that an agent goes over to while it runs is claimed too", async () => {
  await using world = await WorkerWorld.make();
  const uuid = crypto.randomUUID();
  const sessions = `${world.root}/sessions`;
  const driver = (more: string[]) =>
    scriptedDriver({ sessions, extraArgs: more });
  await using first = await start(world, "a", {
    driver: driver(["--session-id", uuid]),
  });
  assertEquals(first.sessionId, undefined);
  assertEquals((await first.ask("hi")).outcome, "completed");
  assertEquals(first.sessionId, uuid);
  // The name is told while the turn runs, and claimed beside it.
  await eventually(
    "the session is claimed",
    async () => await claimOf(world, uuid) !== undefined,
  );
  assertEquals((await claimOf(world, uuid))?.holder, "stream:a");
  const logged: string[] = [];
  const second = await start(world, "b", {
    driver: driver(["--resume", uuid]),
    log: (line) => logged.push(line),
  });
  await second.send("hi");
  assertEquals((await second.ended).reason, "session-held");
  assertEquals(second.session.driver.status().alive, false);
  assertStringIncludes(logged.join("\n"), `"${uuid}": "stream:a"`);
  const [event] = (await world.events("agent_exited")).filter((event) =>
    event.data.short_id === "b"
  );
  assertEquals(event?.data.reason, "session-held");
  assertEquals((await world.state("b")).status, "exited");
  assertEquals((await claimOf(world, uuid))?.holder, "stream:a");
  assertEquals((await first.ask("still here")).outcome, "completed");
});

Deno.test("worker: a session that is named at once, or while it runs, is claimed and on the record", async () => {
  await using world = await WorkerWorld.make();
  const named = (id: string) =>
    `echo '{"type":"system","subtype":"init","session_id":"${id}"}'`;
  const driver = new StreamJsonDriver({
    name: "early",
    argv: () => [
      "sh",
      "-c",
      `${named("s-one")}; read -r line; ${named("s-two")}; cat >/dev/null`,
    ],
    gate: false,
  });
  await using worker = await start(world, "a", { driver, name: "a demo" });
  for (const id of ["s-one", "s-two"]) {
    await eventually(
      `the session "${id}" is claimed and written down`,
      async () =>
        await claimOf(world, id) !== undefined &&
        (await world.state("a")).session_id === id &&
        (await readRegistry(world.home)).rows[0]?.harness_session_id === id,
      20_000,
    );
    if (id === "s-one") await worker.send("go on");
  }
});

Deno.test("worker: an agent that a killed worker of another name has left on the session is ended first", async () => {
  await using world = await WorkerWorld.make();
  const left = new Deno.Command("sleep", { args: ["600"] }).spawn();
  const dead = new Deno.Command("true").spawn();
  await dead.status;
  const mark = await processStart(left.pid);
  await acquireClaim("session:t", "stream:gone", {
    root: world.root,
    pid: dead.pid,
    metadata: {
      writer: "worker",
      agent_pid: left.pid,
      agent_ticks: mark?.ticks ?? 0,
      boot_id: (await Deno.readTextFile("/proc/sys/kernel/random/boot_id"))
        .trim(),
    },
  });
  const logged: string[] = [];
  await using worker = await start(world, "b", {
    driver: new SelfNamed("t"),
    resume: "t",
    log: (line) => logged.push(line),
  });
  assert(!(await left.status).success);
  assertStringIncludes(logged.join("\n"), `pid ${left.pid}`);
  assertEquals(worker.state, "idle");
});

Deno.test("worker: the agent's process stands in the claim, and a name of any length can be claimed", async () => {
  await using world = await WorkerWorld.make();
  const uuid = crypto.randomUUID();
  await using worker = await start(world, "a", {
    driver: scriptedDriver({ sessions: `${world.root}/sessions` }),
    sessionId: uuid,
  });
  const { pid } = worker.session.driver.status();
  assertEquals((await claimOf(world, uuid))?.metadata?.agent_pid, pid);
  const long = "session/".repeat(100);
  await using _first = await start(world, "b", {
    driver: new SelfNamed(long),
  });
  await assertRejects(
    () => start(world, "c", { driver: new SelfNamed(long) }),
    Deno.errors.Busy,
    '"stream:b"',
  );
});

Deno.test("worker: claims that cannot be kept stop nobody and are told", async () => {
  await using world = await WorkerWorld.make();
  await Deno.writeTextFile(`${world.root}/file`, "");
  const logged: string[] = [];
  await using worker = await start(world, "a", {
    driver: new SelfNamed("t"),
    claimsRoot: `${world.root}/file`,
    log: (line) => logged.push(line),
  });
  assertEquals(worker.state, "idle");
  assertStringIncludes(
    logged.join("\n"),
    "Cannot claim the session, going on",
  );
});

/** As much of Codex's app-server as a start needs; its thread is always the same one. */
const CODEX = `
import { createInterface } from "node:readline";
let command = "";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result = {};
  if (method === "initialize") result.userAgent = "bulkhead/0.171.0 (x)";
  if (method.startsWith("thread/")) {
    command = params.config.hooks.PreToolUse[0].hooks[0].command;
    result.thread = { id: "T-1" };
  }
  if (method === "hooks/list") {
    const hook = { command, trustStatus: "trusted", enabled: true, source: "sessionFlags" };
    result.data = [{ hooks: [hook] }];
  }
  if (id !== undefined) console.log(JSON.stringify({ id, result }));
}
`;

/** As much of an agent of the protocol. */
const ACP = `
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const result = {};
  if (method === "initialize") result.agentCapabilities = { loadSession: true };
  if (method === "session/new") result.sessionId = "S-1";
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
`;

/** Starts `worker --stream` with a program and reads its stderr. */
function serve(
  world: WorkerWorld,
  shortId: string,
  args: string[],
) {
  const [program = "", ...argv] = world.serveArgv(
    shortId,
    world.home.root,
    args,
  );
  const child = new Deno.Command(program, {
    args: argv,
    env: { ...world.environment, HOME: world.root },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return { child, stderr: new Response(child.stderr).text() };
}

const linux = Deno.build.os === "linux";
const confined = hasTool("bwrap");

for (
  const [agent, program, session, ignore] of [
    ["codex", CODEX, "T-1", !linux],
    ["acp", ACP, "S-1", !linux || !confined],
  ] as const
) {
  Deno.test({
    name:
      `worker --agent ${agent}: a second process on the session is refused, and its agent is ended`,
    ignore,
    async fn() {
      await using world = await WorkerWorld.make();
      const path = `${world.cwd}/fake_agent.mjs`;
      await Deno.writeTextFile(path, program);
      const deno = [Deno.execPath(), "run", "-A", "--no-config", path];
      const argv = ["--agent", agent, "--", ...deno];
      const first = serve(world, "one", argv);
      (await SeedClient.whenUp(`${world.home.root}/one/worker.sock`))
        [Symbol.dispose]();
      assertEquals((await claimOf(world, session))?.pid, first.child.pid);
      const before = await world.processes(path);
      for (const more of [[], ["--resume", session]]) {
        const second = serve(world, "two", [...more, ...argv]);
        assertEquals((await second.child.status).code, 1);
        const words = await second.stderr;
        assertStringIncludes(words, `"${session}": "stream:one"`);
        assertEquals(words.trim().split("\n").length, 1, words);
        assertEquals(await world.processes(path), before);
      }
      first.child.kill("SIGTERM");
      assertEquals((await first.child.status).code, 0, await first.stderr);
      await first.stderr;
      assertEquals(await claimOf(world, session), undefined);
      assertEquals(await world.processes(path), []);
    },
  });
}
