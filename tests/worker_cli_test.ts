/** The command line of workers: the seed's form, and the verbs against a running worker. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import type { CommandIo } from "@bulkhead/sandbox/command";
import { connect, scriptedDriver } from "@bulkhead/worker";
import { workerCommand } from "@bulkhead/worker/cli";
import { launch } from "../worker/cli/launch.ts";
import { eventually } from "./support/eventually.ts";
import { exists } from "./support/processes.ts";
import {
  FAKE_EMITTER,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function say(args: string[], input = "", canAsk = false): Promise<Said> {
  let out = "";
  let err = "";
  const io: CommandIo = {
    stdin: new Blob([input]).stream(),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    isTerminal: false,
    canAsk,
    color: false,
  };
  const code = await workerCommand(args, io);
  return { code, out, err };
}

/** A home as the verbs see it: the workers lie in `workers` below it. */
async function served(script: string, options = {}) {
  const world = await WorkerWorld.make();
  const worker = await world.script(script, {
    home: `${world.root}/workers`,
    shortId: "demo",
    name: "a demo",
    ...options,
  });
  const verb = (word: string, ...rest: string[]) =>
    say([word, ...rest, "--home", world.root]);
  return {
    world,
    worker,
    verb,
    async [Symbol.asyncDispose]() {
      await worker.end();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Waits until somebody watches: that takes two connections, and asking takes one. */
async function watched(
  verb: (word: string, ...rest: string[]) => Promise<Said>,
): Promise<void> {
  await eventually("somebody watches", async () => {
    const { out } = await verb("status", "demo", "--json");
    return JSON.parse(out).clients >= 3;
  });
}

const VERBS = [
  "list",
  "start",
  "ask",
  "watch",
  "answer",
  "interrupt",
  "status",
  "stop",
  "reap",
  "ui",
];

Deno.test("worker: without words it shows its help and means 2", async () => {
  assertEquals((await say([])).code, 2);
  const help = await say(["--help"]);
  assertEquals(help.code, 0);
  assertStringIncludes(help.out, "--stream");
  for (const word of VERBS) {
    assertStringIncludes(help.out, word);
    assertStringIncludes((await say([word, "--help"])).out, `worker ${word}`);
  }
});

Deno.test("worker: a command line that cannot be understood means 2 and says why", async () => {
  const missing = ["--stream", "--short-id", "x", "--home", "/tmp/nowhere-bh"];
  const cases: [string[], string][] = [
    [["--short-id", "x", "--home", "/h", "--", "true"], "--stream"],
    [["--stream", "--home", "/h", "--", "true"], "--short-id"],
    [["--stream", "--short-id", "x", "--", "true"], "--home"],
    [missing, "argv"],
    [[...missing, "--"], "argv"],
    [[...missing, "--session-uuid", "u", "--", "true"], "together"],
    [[...missing, "--holder", "h", "--", "true"], "together"],
    [[...missing, "--nonsense", "--", "true"], "--nonsense"],
    [[...missing, "operand", "--", "true"], "operand"],
    [[...missing, "--agent", "nobody"], "nobody"],
    [[...missing, "--asks", "perhaps", "--", "true"], "perhaps"],
    [[...missing, "--idle-grace-ms", "soon", "--", "true"], "idle-grace-ms"],
    [["start", "x", "--allow", ""], "--allow is empty"],
    [["start", "x", "--model", ""], "--model is empty"],
    [["lst"], "list"],
    [["ask"], "operands"],
    [["status", "a", "b"], "operands"],
  ];
  for (const [args, word] of cases) {
    const said = await say(args);
    assertEquals([said.code, said.out], [2, ""], args.join(" "));
    assertStringIncludes(said.err, word);
    assertEquals(said.err.trim().split("\n").length, 1);
  }
  const json = await say(["lst", "--json"]);
  assertEquals([json.code, JSON.parse(json.out).error.code], [
    2,
    "usage_error",
  ]);
});

Deno.test("worker: a flag with a value that cannot be means 2 and one line with what it takes", async () => {
  const home = ["--home", "/tmp/nowhere-bh"];
  const stream = ["--stream", "--short-id", "x", ...home];
  for (
    const [args, ...parts] of [
      [["ui", "--port", "99999"], "99999", "at most 65535", "--port 0"],
      [["ui", "--port", "x"], '"x"', "whole number"],
      [["ui", "--port", "-1"], '"-1"', "whole number"],
      [["start", "x", "--asks", "maybe"], '"maybe"', "attached, wait or deny"],
      [["start", "x", "--agent", "nope"], '"nope"', "claude, codex"],
      [["start", "x", "--agent", "acp:"], '"acp:"', "acp:COMMAND"],
      [["start", "x", "--agent", "acp"], "argv is missing"],
      [["start", "x", "--idle-grace-ms", "soon"], '"soon"', "whole number"],
      [["start", "x", "--stall-ms", "1.5"], '"1.5"', "whole number"],
      [["start", "x", "--resume", "a", "--session-id", "b"], "or --session-id"],
      [["start", " "], "the name is empty"],
      [["reap", "--idle-ms", "x"], '"x"', "whole number"],
      [["watch", "x", "--cursor", "-1"], '"-1"', "whole number"],
      [[...stream, "--agent", "nope"], '"nope"', "claude, codex"],
      [[...stream, "--agent", "claude", "--asks", "no"], '"no"'],
      [
        ["--stream", "--short-id", "../x", ...home, "--agent", "scripted"],
        '"../x"',
        "letters, digits",
      ],
    ] as [string[], ...string[]][]
  ) {
    const { code, err, out } = await say(args);
    assertEquals([code, out], [2, ""], `${args.join(" ")}: ${err}`);
    for (const part of parts) assertStringIncludes(err, part);
    assertEquals(err.trim().split("\n").length, 1, err);
  }
  const { code, out } = await say(["ui", "--port", "99999", "--json"]);
  assertEquals([code, JSON.parse(out).ok], [2, false]);
});

Deno.test("worker: the seed's form serves the seed's client and ends with 0", async () => {
  await using world = await WorkerWorld.make();
  const running = say([
    "--stream",
    "--short-id",
    "sw1",
    "--home",
    world.home.root,
    "--cwd",
    world.cwd,
    "--",
    "bash",
    "-c",
    FAKE_EMITTER,
  ]);
  const socket = `${world.home.root}/sw1/worker.sock`;
  await eventually("the socket", () => exists(socket));
  using client = await SeedClient.connect(socket);
  assertEquals(await client.call("stream.ping"), { pong: true });
  await client.call("stream.write_turn", { text: "hi" });
  const { frames } = await client.framesUntil("result");
  assertEquals(frames.map((frame) => frame.kind), [
    "system",
    "user_echo",
    "stream_event",
    "assistant",
    "result",
  ]);
  assertEquals(await client.call("stream.shutdown"), { shutdown: true });
  assertEquals((await running).code, 0);
});

Deno.test("worker: an agent of the seed's form sees who it is, and no session we may run in", async () => {
  await using world = await WorkerWorld.make();
  Deno.env.set("CLAUDECODE", "1");
  Deno.env.set("CLAUDE_CODE_ENTRYPOINT", "cli");
  Deno.env.set("NODE_OPTIONS", "--require /x");
  Deno.env.set("ANTHROPIC_API_KEY", "kept");
  try {
    const file = `${world.root}/env`;
    const said = await say([
      "--stream",
      "--short-id",
      "sw1",
      "--home",
      world.home.root,
      "--cwd",
      world.cwd,
      "--",
      "sh",
      "-c",
      `env > '${file}'; pwd > '${file}.cwd'`,
    ]);
    assertEquals(said.code, 0);
    const env = await Deno.readTextFile(file);
    for (
      const line of [
        "FNO_AGENTS_SELF_SHORT_ID=sw1",
        `FNO_AGENTS_HOME=${world.home.root}`,
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
        "ANTHROPIC_API_KEY=kept",
      ]
    ) {
      assert(env.includes(`${line}\n`), line);
    }
    for (
      const name of ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "NODE_OPTIONS"]
    ) assert(!env.includes(`\n${name}=`), name);
    assertEquals((await Deno.readTextFile(`${file}.cwd`)).trim(), world.cwd);
  } finally {
    for (
      const name of [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "NODE_OPTIONS",
        "ANTHROPIC_API_KEY",
      ]
    ) Deno.env.delete(name);
  }
});

Deno.test("worker: a program that is not there means 1 and one line", async () => {
  await using world = await WorkerWorld.make();
  const said = await say([
    "--stream",
    "--short-id",
    "x",
    "--home",
    world.home.root,
    "--cwd",
    world.cwd,
    "--",
    "/nonexistent/agent",
  ]);
  assertEquals([said.code, said.out], [1, ""]);
  assertStringIncludes(said.err, "/nonexistent/agent");
});

Deno.test("worker: the version in words and as an object", async () => {
  for (const word of ["version", "-V", "--version"]) {
    const said = await say([word]);
    assertEquals(said.code, 0);
    assertStringIncludes(said.out, "@bulkhead/worker");
  }
  const json = JSON.parse((await say(["version", "--json"])).out);
  assertEquals([json.schema, json.ok, json.name], [
    1,
    true,
    "@bulkhead/worker",
  ]);
});

Deno.test("worker: ask, status, list and stop by id and by name", async () => {
  await using place = await served(FAKE_EMITTER);
  const { verb } = place;
  assertEquals(await verb("ask", "demo", "hello", "there"), {
    code: 0,
    out: "reply-text\n",
    err: "",
  });
  const asked = JSON.parse((await verb("ask", "a demo", "x", "--json")).out);
  assertEquals([asked.ok, asked.outcome, asked.text], [
    true,
    "completed",
    "reply-text",
  ]);
  const queued = JSON.parse(
    (await verb("ask", "demo", "x", "--no-wait", "--json")).out,
  );
  assert(queued.written > 0);
  const status = JSON.parse((await verb("status", "demo", "--json")).out);
  assertEquals([status.agent, status.childAlive], ["argv", true]);
  assertStringIncludes((await verb("status", "demo")).out, "argv");
  const list = JSON.parse((await verb("list", "--json")).out);
  assertEquals(
    list.workers.map((
      worker: { shortId: string; name: string },
    ) => [worker.shortId, worker.name]),
    [["demo", "a demo"]],
  );
  assertStringIncludes((await verb("list")).out, "demo");
  assertEquals((await verb("interrupt", "nobody")).code, 1);
  assertEquals((await verb("answer", "demo")).out, "no open question\n");
  assertStringIncludes((await verb("status", "nobody")).err, "worker list");
  const nobody = JSON.parse((await verb("stop", "nobody", "--json")).out);
  assertEquals(nobody.error.fix, "bulkhead worker list");
  assertEquals(await verb("stop", "demo"), {
    code: 0,
    out: "stopped\n",
    err: "",
  });
  assertEquals((await place.worker.ended).reason, "shutdown");
  const after = JSON.parse((await verb("reap", "--json")).out);
  assertEquals(after.removed, ["demo"]);
  assertEquals(JSON.parse((await verb("list", "--json")).out).workers, []);
});

Deno.test("worker: a home too long for a socket is named, whatever the command", async () => {
  const long = `/tmp/${"x".repeat(200)}`;
  const { code, err } = await say(["stop", "demo", "--home", long]);
  assertEquals(code, 1);
  assertStringIncludes(err, "shorter --home");
  assertEquals(err.trimEnd().split("\n").length, 1);
});

const ASKER = `
printf '%s\\n' '{"type":"system","subtype":"init"}'
while IFS= read -r line; do
  printf '%s\\n' '{"type":"control_request","request_id":"ask-1","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"a\\u001b[2J.txt"}}}'
  IFS= read -r resp
  printf '%s\\n' "$resp"
  printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
done
`;

Deno.test("worker: answer lists open questions and answers one", async () => {
  await using place = await served(ASKER, { asks: "wait" });
  const { verb } = place;
  await verb("ask", "demo", "x", "--no-wait");
  for await (const { frame } of place.worker.frames()) {
    if (frame.kind === "control_request") break;
  }
  const listed = await verb("answer", "demo");
  assertStringIncludes(listed.out, "ask-1");
  assert(!listed.out.includes("\x1b"));
  assertEquals((await verb("answer", "demo", "ask-1", "maybe")).code, 2);
  assertEquals(
    (await verb("answer", "demo", "ask-1", "allow", "--input", "{")).code,
    2,
  );
  const answered = await verb(
    "answer",
    "demo",
    "ask-1",
    "deny",
    "--reason",
    "no",
    "--json",
  );
  assertEquals(JSON.parse(answered.out), {
    schema: 1,
    ok: true,
    answered: true,
  });
  assertEquals((await verb("answer", "demo", "ask-1", "deny")).code, 1);
});

Deno.test("worker: a question of the agent's own is shown as one, and its answer told", async () => {
  const input = {
    questions: [{ question: "Go on?", options: ["yes", "no"] }],
  };
  const asks = [
    { request_id: "own", tool: "AskUserQuestion", input },
    { request_id: "call", tool: "Write", input: { file_path: "a.txt" } },
  ].map(({ request_id, tool, input }) =>
    JSON.stringify({
      type: "control_request",
      request_id,
      request: { subtype: "can_use_tool", tool_name: tool, input },
    })
  );
  await using place = await served(
    `read -r line; echo '${asks.join("'; echo '")}'; cat >/dev/null`,
    { asks: "wait", deciders: [] },
  );
  const { verb, worker } = place;
  await verb("ask", "demo", "x", "--no-wait");
  for await (const _ of worker.frames()) if (worker.asks.length === 2) break;
  assertEquals(
    (await verb("answer", "demo")).out,
    `own  Go on? (1) "yes", 2) "no")  'yes' (or: 'no')\n` +
      `call  Write {"file_path":"a.txt"}  allow (or: deny)\n`,
  );
  assertEquals(
    (await verb("answer", "demo", "own", "2")).out,
    "answered: own\n",
  );
  assertEquals(
    (await verb("answer", "demo", "call", "allow")).out,
    "allow: call\n",
  );
  const watching = verb("watch", "demo");
  // It watches once its second connection is there.
  while (JSON.parse((await verb("status", "demo", "--json")).out).clients < 3) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await worker.end();
  assertStringIncludes(
    (await watching).out,
    `? Go on? (1) "yes", 2) "no")\n`,
  );
});

Deno.test("worker: watch shows a session to its end and answers in place", async () => {
  await using place = await served(ASKER, { asks: "attached" });
  const { world, worker, verb } = place;
  const watching = say(["watch", "demo", "--home", world.root], "y\n", true);
  await watched(verb);
  const outcome = await worker.ask("x");
  assertEquals(outcome.outcome, "completed");
  assertStringIncludes(
    worker.session.log.since(0).entries.map((entry) => entry.raw).join(""),
    '"behavior":"allow"',
  );
  await worker.end();
  const said = await watching;
  assertEquals(said.code, 0);
  assertStringIncludes(said.out, "Allow Write");
  assertStringIncludes(said.out, "ended: shutdown");
  assert(!said.out.includes("\x1b"));
});

Deno.test("worker: watch ends with whoever reads it", async () => {
  await using place = await served(FAKE_EMITTER);
  let lines = 0;
  const io: CommandIo = {
    stdin: new Blob([]).stream(),
    out: () => void lines++,
    err() {},
    isTerminal: false,
    canAsk: false,
    color: false,
    get unread() {
      return lines > 0;
    },
  };
  const home = ["--home", place.world.root];
  assertEquals(await workerCommand(["watch", "demo", ...home], io), 0);
  assertEquals((await place.worker.ask("x")).outcome, "completed");
});

Deno.test("worker: watch --json prints one object a line with its type", async () => {
  await using place = await served(FAKE_EMITTER);
  const { world, worker, verb } = place;
  const watching = say(["watch", "demo", "--home", world.root, "--json"]);
  await watched(verb);
  await worker.ask("x");
  await worker.end();
  const lines = (await watching).out.trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const frames = lines.filter((line) => line.type === "frame");
  assertEquals(frames.map((line) => [line.index, line.frame.kind]), [
    [0, "system"],
    [1, "user_echo"],
    [2, "stream_event"],
    [3, "assistant"],
    [4, "result"],
  ]);
  assertEquals(lines.at(-1), { type: "end", reason: "shutdown" });
});

Deno.test("worker: start puts a worker into the background with the flags it needs, and it outlives its starter", async () => {
  await using world = await WorkerWorld.make();
  const claims = Deno.env.get("FNO_CLAIMS_ROOT");
  Deno.env.set("FNO_CLAIMS_ROOT", world.root);
  try {
    const cli = fromFileUrl(new URL("../worker/cli.ts", import.meta.url));
    const config = fromFileUrl(new URL("../deno.json", import.meta.url));
    const started = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        `--config=${config}`,
        "--no-lock",
        "-A",
        cli,
        "start",
        "my agent",
        "--agent",
        "scripted",
        "--cwd",
        world.cwd,
        "--home",
        world.root,
        "--json",
      ],
    }).output();
    const first = JSON.parse(new TextDecoder().decode(started.stdout));
    assertEquals([first.ok, first.id, first.gate.kind, first.gate.verified], [
      true,
      "myagent",
      "callback",
      true,
    ], new TextDecoder().decode(started.stderr));
    const verb = (...words: string[]) => say([...words, "--home", world.root]);
    assertEquals((await verb("ask", "my agent", "hi")).out, "You said: hi\n");
    assertEquals(
      (await verb("start", "my agent", "--agent", "scripted")).code,
      1,
    );
    assertStringIncludes((await verb("list")).out, "my agent");
    assertEquals((await verb("stop", "my agent")).code, 0);
    const [worker] = JSON.parse((await verb("list", "--json")).out).workers;
    assertEquals([worker.state, worker.sessionId], ["exited", first.session]);
  } finally {
    if (claims === undefined) Deno.env.delete("FNO_CLAIMS_ROOT");
    else Deno.env.set("FNO_CLAIMS_ROOT", claims);
  }
});

