/** The seed's own tests of a whole worker, and its client against ours. */

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  acquireClaim,
  encodeMessage,
  findRow,
  readClaim,
  readRegistry,
  releaseClaim,
} from "@bulkhead/worker";
import {
  FAKE_EMITTER,
  INIT,
  type Json,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

const kinds = (frames: Json[]) => frames.map((frame) => frame.kind);

Deno.test("worker: a turn streams its reply and tells the echo from it", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  const line =
    '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}\n';
  assertEquals(
    (await client.call("stream.write_turn", { text: "hi" })).written,
    line.length,
  );
  const { frames } = await client.framesUntil("result");
  assertEquals(kinds(frames), [
    "system",
    "user_echo",
    "stream_event",
    "assistant",
    "result",
  ]);
  assertEquals(frames[3], { kind: "assistant", text: "reply-text" });
  assertEquals(frames[4], {
    kind: "result",
    subtype: "success",
    result: "reply-text",
    is_error: false,
  });
  assertEquals(await client.call("stream.shutdown"), { shutdown: true });
});

Deno.test("worker: an ask is answered by the posture, so a turn never hangs", async () => {
  await using world = await WorkerWorld.make();
  const capture = `${world.root}/capture.jsonl`;
  await using worker = await world.script(`
${INIT}
while IFS= read -r line; do
  printf '%s\\n' '{"type":"control_request","request_id":"req-1","request":{"subtype":"can_use_tool","tool_name":"Read","input":{"file_path":"/etc/passwd"}}}'
  IFS= read -r resp
  printf '%s\\n' "$resp" >> '${capture}'
  printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
done`);
  using client = await SeedClient.connect(worker.socketPath);
  await client.call("stream.write_turn", { text: "do something" });
  await client.framesUntil("result");
  const answer = JSON.parse(await Deno.readTextFile(capture));
  assertEquals([
    answer.type,
    answer.response.subtype,
    answer.response.request_id,
  ], ["control_response", "success", "req-1"]);
  assertEquals(answer.response.response.behavior, "deny");
  assertStringIncludes(
    answer.response.response.message,
    "outside the session directory",
  );
});

Deno.test("worker: other control requests get an error, one without an id gets nothing", async () => {
  await using world = await WorkerWorld.make();
  const capture = `${world.root}/capture.jsonl`;
  await using worker = await world.script(`
printf '%s\\n' '{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"Read","input":{}}}'
printf '%s\\n' '{"type":"control_request","request_id":"e","request":{"subtype":"elicitation"}}'
printf '%s\\n' '{"type":"control_request","request_id":"m","request":{"subtype":"mcp_message","server_name":"x","message":{}}}'
printf '%s\\n' '{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/etc/passwd"}}}}'
for n in 1 2 3; do IFS= read -r resp; printf '%s\\n' "$resp" >> '${capture}'; done
printf '%s\\n' '{"type":"result","subtype":"success","is_error":false}'
cat >/dev/null`);
  using client = await SeedClient.connect(worker.socketPath);
  await client.framesUntil("result");
  const answers = (await Deno.readTextFile(capture)).trim().split("\n").map((
    line,
  ) => JSON.parse(line).response);
  assertEquals(answers.map((answer) => [answer.request_id, answer.subtype]), [
    ["e", "error"],
    ["m", "error"],
    ["h", "success"],
  ]);
  assertEquals(
    answers[2].response.hookSpecificOutput.permissionDecision,
    "deny",
  );
});

Deno.test("worker: a malformed line is a frame and nothing worse", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(`
printf '%s\\n' 'GARBAGE not json'
printf '\\377\\376 bytes\\n'
printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'
cat >/dev/null`);
  using client = await SeedClient.connect(worker.socketPath);
  const { frames } = await client.framesUntil("result");
  assertEquals(kinds(frames), ["malformed", "malformed", "result"]);
  assertEquals(frames[0], { kind: "malformed" });
});

