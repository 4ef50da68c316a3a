import { assert, assertEquals } from "@std/assert";
import {
  acquireClaim,
  connect,
  listWorkers,
  processStart,
  readEvents,
  readRegistry,
  readState,
  reapWorkers,
  recoverWorkers,
  runWorker,
  scriptedDriver,
  updateRegistry,
  updateState,
  workerFiles,
  workerHome,
} from "@bulkhead/worker";
import { eventually } from "./support/eventually.ts";
import { alive } from "./support/processes.ts";
import { withDir } from "./support/with_dir.ts";

function withHome(
  fn: (home: string, cwd: string) => Promise<void>,
): Promise<void> {
  return withDir(async (dir) => {
    await Deno.mkdir(`${dir}/ws`);
    await fn(`${dir}/w`, `${dir}/ws`);
  });
}

function start(home: string, cwd: string, shortId: string) {
  return runWorker({
    shortId,
    home,
    claimsRoot: cwd,
    cwd,
    asks: "wait",
    driver: scriptedDriver({
      script: {
        schema: 1,
        costUsd: 0.25,
        turns: [{
          steps: [{
            tool: "Write",
            input: { file_path: "a.txt", content: "1" },
          }, { say: "done" }],
        }],
      },
      sessions: `${home}/../sessions`,
    }),
  });
}

Deno.test("listWorkers() shows every worker with its true state", async () => {
  await withHome(async (home, cwd) => {
    await using one = await start(home, cwd, "one");
    await using _two = await start(home, cwd, "two");
    await updateState(workerHome(home), "gone", {
      status: "live",
      ready: true,
      worker_pid: 999_999_9,
    });
    await updateState(workerHome(home), "past", {
      status: "exited",
      cost_usd: 1.5,
    });
    await one.send("go");
    await eventually("it asks", () => one.asks.length > 0);
    const list = await listWorkers(home);
    assertEquals(list.map((w) => [w.shortId, w.state]), [
      ["gone", "orphaned"],
      ["one", "requires_action"],
      ["past", "exited"],
      ["two", "idle"],
    ]);
    const [, first, past] = list;
    assertEquals([first?.openAsks, first?.pid, first?.agent], [
      1,
      Deno.pid,
      "scripted",
    ]);
    assert((first?.memoryBytes ?? 0) > 20_000_000, String(first?.memoryBytes));
    assert((first?.ageMs ?? -1) >= 0);
    assertEquals([past?.costUsd, past?.pid, past?.memoryBytes], [
      1.5,
      null,
      null,
    ]);
  });
});

Deno.test("listWorkers() names a damaged state file and goes on", async () => {
  await withHome(async (home, cwd) => {
    await using _one = await start(home, cwd, "one");
    await Deno.mkdir(`${home}/bad`);
    await Deno.writeTextFile(`${home}/bad/state.json`, "{");
    await Deno.writeTextFile(`${home}/registry.json`, "{");
    const list = await listWorkers(home);
    assertEquals(list.map((w) => [w.shortId, w.problem !== undefined]), [[
      "bad",
      true,
    ], ["one", false]]);
  });
});

Deno.test("listWorkers() tells a worker that does not answer from one that is gone", async () => {
  await withHome(async (home) => {
    const files = workerFiles(workerHome(home), "mute");
    await Deno.mkdir(files.dir, { recursive: true });
    const listener = Deno.listen({ transport: "unix", path: files.socket });
    const connection = listener.accept();
    const list = await listWorkers(home, { timeoutMs: 100 });
    assertEquals(list.map((w) => w.state), ["unresponsive"]);
    assertEquals(
      await recoverWorkers(home, { timeoutMs: 100 }),
      [],
      "a silent worker is left alone",
    );
    listener.close();
    (await connection).close();
  });
});

