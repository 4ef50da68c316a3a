/** Sentences of the seed's contract that no other test says by themselves. */

import { assert, assertEquals } from "@std/assert";
import type { CommandIo } from "@bulkhead/sandbox/command";
import { type AskAnswer, IDLE_GRACE_MS, MAX_BODY } from "@bulkhead/worker";
import { workerCommand } from "@bulkhead/worker/cli";
import { AgentChild } from "../worker/agent_child.ts";
import { Session } from "../worker/session.ts";
import { Counted, SimulatedAgent } from "./support/simulated_agent.ts";
import {
  FAKE_EMITTER,
  INIT,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

Deno.test("contract A: the grace and the size of a message", () => {
  assertEquals([IDLE_GRACE_MS, MAX_BODY], [900_000, 16_777_216]);
});

Deno.test("contract B1: without --cwd the agent works in the temporary directory", async () => {
  await using world = await WorkerWorld.make();
  const temporary = Deno.env.get("TMPDIR");
  Deno.env.set("TMPDIR", world.cwd);
  const io: CommandIo = {
    stdin: new Blob([]).stream(),
    out() {},
    err() {},
    isTerminal: false,
    canAsk: false,
    color: false,
  };
  try {
    const file = `${world.root}/pwd`;
    const running = workerCommand([
      "--stream",
      "--short-id",
      "x",
      "--home",
      world.home.root,
      "--",
      "bash",
      "-c",
      `pwd > '${file}'; ${FAKE_EMITTER}`,
    ], io);
    using client = await SeedClient.whenUp(`${world.home.root}/x/worker.sock`);
    await client.framesUntil("system");
    await client.call("stream.shutdown");
    assertEquals(await running, 0);
    assertEquals((await Deno.readTextFile(file)).trim(), world.cwd);
  } finally {
    if (temporary === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", temporary);
  }
});

Deno.test("contract F5: an ask is answered before its frame is kept", async () => {
  const answered: [string, number][] = [];
  class Asks extends SimulatedAgent {
    override answer(askId: string, answer: AskAnswer): void {
      answered.push([answer.decision, session.log.end]);
      super.answer(askId, answer);
    }
  }
  const driver = new Asks(new Counted(), "here");
  const session: Session = new Session({
    driver,
    cwd: "/",
    deciders: [{ name: "t", decide: () => ({ decision: "allow" }) }],
  });
  await session.start();
  const { turn } = await session.send({ text: "go" });
  await session.outcome(turn);
  const at = session.log.since(0).entries.findIndex(({ frame }) =>
    frame.kind === "control_request"
  );
  assertEquals(answered, [["allow", at]]);
  await session.close();
});

Deno.test("contract F1: an allowed call goes back to the byte, however its arguments are written", async () => {
  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  for (
    const input of [
      '{"n":9007199254740993,"f":1.0,"big":1e400,"k":1,"k":2}',
      `{"deep":${deep}}`,
    ]
  ) {
    await using world = await WorkerWorld.make();
    const file = `${world.root}/answer`;
    const ask = `${world.root}/ask`;
    await Deno.writeTextFile(
      ask,
      `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"x","input":${input}}}\n`,
    );
    await using worker = await world.script(
      `cat '${ask}'; IFS= read -r line; printf '%s' "$line" > '${file}'; ${INIT}; cat >/dev/null`,
      { deciders: [{ name: "t", decide: () => ({ decision: "allow" }) }] },
    );
    using client = await SeedClient.connect(worker.socketPath);
    await client.framesUntil("system");
    assertEquals(
      await Deno.readTextFile(file),
      `{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":${input}}}}`,
    );
  }
});

Deno.test("contract G3: answers go before turns that wait", async () => {
  const dir = await Deno.makeTempDir();
  const child = await AgentChild.start([
    "/bin/sh",
    "-c",
    'while [ ! -e go ]; do sleep 0.01; done; while read -r line; do echo "${line%%x*}"; done',
  ], { cwd: dir, env: { PATH: "/usr/bin:/bin" } });
  const turns = ["turn 1", "turn 2", "turn 3"];
  for (const turn of turns) child.writeTurn(turn + "x".repeat(100_000));
  child.writeUrgent("answer");
  await Deno.writeTextFile(`${dir}/go`, "");
  const seen: string[] = [];
  for await (const lines of child.lines()) {
    for (const line of lines) seen.push(line.text);
    if (seen.length === 4) break;
  }
  assertEquals(seen, ["turn 1", "answer", "turn 2", "turn 3"]);
  await child.close();
  await Deno.remove(dir, { recursive: true });
});

Deno.test("contract I3: a line that nobody understands holds the session", async () => {
  for (const line of ["not json", '{"type":"brand_new"}']) {
    await using world = await WorkerWorld.make();
    await using worker = await world.script(
      `${INIT}; echo '${line}'; cat >/dev/null`,
      { idleGraceMs: 300 },
    );
    for await (const { frame } of worker.frames()) {
      if (frame.kind !== "system") break;
    }
    await new Promise((resolve) => setTimeout(resolve, 900));
    assert(worker.state !== "dead" && !worker.session.quiescent, line);
  }
});

Deno.test("contract J1: the state file begins with the seed's fields, in their order", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  const state = await world.state();
  assertEquals(Object.keys(state).slice(0, 9), [
    "schema_version",
    "short_id",
    "status",
    "ready",
    "last_message_at",
    "last_reply",
    "restart_count",
    "last_restart_at",
    "pty",
  ]);
  assertEquals([state.schema_version, state.short_id, state.pty], [
    1,
    "w1",
    null,
  ]);
  assertEquals(worker.state, "idle");
});