Deno.test("worker: an agent that ends orphans its row", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const worker = await world.script(
    `printf '%s\\n' '{"type":"system","subtype":"init"}'`,
  );
  const end = await worker.ended;
  assertEquals([end.reason, end.agent.code], ["child_exited", 0]);
  assertEquals(
    findRow((await readRegistry(world.home)).rows, "w1")?.status,
    "orphaned",
  );
  const state = await world.state();
  assertEquals([state.status, state.ready, state.pty], [
    "orphaned",
    false,
    null,
  ]);
  await assertRejects(
    () => Deno.lstat(worker.socketPath),
    Deno.errors.NotFound,
  );
});

Deno.test("worker: one at rest lets its session go, removes the row and says so", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const script =
    `printf '%s\\n' '{"type":"system","subtype":"init"}'; cat >/dev/null`;
  const worker = await world.script(script, { idleGraceMs: 300 });
  assertEquals((await worker.ended).reason, "idle-release");
  assertEquals((await readRegistry(world.home)).rows, []);
  const [event] = await world.events("agent_exited");
  assertEquals([event?.data.reason, event?.data.lane, event?.source], [
    "idle-release",
    "stream",
    "stream-worker:w1",
  ]);
  assertEquals((await world.state()).status, "exited");
});

Deno.test("worker: silence within a turn never lets it go", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(
    `
printf '%s\\n' '{"type":"system","subtype":"init"}'
while IFS= read -r line; do
  printf '%s\\n' '{"type":"user","message":{"role":"user"}}'
  printf '%s\\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"mid"}]}}'
done`,
    { idleGraceMs: 100 },
  );
  using client = await SeedClient.connect(worker.socketPath);
  await client.call("stream.write_turn", { text: "do a long thing" });
  await client.framesUntil("assistant");
  // Three graces without any call; the ping after it does not re-arm, it only asks.
  const gone = await Promise.race([
    worker.ended,
    new Promise((resolve) => setTimeout(resolve, 350, "alive")),
  ]);
  assertEquals(gone, "alive");
  assertEquals(await client.call("stream.ping"), { pong: true });
  assertEquals((await client.call("stream.status")).state, "running");
});

Deno.test("worker: a client that polls keeps it, and a grace after the last poll it is gone", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const script =
    `printf '%s\\n' '{"type":"system","subtype":"init"}'; cat >/dev/null`;
  const worker = await world.script(script, { idleGraceMs: 1_000 });
  {
    using client = await SeedClient.connect(worker.socketPath);
    const until = performance.now() + 2_500;
    while (performance.now() < until) {
      await client.call("stream.read_frames", { cursor: 0 });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assertEquals(await client.call("stream.ping"), { pong: true });
  }
  assertEquals((await worker.ended).reason, "idle-release");
  assertEquals((await readRegistry(world.home)).rows, []);
});

Deno.test("worker: a silent connection does not keep it, and pings do not either", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const script =
    `printf '%s\\n' '{"type":"system","subtype":"init"}'; cat >/dev/null`;
  const worker = await world.script(script, { idleGraceMs: 1_000 });
  using _silent = await SeedClient.connect(worker.socketPath);
  using pinger = await SeedClient.connect(worker.socketPath);
  await pinger.call("stream.ping");
  await pinger.call("stream.status");
  assertEquals((await worker.ended).reason, "idle-release");
});

Deno.test("worker: a shutdown ends as exited and never as orphaned", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  assertEquals(await client.request("stream.shutdown"), {
    id: 1,
    result: { shutdown: true },
  });
  assertEquals((await worker.ended).reason, "shutdown");
  assertEquals(
    findRow((await readRegistry(world.home)).rows, "w1")?.status,
    "exited",
  );
  assertEquals((await world.state()).status, "exited");
  assertEquals(await client.next(), null);
});

Deno.test("worker: an exit code and the end of stderr reach the event", async () => {
  await using world = await WorkerWorld.make();
  const noise = "x".repeat(2000);
  const worker = await world.script(
    `printf '%s\\n' '${noise}é' >&2; printf '%s\\n' 'AUTHFAIL-marker' >&2; exit 7`,
  );
  await worker.ended;
  const [event] = await world.events("agent_exited");
  assertEquals([event?.data.reason, event?.data.exit_code], [
    "child_exited",
    7,
  ]);
  assertStringIncludes(String(event?.data.stderr_tail), "AUTHFAIL-marker");
  assertEquals(await world.events("event_payload_too_large"), []);
});