Deno.test("recoverWorkers() ends an agent that outlived its worker", async () => {
  await withHome(async (home, cwd) => {
    const places = workerHome(home);
    const agent = new Deno.Command("sh", { args: ["-c", "sleep 60 & wait"] })
      .spawn();
    const started = await processStart(agent.pid);
    const dead = new Deno.Command("true").spawn();
    await dead.status;
    const root = Deno.env.get("FNO_CLAIMS_ROOT");
    Deno.env.set("FNO_CLAIMS_ROOT", cwd);
    try {
      await updateState(places, "lost", {
        status: "live",
        ready: true,
        worker_pid: dead.pid,
        worker_start: 1,
        child_pid: agent.pid,
        child_start: started?.ticks,
        session_id: "s1",
      });
      await updateRegistry(places, (rows) => {
        rows.push({
          name: "lost",
          cwd,
          status: "live",
          created_at: "",
          short_id: "lost",
          pid: dead.pid,
          pid_start_time: 1,
        });
      });
      await acquireClaim("session:s1", "stream:lost", { pid: dead.pid });
      const files = workerFiles(places, "lost");
      const listener = Deno.listen({ transport: "unix", path: files.socket });
      await Deno.rename(files.socket, files.socket + "x");
      listener.close();
      await Deno.rename(files.socket + "x", files.socket);
      const recovered = await recoverWorkers(home);
      assertEquals(recovered, [{
        shortId: "lost",
        endedAgent: agent.pid,
        removedSocket: true,
        releasedClaim: true,
      }]);
      await agent.status;
      assertEquals((await readState(places, "lost"))?.status, "orphaned");
      assertEquals((await readRegistry(places)).rows[0]?.status, "orphaned");
      assertEquals((await readEvents(places)).at(-1)?.type, "worker_recovered");
      assertEquals(
        await recoverWorkers(home),
        [],
        "the second time there is nothing to do",
      );
    } finally {
      if (root === undefined) Deno.env.delete("FNO_CLAIMS_ROOT");
      else Deno.env.set("FNO_CLAIMS_ROOT", root);
    }
  });
});

Deno.test("recoverWorkers() does not end a later process with the agent's pid", async () => {
  await withHome(async (home) => {
    const other = new Deno.Command("sleep", { args: ["60"] }).spawn();
    await updateState(workerHome(home), "lost", {
      status: "live",
      ready: true,
      child_pid: other.pid,
      child_start: 1,
    });
    const [found] = await recoverWorkers(home);
    assertEquals(found?.endedAgent, null);
    assert(alive(other.pid));
    other.kill("SIGKILL");
    await other.status;
  });
});

Deno.test("reapWorkers() stops workers at rest and moves the rest of the dead away", async () => {
  await withHome(async (home, cwd) => {
    const one = await start(home, cwd, "one");
    const busy = await start(home, cwd, "busy");
    await busy.send("go");
    await eventually("it asks", () => busy.asks.length > 0);
    await updateState(workerHome(home), "past", { status: "exited" });
    const report = await reapWorkers(home, { idleMs: 0 });
    await one.ended;
    assertEquals(report.stopped, ["one"]);
    assertEquals(report.removed, ["one", "past"]);
    const list = await listWorkers(home);
    assertEquals(list.map((w) => w.shortId), ["busy"]);
    const kept = await Array.fromAsync(Deno.readDir(`${home}/.orphaned`));
    assertEquals(kept.length, 2);
    await busy.end();
  });
});

Deno.test("watch() from beyond the end hears of state and questions all the same", async () => {
  await withHome(async (home, cwd) => {
    await using worker = await start(home, cwd, "one");
    using client = await connect(worker.socketPath);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      const events = client.watch({
        cursor: Number.MAX_SAFE_INTEGER,
        signal: stop.signal,
      });
      for await (const event of events) {
        if (event.type === "state") seen.push(event.state);
        if (event.type === "asks" && event.asks.length > 0) stop.abort();
      }
    })();
    await worker.send("go");
    await watching;
    assert(seen.includes("running"), seen.join());
  });
});
