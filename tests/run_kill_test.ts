import { assert, assertEquals } from "@std/assert";
import { comesTrue, exists, speakingOf } from "./support/processes.ts";
import { BULKHEAD, bulkhead } from "./support/run_world.ts";

/** Starts a demo that waits in its question, and tells where it lives. */
async function waitingDemo(command: readonly string[]): Promise<{
  child: Deno.ChildProcess;
  dir: string;
  socket: string;
  pid: number;
  done(): Promise<void>;
}> {
  const child = new Deno.Command(command[0] ?? "", {
    args: [
      ...command.slice(1),
      "run",
      "--example",
      "greeting",
      "--keep",
      "--json",
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes("AskUserQuestion") || !seen.includes("can_use_tool")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the demo ended early: ${seen}`);
    seen += value;
  }
  const line = seen.split("\n").find((text) => text.includes('"type":"start"'));
  const start = JSON.parse(line ?? "{}");
  return {
    child,
    dir: String(start.workspace).replace(/\/workspace$/, ""),
    socket: start.socket,
    pid: start.pid,
    async done(): Promise<void> {
      await child.status;
      await reader.cancel();
    },
  };
}

Deno.test("kill -9 of a run leaves no process and no socket, and the next run sweeps its directory", async () => {
  const demo = await waitingDemo(BULKHEAD);
  assert(exists(demo.socket));
  assert(speakingOf(demo.dir).length >= 1, "the agent runs");
  Deno.kill(demo.pid, "SIGKILL");
  await demo.done();
  assert(
    await comesTrue(() =>
      speakingOf(demo.dir).length === 0 && !exists(demo.socket)
    ),
    `left: ${speakingOf(demo.dir)} ${exists(demo.socket)}`,
  );
  assert(exists(demo.dir), "the directory is what the next run sweeps");
  const next = await bulkhead(["run", "--example", "greeting"]);
  assertEquals(next.code, 0);
  assertEquals(exists(demo.dir), false);
});

Deno.test("SIGTERM and SIGHUP end a run in order", async () => {
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    const demo = await waitingDemo(BULKHEAD);
    Deno.kill(demo.pid, signal);
    await demo.done();
    assertEquals(exists(demo.dir), false, signal);
    assertEquals(speakingOf(demo.dir), [], signal);
  }
});