Deno.test("worker: an agent that start runs is guarded; --root widens what it may write, --no-guard leaves it to the posture", async () => {
  await using world = await WorkerWorld.make();
  const outside = await Deno.makeTempDir({ dir: world.root });
  const script = `${world.root}/out.json`;
  await Deno.writeTextFile(
    script,
    JSON.stringify({
      schema: 1,
      turns: [{
        steps: [{
          tool: "Write",
          input: { file_path: `${outside}/x`, content: "x" },
        }],
      }],
    }),
  );
  for (
    const [flags, judgedBy, denied] of [
      [[], ["guard", "posture"], /^eval guard: /],
      [["--root", outside], ["guard", "posture"], undefined],
      [["--no-guard"], ["posture"], /outside the session directory/],
    ] as const
  ) {
    const id = `g${flags.join("").length}`;
    const home = world.home.root;
    const serving = say([
      ...["--stream", "--short-id", id, "--home", home, "--cwd", world.cwd],
      ...["--agent", "scripted", "--script", script, "--asks", "deny"],
      ...["--allow", "Write", ...flags],
    ]);
    try {
      const socket = `${home}/${id}/worker.sock`;
      await eventually("the socket is there", () => exists(socket));
      using client = await connect(socket);
      const turn = await client.writeTurn("go");
      let status = await client.turn(turn.turn ?? "", 20_000);
      while (status.phase !== "done") {
        status = await client.turn(turn.turn ?? "", 20_000);
      }
      assertEquals((await client.status()).judgedBy, [...judgedBy]);
      const [call] = status.denied;
      if (denied === undefined) assertEquals(call, undefined);
      else assertMatch(call?.reason ?? "", denied);
    } finally {
      using client = await connect(`${home}/${id}/worker.sock`);
      await client.shutdown();
      await serving;
    }
  }
});

