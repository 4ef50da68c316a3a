/** What goes wrong around one worker in this process: its agent, its files, its place. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  AgentStartError,
  argvDriver,
  connect,
  parseFrame,
  readRegistry,
  StreamJsonDriver,
} from "@bulkhead/worker";
import { eventually } from "./support/eventually.ts";
import { alive } from "./support/processes.ts";
import {
  FAKE_EMITTER,
  INIT,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

function gone(pid: number): Promise<void> {
  return eventually(`the end of process ${pid}`, () => !alive(pid));
}

/** The process id that an agent writes into a file. */
async function pidIn(file: string): Promise<number> {
  let text = "";
  await eventually(`a line in ${file}`, async () => {
    text = await Deno.readTextFile(file).catch(() => "");
    return text.endsWith("\n");
  });
  return Number(text);
}

Deno.test("worker: an agent whose grandchild holds its output has ended all the same, and the grandchild too", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/pid`;
  const worker = await world.script(
    `${INIT}; setsid sh -c 'echo $$ > "${file}"; exec sleep 300' & 
    while [ ! -s '${file}' ]; do sleep 0.01; done; exit 3`,
  );
  const end = await worker.ended;
  assertEquals([end.reason, end.agent.code], ["child_exited", 3]);
  await gone(await pidIn(file));
});

Deno.test("worker: an agent that closes its output and lives on is ended", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.argv([
    "bash",
    "-c",
    `${INIT}; exec >&- 2>&-; sleep 300`,
  ]);
  const pid = worker.session.driver.status().pid;
  assertEquals((await worker.ended).reason, "child_exited");
  assert(pid !== null);
  await gone(pid);
});

Deno.test("worker: an agent that takes nothing in any more is ended, and its turns are lost", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(`exec <&-; ${INIT}; sleep 300`);
  using client = await connect(worker.socketPath);
  await client.readFrames(0, { waitMs: 60_000 });
  const pid = worker.session.driver.status().pid;
  const sent = await client.writeTurn("nobody reads this");
  const turn = await client.turn(sent.turn ?? "", 60_000);
  assertEquals(turn.phase === "done" && turn.outcome, "lost");
  assertEquals((await worker.ended).reason, "child_exited");
  assert(pid !== null);
  await gone(pid);
});

Deno.test("worker: an agent that ignores EOF and TERM is killed, with what it has started", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/pid`;
  const script =
    `trap '' TERM; ${INIT}; setsid sh -c 'trap "" TERM; echo $$ > "${file}"; while :; do sleep 1; done' &
    while :; do sleep 1; done`;
  const driver = argvDriver(["bash", "-c", script]);
  const worker = await world.argv([], { driver });
  const grandchild = await pidIn(file);
  const pid = driver.status().pid;
  // The worker's own waits are for real agents; here they are cut short.
  const end = await driver.close({ eofMs: 50, termMs: 50 });
  assertEquals([end.by, end.signal], ["kill", "SIGKILL"]);
  assertEquals((await worker.ended).reason, "child_exited");
  assert(pid !== null);
  await gone(pid);
  await gone(grandchild);
});

Deno.test("worker: a killed agent loses its turn and withdraws its asks", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(
    `${INIT}; read line; echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Write","input":{}}}'; cat >/dev/null`,
    { asks: "wait" },
  );
  const sent = await worker.send("go");
  for await (const { frame } of worker.frames()) {
    if (frame.kind === "control_request") break;
  }
  assertEquals([worker.asks.length, worker.state], [1, "requires_action"]);
  const pid = worker.session.driver.status().pid;
  assert(pid !== null);
  Deno.kill(pid, "SIGKILL");
  const end = await worker.ended;
  assertEquals([end.reason, end.agent.code, end.agent.signal], [
    "child_exited",
    null,
    "SIGKILL",
  ]);
  assertEquals([worker.asks.length, worker.state], [0, "dead"]);
  assertEquals((await worker.outcome(sent.turn)).outcome, "lost");
  assertEquals(
    (await world.events("agent_ask_settled")).map((event) => event.data.end),
    ["withdrawn"],
  );
  assertEquals((await world.events("agent_exited"))[0]?.data.exit_code, null);
  await assertRejects(() => worker.send("more"));
});

