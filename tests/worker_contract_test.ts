// deno-lint-ignore-file camelcase -- field names are the wire's own
/** Sentences of the seed's contract that no other test says by themselves. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { CommandIo } from "@bulkhead/sandbox/command";
import {
  acquireClaim,
  type AskAnswer,
  claimPath,
  IDLE_GRACE_MS,
  MAX_BODY,
  parseFrame,
  readClaim,
  readRegistry,
} from "@bulkhead/worker";
import { workerCommand } from "@bulkhead/worker/cli";
import { AgentChild } from "../worker/agent_child.ts";
import { ControlAnswers } from "../worker/agents/control_answers.ts";
import { ControlRequests } from "../worker/agents/control_requests.ts";
import { Session } from "../worker/session.ts";
import { eventually } from "./support/eventually.ts";
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

Deno.test("contract B3, J6: what lies under the home, and the row of a named worker", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script("cat >/dev/null", {
    name: "a demo",
    resume: "uuid-1",
  });
  await eventually(
    "the event of the start",
    async () => (await world.events("agent_started")).length === 1,
  );
  const { root } = world.home;
  const names = async (dir: string) =>
    (await Array.fromAsync(Deno.readDir(dir))).map((entry) => entry.name)
      .toSorted();
  assertEquals(await names(root), [
    "events.jsonl",
    "registry.json",
    "registry.json.lock",
    "w1",
  ]);
  assertEquals(await names(`${root}/w1`), [
    "state.json",
    "state.json.lock",
    "worker.lock",
    "worker.sock",
  ]);
  const [row] = (await readRegistry(world.home)).rows;
  assertEquals(
    { ...row, created_at: "", pid_start_time: typeof row?.pid_start_time },
    {
      name: "a demo",
      cwd: world.cwd,
      status: "live",
      created_at: "",
      last_message_at: null,
      mcp_channel_id: null,
      log_path: `${root}/w1/timeline.jsonl`,
      short_id: "w1",
      project_root: world.cwd,
      harness: "argv",
      harness_session_id: "uuid-1",
      pid: Deno.pid,
      pid_start_time: "number",
      host_mode: "interactive",
      origin: "spawn",
    },
  );
  await worker.end();
});

Deno.test("contract F4: what has no id or cannot be written is logged, a denial too", async () => {
  await using world = await WorkerWorld.make();
  const log: string[] = [];
  const ask = (id: string) =>
    `echo '{"type":"control_request"${id},"request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"a"}}}'`;
  const worker = await world.script(
    `exec <&-; ${ask("")}; ${ask(',"request_id":"r"')}; ${INIT}; sleep 0.2`,
    { log: (line) => log.push(line) },
  );
  assertEquals((await worker.ended).reason, "child_exited");
  assertStringIncludes(log[0] ?? "", "it has no request_id");
  assertMatch(
    log[1] ?? "",
    /^Denied "Write" \(ask r\): .*not wholesale-allowed/,
  );
});

Deno.test("contract F6, F7: requests of the agent that are no asks, and answers to ours", async () => {
  const written: string[] = [];
  const log: string[] = [];
  let broken = false;
  const answers = new ControlAnswers({
    cwd: "/",
    judgeMs: 1000,
    serverName: "bulkhead",
    server: undefined,
    judge: () => ({ decision: "deny", reason: "no" }),
    write(line) {
      if (broken) throw new Deno.errors.BrokenPipe("gone");
      written.push(line);
    },
    log: (line) => log.push(line),
  });
  const ask = (id: string, request: object) => {
    const frame = parseFrame(
      JSON.stringify({ type: "control_request", request_id: id, request }),
    );
    assert(frame.kind === "control_request");
    answers.answer(frame);
  };
  const hook = (event: string) => ({
    subtype: "hook_callback",
    callback_id: "gate",
    input: { hook_event_name: event, tool_name: "Bash", tool_input: {} },
  });
  ask("1", hook("PreToolUse"));
  ask("2", hook("Stop"));
  ask("3", { subtype: "hook_callback" });
  for (const subtype of ["elicitation", "request_user_dialog", "brand_new"]) {
    ask(subtype, { subtype });
  }
  ask("4", { subtype: "mcp_message", server_name: "x", message: {} });
  const told = written.map((line) => JSON.parse(line).response);
  assertEquals(
    told.map((answer) => [answer.request_id, answer.subtype]),
    [
      ["1", "success"],
      ["2", "success"],
      ["3", "success"],
      ["elicitation", "error"],
      ["request_user_dialog", "error"],
      ["brand_new", "error"],
      ["4", "error"],
    ],
  );
  assertEquals(
    told[0].response.hookSpecificOutput.permissionDecision,
    "deny",
  );
  assertEquals(told[1].response, {});
  broken = true;
  ask("5", hook("PreToolUse"));
  assertEquals(log, ['Cannot answer request "5": gone']);

  const sent: string[] = [];
  const requests = new ControlRequests((line) => sent.push(line));
  const asked = requests.request({ subtype: "interrupt" }, 60_000);
  const id = JSON.parse(sent[0] ?? "").request_id;
  const response = { subtype: "success", request_id: id, response: { a: 1 } };
  // Echoes of answers of ours look the same.
  requests.settle("r1", { response: { ...response, request_id: "r1" } });
  requests.settle(id, { response });
  requests.settle(id, { response: { ...response, subtype: "error" } });
  assertEquals(await asked, { a: 1 });
  const refused = requests.request({ subtype: "x" }, 60_000);
  requests.settle(JSON.parse(sent[1] ?? "").request_id, {
    response: { subtype: "error", error: "Unsupported" },
  });
  await assertRejects(() => refused, Error, "Unsupported");
  const late = requests.request({ subtype: "x" }, 60_000);
  requests.end();
  await assertRejects(() => late, Error, "ended");
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

Deno.test("contract G1, H5: a turn is exactly the seed's line, and one that cannot be written is an error", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/line`;
  await using worker = await world.script(
    `IFS= read -r line; printf '%s' "$line" > '${file}'; exec <&-; ${INIT}; sleep 300`,
  );
  using client = await SeedClient.connect(worker.socketPath);
  const text = 'a "b"\n\u00e9';
  const line =
    `{"type":"user","message":{"role":"user","content":[{"type":"text","text":${
      JSON.stringify(text)
    }}]}}`;
  assertEquals(
    (await client.call("stream.write_turn", { text })).written,
    new TextEncoder().encode(line).length + 1,
  );
  await client.framesUntil("system");
  assertEquals(await Deno.readTextFile(file), line);
  // It reads no more: the first such turn may still be queued, a later one is not.
  let answer = await client.request("stream.write_turn", { text });
  while (answer.error === undefined) {
    answer = await client.request("stream.write_turn", { text });
  }
  const error = Object(answer.error);
  assertEquals(error.code, "internal");
  assertMatch(error.message, /^write_turn failed: /);
  assertEquals((await worker.ended).reason, "child_exited");
});

Deno.test("contract I6: without a row none is made, and none is left of one that was let go", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(FAKE_EMITTER);
  await worker.end();
  assertEquals((await readRegistry(world.home)).rows, []);
  assertEquals((await world.state()).status, "exited");
});

Deno.test("contract I10: row, socket and claim stay until the agent is gone, the claim to the last", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const gone = `${world.root}/gone`;
  const claim = { sessionUuid: "u-order", holder: "stream:w1" };
  const worker = await world.script(
    `trap '' TERM; ${INIT}; cat >/dev/null; while [ ! -e '${gone}' ]; do sleep 0.02; done`,
    { claim },
  );
  using client = await SeedClient.connect(worker.socketPath);
  await client.framesUntil("system");
  const ending = client.call("stream.shutdown");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const held = () => readClaim("session:u-order", { root: world.root });
  assertEquals((await readRegistry(world.home)).rows[0]?.status, "live");
  assertEquals((await world.state()).status, "live");
  assertEquals((await held())?.pid, Deno.pid);
  assert((await Deno.lstat(worker.socketPath)).isSocket);
  assertEquals(await world.events("agent_exited"), []);
  await Deno.writeTextFile(gone, "");
  assertEquals(await ending, { shutdown: true });
  await worker.ended;
  assertEquals((await readRegistry(world.home)).rows[0]?.status, "exited");
  assertEquals(await held(), undefined);
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

Deno.test("contract I3: a turn that was joined to another, unseen, does not hold the session for ever", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(
    `${INIT}; read a; echo '{"type":"assistant"}'; read b; echo '{"type":"result","subtype":"success"}'; cat >/dev/null`,
    { idleGraceMs: 1_000 },
  );
  const turns = [await worker.send("one"), await worker.send("two")];
  assertEquals((await worker.outcome("turn-1")).outcome, "completed");
  assertEquals((await worker.ended).reason, "idle-release");
  assertEquals(turns.map(({ turn }) => worker.session.turns.phase(turn)), [
    "done",
    "done",
  ]);
  assertEquals((await worker.outcome("turn-2")).outcome, "lost");
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
  assertEquals([state.status, state.ready], ["live", true]);
  const text = await Deno.readTextFile(`${world.home.root}/w1/state.json`);
  assert(text.startsWith('{\n  "schema_version": 1,\n'), text.slice(0, 40));
  assertEquals(worker.state, "idle");
});

Deno.test("contract K1, K8: where claims and their audit lines go", async () => {
  await using world = await WorkerWorld.make();
  const names = ["FNO_CLAIMS_ROOT", "HOME", "FNO_EVENTS_PATH"];
  const before = names.map((name) => Deno.env.get(name));
  try {
    Deno.env.set("FNO_CLAIMS_ROOT", "");
    Deno.env.set("HOME", `${world.root}/home`);
    Deno.env.set("FNO_EVENTS_PATH", `${world.root}/audit.jsonl`);
    assertEquals(
      claimPath("session:u"),
      `${world.root}/home/.fno/claims/session%3Au.lock`,
    );
    Deno.env.set("FNO_CLAIMS_ROOT", world.root);
    assertEquals(
      claimPath("session:u"),
      `${world.root}/.fno/claims/session%3Au.lock`,
    );
    const worker = await world.script(FAKE_EMITTER, {
      claim: { sessionUuid: "u", holder: "stream:w1" },
    });
    await worker.end();
    const lines = (await Deno.readTextFile(`${world.root}/audit.jsonl`)).trim();
    assertEquals(
      lines.split("\n").map((line) => JSON.parse(line)).map((event) => [
        event.type,
        event.source,
        event.data.key,
      ]),
      [
        ["claim_acquired", "fno-loop", "session:u"],
        ["claim_idempotent_reacquired", "fno-loop", "session:u"],
        ["claim_released", "fno-loop", "session:u"],
      ],
    );
    for (const ttlMs of [59_999, 86_400_001]) {
      const { kind } = await acquireClaim("session:x", "h", { ttlMs });
      assertEquals(kind, "error");
    }
  } finally {
    for (const [at, name] of names.entries()) {
      const value = before[at];
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
});

Deno.test("contract L1: an agent that has shown nothing yet is not ready", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(
    `read go; ${INIT}; cat >/dev/null`,
  );
  using client = await SeedClient.connect(worker.socketPath);
  const ready = async () => {
    const status = await client.call("stream.status");
    return [status.child_alive, status.child_ready];
  };
  assertEquals(await ready(), [true, false]);
  await client.call("stream.write_turn", { text: "go" });
  await client.framesUntil("system");
  assertEquals(await ready(), [true, true]);
});