Deno.test("worker: a home that no permission can be given for is told with what to do", async () => {
  await using world = await WorkerWorld.make();
  const said = await say([
    ...["start", "demo", "--agent", "scripted", "--cwd", world.cwd],
    ...["--home", `${world.root}/a,b`],
  ]);
  assertEquals([said.code, said.out], [1, ""]);
  assertStringIncludes(said.err, "use another --home");
  assertEquals(said.err.trim().split("\n").length, 1);
});

Deno.test("worker: a start does not take another worker of its name for its own", async () => {
  await using world = await WorkerWorld.make();
  await using worker = await world.script(FAKE_EMITTER);
  const { message } = await assertRejects(() =>
    launch(
      worker.socketPath,
      [
        ...["--stream", "--short-id", "w1", "--home", world.home.root],
        ...["--cwd", world.cwd, "--", "bash", "-c", FAKE_EMITTER],
      ],
      {
        home: world.home.root,
        cwd: world.cwd,
        agent: "argv",
        fleet: undefined,
      },
    ), Error);
  assertStringIncludes(message, "one of that name runs");
  using client = await SeedClient.connect(worker.socketPath);
  assertEquals((await client.call("stream.status")).worker_pid, Deno.pid);
});

Deno.test("worker: start says in one line how to install an agent that is missing, and leaves nothing", async () => {
  await using world = await WorkerWorld.make();
  const [path, claims] = ["PATH", "FNO_CLAIMS_ROOT"].map((name) =>
    Deno.env.get(name)
  );
  Deno.env.set("FNO_CLAIMS_ROOT", world.root);
  const bare = `${world.root}/bin`;
  await Deno.mkdir(bare);
  Deno.env.set("PATH", bare);
  try {
    const cases = [
      ["claude", "npm install -g @anthropic-ai/claude-code"],
      ["codex", "npm install -g @openai/codex"],
      ["opencode", "npm install -g opencode-ai"],
      ["acp:nobody acp", '"nobody" is not on the PATH'],
    ];
    for (const [agent = "", fix = ""] of cases) {
      const said = await say([
        "start",
        "demo",
        "--agent",
        agent,
        "--cwd",
        world.cwd,
        "--home",
        world.root,
      ]);
      assertEquals([said.code, said.out], [1, ""], agent);
      assertStringIncludes(said.err, fix);
      assertEquals(said.err.trim().split("\n").length, 1, said.err);
    }
    const listed = await say(["list", "--home", world.root, "--json"]);
    for (const worker of JSON.parse(listed.out).workers) {
      assertEquals(
        [worker.pid, worker.agentPid, worker.state],
        [null, null, "exited"],
      );
      assertStringIncludes(worker.problem, "did not come up");
    }
  } finally {
    if (path !== undefined) Deno.env.set("PATH", path);
    if (claims === undefined) Deno.env.delete("FNO_CLAIMS_ROOT");
    else Deno.env.set("FNO_CLAIMS_ROOT", claims);
  }
});