Deno.test("worker: an agent killed in the middle of a line, or gone without its end, loses no line before it", async () => {
  const half = '{"type":"result","subtype":"succ';
  const whole = '{"type":"result","subtype":"success","result":"said"}';
  for (
    const [last, kind, outcome] of [
      [half, "malformed", "lost"],
      [whole, "result", "completed"],
    ] as const
  ) {
    for (const end of ["exit 0", "kill -9 $$"]) {
      await using world = await WorkerWorld.make();
      const worker = await world.script(
        `${INIT}; read line; echo '{"type":"assistant"}'; printf '%s' '${last}'; ${end}`,
      );
      const { turn } = await worker.send("go");
      assertEquals((await worker.outcome(turn)).outcome, outcome, end);
      assertEquals((await worker.ended).reason, "child_exited");
      assertEquals(
        worker.session.log.since(0).entries.map((
          { frame, raw },
        ) => [frame.kind, frame.kind === "system" ? "" : raw]),
        [
          ["system", ""],
          ["assistant", '{"type":"assistant"}'],
          [kind, last],
        ],
      );
    }
  }
});

Deno.test("worker: an agent that is killed while it is being ended leaves an orderly end", async () => {
  await using world = await WorkerWorld.make();
  await world.row();
  const file = `${world.root}/pid`;
  const worker = await world.script(
    `${INIT}; cat >/dev/null; echo $$ > '${file}'; while :; do sleep 1; done`,
  );
  const ending = worker.end();
  const pid = await pidIn(file);
  Deno.kill(pid, "SIGKILL");
  const end = await ending;
  assertEquals([end.reason, end.agent.signal], ["shutdown", "SIGKILL"]);
  assertEquals((await world.state()).status, "exited");
  assertEquals(
    (await readRegistry(world.home)).rows.map((row) => row.status),
    ["exited"],
  );
  await gone(pid);
});

Deno.test("worker: a flood on stderr neither blocks the agent nor grows us", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(
    `head -c 20000000 /dev/zero | tr '\\0' 'é' >&2; echo END-OF-FLOOD >&2; ${INIT}; exit 1`,
  );
  const end = await worker.ended;
  assertStringIncludes(end.agent.stderrTail, "END-OF-FLOOD");
  assert(new TextEncoder().encode(end.agent.stderrTail).length <= 8192 * 3);
  assertEquals(worker.session.log.end, 1);
});

Deno.test("worker: a line without end is a stub, and the next line is read", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(
    `head -c 70000000 /dev/zero | tr '\\0' 'x'; echo; ${INIT}; cat > /dev/null`,
  );
  using client = await SeedClient.connect(worker.socketPath);
  const { frames } = await client.framesUntil("system");
  assertEquals([
    frames[0]?.kind,
    frames[0]?.size,
    String(frames[0]?.head).length,
  ], ["malformed", 70_000_000, 512]);
  assert(worker.session.log.bytes < 1_000_000);
});

