/** Clients killed with SIGKILL at every step: the session never notices. */

import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { connect, listWorkers, type Worker } from "@bulkhead/worker";
import { eventually } from "./support/eventually.ts";
import { exists, speakingOf } from "./support/processes.ts";
import { FAKE_EMITTER, INIT, WorkerWorld } from "./support/worker_world.ts";

const ROOT = fromFileUrl(new URL("../deno.json", import.meta.url));
const CLI = fromFileUrl(new URL("../worker/cli.ts", import.meta.url));
const BOUND_MS = 60_000;

const ASKS =
  `${INIT}; read line; echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Write","input":{}}}'; read answer; echo '{"type":"result","subtype":"success"}'; cat >/dev/null`;

/** Runs a program against a worker in a process of its own and kills it once it has said something and all is ready. */
async function killedClient(
  worker: Worker,
  program: string,
  ready: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const code = `import { connect } from "@bulkhead/worker";
    const client = await connect(Deno.args[0]);
    const say = (word) => Deno.stdout.writeSync(new TextEncoder().encode(word));
    ${program}
    await new Promise(() => setInterval(() => {}, 1000));`;
  const file = `${worker.socketPath.replace(/\/[^/]*$/, "")}/client.ts`;
  await Deno.writeTextFile(file, code);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      `--config=${ROOT}`,
      "--no-lock",
      file,
      worker.socketPath,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const { done } = await reader.read();
  assert(!done, "the client ended by itself");
  await ready();
  Deno.kill(child.pid, "SIGKILL");
  await reader.cancel();
  await child.status;
}

/** Another client is served, and the killed one is forgotten. */
async function goesOn(worker: Worker): Promise<void> {
  using client = await connect(worker.socketPath);
  await client.ping();
  while ((await client.status()).clients > 1) {
    await client.readFrames(1e9, { waitMs: 10 });
  }
}

Deno.test("worker: a client killed right after it has written a turn leaves the turn to its end", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  await killedClient(
    worker,
    `const { turn } = await client.writeTurn("x"); say(turn);`,
  );
  await goesOn(worker);
  using client = await connect(worker.socketPath);
  const state = await client.turn("turn-1", BOUND_MS);
  assertEquals(state.phase === "done" && state.outcome, "completed");
});

Deno.test("worker: a client killed while it is being asked leaves the question to the next one", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(ASKS, { asks: "wait" });
  await killedClient(
    worker,
    `await client.writeTurn("x");
    for await (const event of client.watch({ answers: true })) {
      if (event.type === "asks" && event.asks.length > 0) { say("asked"); break; }
    }`,
  );
  await goesOn(worker);
  using client = await connect(worker.socketPath);
  assertEquals((await client.asks()).map((ask) => ask.id), ["r"]);
  assertEquals(await client.answerAsk("r", { decision: "allow" }), true);
  assertEquals(
    (await worker.outcome("turn-1")).outcome,
    "completed",
  );
});

Deno.test("worker: a client killed in a long poll, or right after an interrupt, is forgotten", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  for (
    const program of [
      `client.readFrames(1e9, { waitMs: 60_000 }); await client.ping(); say("polls");`,
      `client.interrupt(); say("interrupted");`,
      `say("connected");`,
    ]
  ) {
    await killedClient(worker, program);
    await goesOn(worker);
  }
  assertEquals((await worker.ask("x")).outcome, "completed");
});

Deno.test("worker: a client killed while the end it has asked for is under way does not keep it", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/eof`;
  const worker = await world.script(
    `${INIT}; cat >/dev/null; echo > '${file}'; sleep 0.5`,
  );
  await killedClient(
    worker,
    `client.shutdown(); say("ending");`,
    () => eventually("the agent's input ended", () => exists(file)),
  );
  assertEquals((await worker.ended).reason, "shutdown");
  assertEquals((await world.state()).status, "exited");
});

for (const delay of [0, 60, 150, 300]) {
  Deno.test({
    name:
      `worker: "worker start" killed after ${delay} ms leaves a whole worker or none`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using world = await WorkerWorld.make();
      const home = `${world.root}/home`;
      const command = (...args: string[]) =>
        new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "-A",
            "--no-check",
            `--config=${ROOT}`,
            "--no-lock",
            CLI,
            ...args,
          ],
          env: { BULKHEAD_HOME: home, FNO_CLAIMS_ROOT: world.root },
          cwd: world.cwd,
          stdin: "null",
          stdout: "null",
          stderr: "null",
        });
      const starting = command("start", "demo", "--agent", "scripted").spawn();
      await new Promise((resolve) => setTimeout(resolve, delay));
      try {
        starting.kill("SIGKILL");
      } catch {
        // It was quicker: the worker is up.
      }
      await starting.status;
      // What the killed command has begun comes up by itself; after that, the name can be used.
      let state: string | undefined;
      await eventually(() => `an idle worker: ${state}`, async () => {
        await command("start", "demo", "--agent", "scripted").output();
        const [one, ...more] = await listWorkers(`${home}/workers`);
        assertEquals(more, []);
        state = one?.state;
        return state === "idle";
      });
      const stopped = await command("stop", "demo").output();
      assertEquals(stopped.code, 0);
      // What the killed command has begun may have waited until now for the name.
      await eventually("the end of its processes", async () => {
        const left = speakingOf(home).length;
        if (left > 0) await command("stop", "demo").output();
        return left === 0;
      });
    },
  });
}