Deno.test("worker: the claim is taken over from the starter, is ours while we run, and is released last", async () => {
  await using world = await WorkerWorld.make();
  const root = Deno.env.get("FNO_CLAIMS_ROOT");
  Deno.env.set("FNO_CLAIMS_ROOT", world.root);
  try {
    const claim = { sessionUuid: "uuid-re", holder: "stream:w1" };
    await acquireClaim("session:uuid-re", "stream:w1", { pid: 999_999 });
    const worker = await world.script(FAKE_EMITTER, { claim });
    const held = await readClaim("session:uuid-re");
    assertEquals([held?.pid, held?.holder], [Deno.pid, "stream:w1"]);
    await worker.end();
    assertEquals(await readClaim("session:uuid-re"), undefined);

    await assertRejects(
      () => world.argv(["/nonexistent/agent"], { claim }),
      Deno.errors.NotFound,
    );
    assertEquals(await readClaim("session:uuid-re"), undefined);
    await assertRejects(
      () => Deno.lstat(worker.socketPath),
      Deno.errors.NotFound,
    );

    await acquireClaim("session:uuid-re", "somebody else", { pid: Deno.pid });
    const refused = await assertRejects(
      () => world.script(FAKE_EMITTER, { claim }),
      Deno.errors.Busy,
    );
    assertStringIncludes(refused.message, "somebody else");
    assertEquals((await readClaim("session:uuid-re"))?.holder, "somebody else");
    await releaseClaim("session:uuid-re", "somebody else");
  } finally {
    if (root === undefined) Deno.env.delete("FNO_CLAIMS_ROOT");
    else Deno.env.set("FNO_CLAIMS_ROOT", root);
  }
});

Deno.test("worker: an empty argv is refused before anything is made", async () => {
  await using world = await WorkerWorld.make();
  await assertRejects(() => world.argv([]), TypeError, "no argv");
  await assertRejects(
    () => Deno.stat(`${world.home.root}/w1/state.json`),
    Deno.errors.NotFound,
  );
});

Deno.test("worker: the wire answers as the seed's does", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  using client = await SeedClient.connect(worker.socketPath);
  assertEquals(
    ((await Deno.lstat(worker.socketPath)).mode ?? 0) & 0o777,
    0o600,
  );
  assertEquals(((await Deno.stat(world.home.root)).mode ?? 0) & 0o777, 0o700);
  const status = await client.call("stream.status");
  assertEquals([status.child_pid, status.child_alive, status.exit_code], [
    worker.session.driver.status().pid,
    true,
    null,
  ]);
  const code = async (method: string, params?: unknown) =>
    (await client.request(method, params)).error;
  assertEquals(await code("stream.nope"), {
    code: "unknown_method",
    message: "unknown stream method: stream.nope",
  });
  assertEquals(await code("stream.write_turn", { text: 7 }), {
    code: "invalid_params",
    message: "missing `text` (string)",
  });
  assertEquals(await code("stream.write_turn"), {
    code: "invalid_params",
    message: "missing `text` (string)",
  });
  assertNotEquals(
    (await client.call("stream.write_turn", { text: "" })).written,
    0,
  );
  const { cursor } = await client.framesUntil("result");
  for (const odd of [-1, 1.5, "3", null, [], {}, true]) {
    const read = await client.call("stream.read_frames", { cursor: odd });
    assert(Array.isArray(read.frames));
    assertEquals(
      [read.frames.length, read.next],
      [cursor, cursor],
      JSON.stringify(odd),
    );
  }
  const far =
    '{"id":18446744073709551615,"method":"stream.read_frames","params":{"cursor":18446744073709551615}}';
  const message = encodeMessage(far);
  // In pieces with a pause of more than the seed's read timeout between them.
  await client.bytes(message.subarray(0, 2));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await client.bytes(message.subarray(2, 30));
  await client.bytes(message.subarray(30));
  const body = await client.body();
  assertEquals(
    body,
    `{"id":18446744073709551615,"result":{"frames":[],"next":${cursor},"gap":false,"child_alive":true}}`,
  );
});