Deno.test("worker: a question too long to be read is denied, so that nobody waits for ever", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/answers`;
  const long = `head -c 68000000 /dev/zero | tr '\\0' x`;
  const ask = (id: string, request: string) =>
    `printf '%s' '{"type":"control_request","request_id":"${id}","request":{${request}"x":"'; ${long}; echo '"}}'; read -r answer; echo "$answer" >> '${file}'`;
  await using worker = await world.script(
    `${ask("a", '"subtype":"can_use_tool","tool_name":"Write",')}
    ${ask("b", '"subtype":"hook_callback",')}
    ${INIT}; cat >/dev/null`,
    { deciders: [{ name: "t", decide: () => ({ decision: "allow" }) }] },
  );
  for await (const { frame } of worker.frames()) {
    if (frame.kind === "system") break;
  }
  const [one, two] = (await Deno.readTextFile(file)).trim().split("\n")
    .map((line) => JSON.parse(line).response);
  assertEquals([one.request_id, one.response.behavior], ["a", "deny"]);
  assertEquals([
    two.request_id,
    two.response.hookSpecificOutput.permissionDecision,
  ], ["b", "deny"]);
});

Deno.test("worker: no line is lost, joined or altered, whatever its bytes are", async () => {
  await using world = await WorkerWorld.make();
  const text = new TextEncoder();
  const lines: (string | Uint8Array)[] = [
    '\ufeff{"type":"system","subtype":"after a mark"}',
    '{"type":"x1"}\r',
    "",
    "\r",
    " \t ",
    "Attempting AWS auth refresh",
    '{"type":"x2"}{"type":"x3"}',
    '{"type":"x4","u":"\u2028\u2029\u0085\u000b"}',
    '\u00a0{"type":"x5"}\u3000',
    '{"type":"x6","n":9007199254740993,"e":1e999,"z":-0.0}',
    '{"type":"x7","type":"assistant","message":{"content":"last wins"}}',
    '{"type":"assistant","message":{"content":[null,{"type":"text","text":null},{"type":"text","text":"a\\ud83d"}]}}',
    '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":null,"content":null}]},"uuid":null}',
    '{"type":null}',
    '{"type":"result","result":{"a":1},"is_error":"no","errors":null,"usage":[]}',
    '{"__proto__":{"type":"result"},"type":"x8","constructor":1}',
    `{"type":"x9","d":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
    new Uint8Array([
      ...text.encode('{"type":"y1","b":"'),
      0xff,
      0xc3,
      0x28,
      0xed,
      0xa0,
      0x80,
      ...text.encode('"}'),
    ]),
    new Uint8Array([0, 1, 2, 0xfe]),
    `{"type":"y2","long":"${"漢".repeat(300_000)}"}`,
    '{"type":"stream_event","event":{"delta":{"text":"\\udc00x"}}}',
    '{"type":"result","subtype":"success"}',
  ];
  const bytes = lines.map((line) =>
    typeof line === "string" ? text.encode(line) : line
  );
  const file = `${world.root}/lines`;
  await Deno.writeFile(
    file,
    new Uint8Array(bytes.flatMap((line) => [...line, 10])),
  );
  await using worker = await world.script(`cat '${file}'; cat >/dev/null`);
  using client = await connect(worker.socketPath);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const expected = bytes.map((line) => {
    const raw = decoder.decode(line);
    return { ...parseFrame(raw), raw };
  });
  while ((await client.status()).next < lines.length) {
    await client.readFrames(lines.length - 1, { waitMs: 1000 });
  }
  // Live, and once more from the kept bytes.
  for (let round = 0; round < 2; round++) {
    const { frames } = await client.readFrames(0, { raw: true });
    assertEquals(frames.length, lines.length);
    for (const [at, frame] of frames.entries()) {
      const { size: _size, head: _head, ...rest } = Object(frame);
      assertEquals(rest, expected[at], `line ${at + 1}`);
    }
  }
});

Deno.test("worker: what a tool call may hold cannot take it down", async () => {
  await using world = await WorkerWorld.make();
  const deep = "[".repeat(150_000) + "]".repeat(150_000);
  const file = `${world.root}/deep.jsonl`;
  const line =
    `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"mcp__x__y","input":${deep}}}`;
  await Deno.writeTextFile(
    file,
    `${line}\n{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"x","input":${deep}}]}}\n`,
  );
  await using worker = await world.script(
    `cat '${file}'; read answer; echo "$answer"; echo '{"type":"result"}'; cat >/dev/null`,
    {
      rules: { allow: ["mcp__x"] },
    },
  );
  using client = await SeedClient.connect(worker.socketPath);
  const { frames } = await client.framesUntil("result");
  assertEquals(frames.length, 4);
});

Deno.test("worker: a question with arguments beyond measure is still shown and answered", async () => {
  await using world = await WorkerWorld.make();
  const deep = "[".repeat(150_000) + "]".repeat(150_000);
  const long = JSON.stringify({ content: "x".repeat(20_000_000) });
  const file = `${world.root}/asks.jsonl`;
  const ask = (id: string, input: string) =>
    `{"type":"control_request","request_id":"${id}","request":{"subtype":"can_use_tool","tool_name":"Write","input":${input}}}`;
  await Deno.writeTextFile(
    file,
    `${ask("deep", deep)}\n${ask("long", long)}\n`,
  );
  await using worker = await world.script(
    `read go; cat '${file}'; cat >/dev/null`,
    { asks: "wait", deciders: [] },
  );
  using client = await connect(worker.socketPath);
  const seen = (async () => {
    for await (const event of client.watch()) {
      if (event.type === "asks" && event.asks.length === 2) return event.asks;
    }
    return [];
  })();
  await client.writeTurn("a\u2028b\u2029c");
  assertEquals((await seen).map((open) => open.id), ["deep", "long"]);
  const listed = await client.asks();
  assertEquals(listed.map((open) => open.id), ["deep", "long"]);
  assert(JSON.stringify(listed).length < 1_000_000);
  assertEquals(await client.answerAsk("deep", { decision: "deny" }), true);
  assertEquals(await client.answerAsk("long", { decision: "allow" }), true);
});