Deno.test("worker: the scripted agent behind the worker: gate, verdicts, tools, interrupt, resume", async () => {
  await using world = await WorkerWorld.make();
  const sessions = `${world.root}/sessions`;
  const script = {
    schema: 1 as const,
    turns: [
      {
        steps: [
          {
            tool: "Write",
            input: { file_path: `${world.cwd}/in.txt`, content: "x" },
          },
          {
            tool: "Write",
            input: { file_path: `${world.root}/out.txt`, content: "x" },
          },
          { tool: "Bash", input: { command: "echo x > shell.txt" } },
          { say: "done" },
        ],
      },
      { steps: [{ say: "slow words ".repeat(50), delayMs: 20 }] },
      { steps: [{ say: "after" }] },
    ],
  };
  const options = { rules: { allow: ["Write"] }, asks: "deny" as const };
  const first = await world.argv([], {
    ...options,
    driver: scriptedDriver({ script, sessions }),
  });
  assertEquals([first.gate.kind, first.gate.verified], ["callback", true]);
  const verdicts: string[] = [];
  first.onVerdict(({ call, verdict }) =>
    verdicts.push(`${call.toolName} ${verdict.decision}`)
  );
  const outcome = await first.ask("go");
  assertEquals([outcome.outcome, outcome.text], ["completed", "done"]);
  assertEquals(outcome.denied.map((call) => call.tool), ["Write", "Bash"]);
  assertEquals(verdicts, ["Write allow", "Write deny", "Bash ask"]);
  const names: string[] = [];
  for await (const entry of Deno.readDir(world.cwd)) names.push(entry.name);
  assertEquals(names, ["in.txt"]);
  const slow = await first.send("slow");
  for await (
    const { frame } of first.frames({ cursor: first.session.log.end })
  ) {
    if (frame.kind === "stream_event" && frame.delta !== null) break;
  }
  await first.interrupt();
  assertEquals((await first.outcome(slow.turn)).outcome, "aborted");
  const session = first.sessionId;
  assert(session !== undefined);
  await first.end();
  await using second = await world.argv([], {
    ...options,
    resume: session,
    driver: scriptedDriver({ script, sessions }),
  });
  const repeated = await second.ask({ text: "slow", uuid: slow.turn });
  assertEquals([repeated.outcome, second.sessionId], ["duplicate", session]);
});
