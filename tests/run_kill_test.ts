import { assert, assertEquals } from "@std/assert";
import { eventually } from "./support/eventually.ts";
import { allEnded, exists, speakingOf } from "./support/processes.ts";
import { BULKHEAD, bulkhead } from "./support/run_world.ts";
import { type WaitingDemo, waitingDemo } from "./support/waiting_demo.ts";

/** The demo, in a directory that outlives it. */
async function keptDemo(): Promise<WaitingDemo & { dir: string }> {
  const demo = await waitingDemo([
    ...BULKHEAD,
    "run",
    "--example",
    "greeting",
    "--keep",
    "--json",
  ]);
  return { ...demo, dir: demo.workspace.replace(/\/workspace$/, "") };
}

Deno.test("kill -9 of a run leaves no process and no socket, and the next run sweeps its directory", async () => {
  const demo = await keptDemo();
  assert(exists(demo.socket));
  assert(speakingOf(demo.dir).length >= 1, "the agent runs");
  Deno.kill(demo.pid, "SIGKILL");
  await demo.done();
  await allEnded(demo.dir);
  await eventually("the socket is gone", () => !exists(demo.socket));
  assert(exists(demo.dir), "the directory is what the next run sweeps");
  const next = await bulkhead(["run", "--example", "greeting"]);
  assertEquals(next.code, 0);
  assertEquals(exists(demo.dir), false);
});

Deno.test("SIGTERM and SIGHUP end a run in order", async () => {
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    const demo = await keptDemo();
    Deno.kill(demo.pid, signal);
    await demo.done();
    assertEquals(exists(demo.dir), false, signal);
    assertEquals(speakingOf(demo.dir), [], signal);
  }
});