Deno.test("worker: a turn is one line for every reader of lines", async () => {
  await using world = await WorkerWorld.make();
  const file = `${world.root}/line`;
  await using worker = await world.script(
    `read -r line; printf '%s' "$line" > '${file}'; ${INIT}; cat >/dev/null`,
  );
  using client = await SeedClient.connect(worker.socketPath);
  await client.call("stream.write_turn", { text: "a\u2028b\u2029c\nd\u0085" });
  await client.framesUntil("system");
  const line = await Deno.readTextFile(file);
  assert(!/[\u2028\u2029\n]/.test(line));
  assertEquals(
    JSON.parse(line).message.content[0].text,
    "a\u2028b\u2029c\nd\u0085",
  );
});

Deno.test("worker: a file or a dead socket in its place gives way", async () => {
  await using world = await WorkerWorld.make();
  await Deno.mkdir(`${world.home.root}/w1`, { recursive: true });
  await Deno.writeTextFile(`${world.home.root}/w1/worker.sock`, "a file");
  const first = await world.script(FAKE_EMITTER);
  using client = await connect(first.socketPath);
  await client.ping();
  await first.end();
  const dead = Deno.listen({
    transport: "unix",
    path: `${world.home.root}/w1/x.sock`,
  });
  await Deno.rename(`${world.home.root}/w1/x.sock`, first.socketPath);
  dead.close();
  await using second = await world.script(FAKE_EMITTER);
  using again = await connect(second.socketPath);
  await again.ping();
});

Deno.test("worker: a second one of the same name is refused while the first runs, and leaves it alone", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  const refused = await assertRejects(
    () => world.script(FAKE_EMITTER),
    Deno.errors.Busy,
  );
  assertStringIncludes(refused.message, '"w1"');
  using client = await connect(worker.socketPath);
  await client.ping();
});

Deno.test("worker: an end does not remove a socket that is no longer its own", async () => {
  await using world = await WorkerWorld.make();
  const worker = await world.script(FAKE_EMITTER);
  const other = Deno.listen({
    transport: "unix",
    path: `${world.root}/other.sock`,
  });
  await Deno.rename(`${world.root}/other.sock`, worker.socketPath);
  await worker.end();
  assert((await Deno.lstat(worker.socketPath)).isSocket);
  const connection = await Deno.connect({
    transport: "unix",
    path: worker.socketPath,
  });
  connection.close();
  other.close();
});

Deno.test("worker: a socket path that is too long is refused with its length before anything starts", async () => {
  await using world = await WorkerWorld.make();
  const home = `${world.root}/${"d".repeat(100)}`;
  const error = await assertRejects(
    () => world.script(FAKE_EMITTER, { home }),
    RangeError,
  );
  assertStringIncludes(error.message, "limit is");
  await assertRejects(() => Deno.stat(home), Deno.errors.NotFound);
});

Deno.test("worker: a home that cannot be made or written is an error and leaves no agent", async () => {
  await using world = await WorkerWorld.make();
  await Deno.writeTextFile(`${world.root}/file`, "");
  const mark = `sleep ${300 + Math.floor(Math.random() * 1e6)}`;
  await assertRejects(() =>
    world.script(mark, { home: `${world.root}/file/w` })
  );
  await Deno.mkdir(`${world.home.root}/w1/state.json`, { recursive: true });
  await assertRejects(() => world.script(mark));
  const ps = await new Deno.Command("ps", { args: ["-eo", "args"] }).output();
  assert(!new TextDecoder().decode(ps.stdout).includes(mark));
});

Deno.test("worker: a home that vanishes while it runs does not stop the session, and its end is clean", async () => {
  await using world = await WorkerWorld.make();
  const log: string[] = [];
  const worker = await world.script(FAKE_EMITTER, {
    log: (line) => log.push(line),
  });
  await Deno.remove(world.home.root, { recursive: true });
  await Deno.writeTextFile(world.home.root, "a file now");
  assertEquals((await worker.ask("x")).outcome, "completed");
  assertEquals((await worker.end()).reason, "shutdown");
  assert(log.some((line) => line.startsWith("Cannot")));
});

Deno.test("worker: a broken or a newer registry is left as it is", async () => {
  await using world = await WorkerWorld.make();
  for (const text of ["{ broken", '{"schema_version":99,"agents":[]}']) {
    await Deno.mkdir(world.home.root, { recursive: true });
    await Deno.writeTextFile(world.home.registry, text);
    const log: string[] = [];
    const worker = await world.script(FAKE_EMITTER, {
      log: (line) => log.push(line),
      name: "demo",
    });
    assertEquals((await worker.end()).reason, "shutdown");
    assertEquals(await Deno.readTextFile(world.home.registry), text);
    assert(log.some((line) => line.includes("registry")), log.join("\n"));
  }
});

Deno.test("worker: a program or directory that is not there is an error that leaves nothing", async () => {
  await using world = await WorkerWorld.make();
  await assertRejects(
    () => world.argv(["/nonexistent/agent"]),
    Deno.errors.NotFound,
  );
  await assertRejects(
    () => world.script(FAKE_EMITTER, { cwd: `${world.root}/none` }),
    Deno.errors.NotFound,
  );
  assertEquals((await readRegistry(world.home)).rows, []);
  await assertRejects(
    () => Deno.lstat(`${world.home.root}/w1/worker.sock`),
    Deno.errors.NotFound,
  );
  await assertRejects(
    () => Deno.lstat(`${world.home.root}/w1/state.json`),
    Deno.errors.NotFound,
  );
});

Deno.test("worker: an agent that does not confirm its gate gets no turn", async () => {
  await using world = await WorkerWorld.make();
  const driver = (script: string, readyMs = 60_000) =>
    new StreamJsonDriver({
      name: "mute",
      argv: () => ["sh", "-c", script],
      readyMs,
    });
  const silent = await assertRejects(
    () => world.argv([], { driver: driver("sleep 60", 100) }),
    AgentStartError,
  );
  assertStringIncludes(silent.message, "initialize");
  const dead = await assertRejects(
    () => world.argv([], { driver: driver("echo no login >&2; exit 1") }),
    AgentStartError,
  );
  assertStringIncludes(dead.message, "no login");
  assertEquals(dead.end.code, 1);
  const refusing =
    `read line; id=$(printf '%s' "$line" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/');
    printf '{"type":"control_response","response":{"subtype":"error","request_id":"%s","error":"unsupported"}}\\n' "$id"; cat >/dev/null`;
  const refused = await assertRejects(
    () => world.argv([], { driver: driver(refusing) }),
    AgentStartError,
  );
  assertStringIncludes(refused.message, "unsupported");
});

Deno.test("worker: a session that dies at once each time is braked, and --force lifts it", async () => {
  await using world = await WorkerWorld.make();
  const dying = { driver: undefined };
  const start = (force = false) =>
    world.argv(["sh", "-c", "echo broken session >&2; exit 1"], {
      ...dying,
      driver: argvDriver(["sh", "-c", "echo broken session >&2; exit 1"]),
      force,
    });
  await (await start()).ended;
  assertEquals((await world.state()).restart_count, 1);
  // As if four more had died before.
  const state = await world.state();
  await Deno.writeTextFile(
    `${world.home.root}/w1/state.json`,
    JSON.stringify({ ...state, restart_count: 5 }),
  );
  const braked = await assertRejects(() => start(), Deno.errors.Busy);
  assertStringIncludes(braked.message, "broken session");
  assertEquals((await world.state()).status, "permanent_dead");
  await (await start(true)).ended;
  await using healthy = await world.script(FAKE_EMITTER, { force: true });
  await healthy.ask("x");
  await healthy.end();
  assertEquals((await world.state()).restart_count, 0);
});

Deno.test("worker: no timer runs while a session rests, but for the one of its grace", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER, { idleGraceMs: 0 });
  await worker.ask("x");
  const real = globalThis.setTimeout;
  let armed = 0;
  globalThis.setTimeout = Object.assign((...args: Parameters<typeof real>) => {
    armed++;
    return real(...args);
  }, real);
  try {
    await new Promise((resolve) => real(resolve, 300));
  } finally {
    globalThis.setTimeout = real;
  }
  assertEquals(armed, 0);
});

Deno.test("worker: a turn that says nothing for too long is recorded once", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(
    `${INIT}; read line; echo '{"type":"assistant"}'; cat >/dev/null`,
    { stallMs: 60 },
  );
  const stalled = new Promise<void>((resolve) => {
    worker.session.watch(() => worker.session.stalled && resolve());
  });
  await worker.send("x");
  await stalled;
  assertEquals(worker.state, "running");
  await worker.end();
  assertEquals((await world.events("agent_stalled")).length, 1);
});
