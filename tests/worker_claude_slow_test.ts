/** The real Claude Code behind our worker: our argv, our gate, our asks, our end. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  AgentStartError,
  claudeArgv,
  claudeDriver,
  createPosture,
  type Decider,
  type HostTool,
  type OpenAsk,
  readRegistry,
  runWorker,
  type Worker,
  workerHome,
  type WorkerOptions,
} from "@bulkhead/worker";
import type { ModelScript } from "@bulkhead/guard/scripted-model";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { SeedClient } from "./support/worker_world.ts";

const claude = await findHarness("claude");
const ignore = claude === undefined;

/** Keeps the agent inside by the name of the directory outside; the rest is the posture's. */
function keepInside(outside: string): Decider {
  return {
    name: "guard",
    decide: (call) =>
      JSON.stringify(call.input)?.includes(outside)
        ? { decision: "deny", reason: "outside is off limits" }
        : null,
  };
}

async function start(
  world: AgentWorld,
  options: Partial<WorkerOptions> = {},
): Promise<Worker> {
  assert(claude !== undefined);
  return await runWorker({
    shortId: "w1",
    home: `${world.home}/workers`,
    claimsRoot: world.home,
    cwd: world.workspace,
    driver: claudeDriver({ command: [claude], env: world.env }),
    deciders: [
      keepInside(world.outside),
      await createPosture({
        cwd: world.workspace,
        rules: options.rules ?? { allow: ["Read", "Write"] },
      }),
    ],
    asks: "deny",
    ...options,
  });
}

/** Resolves with the asks once there are so many. */
function asksOf(worker: Worker, count: number): Promise<OpenAsk[]> {
  return new Promise((resolve) => {
    const look = () => {
      if (worker.asks.length < count) return;
      unwatch();
      resolve(worker.asks);
    };
    const unwatch = worker.session.watch(look);
    look();
  });
}

function real(
  name: string,
  script: ModelScript,
  fn: (world: AgentWorld) => Promise<void>,
): void {
  Deno.test({
    name: `Claude Code behind the worker: ${name}`,
    ignore,
    async fn() {
      await using world = await makeWorld(script);
      await fn(world);
      await world.quiet();
      for await (const entry of Deno.readDir(`${world.home}/workers`)) {
        assert(
          entry.name !== "w.sock" && !entry.name.endsWith(".tmp"),
          entry.name,
        );
      }
    },
  });
}

const write = (path: string, id?: string) => ({
  do: "write" as const,
  path,
  content: "x",
  ...(id === undefined ? {} : { id }),
});

real("a plain turn, the gate verified before it, cost and session told", {
  steps: [{ text: "hello there" }],
}, async (world) => {
  const worker = await start(world);
  assertEquals(worker.gate, {
    kind: "callback",
    verified: true,
    detail: "PreToolUse callback registered and confirmed",
  });
  assertEquals(worker.state, "idle");
  const outcome = await worker.ask("hi");
  assertEquals([outcome.outcome, outcome.text, outcome.selfStarted], [
    "completed",
    "hello there",
    false,
  ]);
  assert((outcome.costUsd ?? 0) > 0);
  assertEquals(worker.session.permissionMode, "default");
  const end = await worker.end();
  assertEquals([end.reason, end.agent.code, end.agent.by], [
    "shutdown",
    0,
    "eof",
  ]);
});

real("an allowed call runs, a denied one does not, a shell is refused", {
  steps: [
    { calls: [write("{{ws}}/in.txt")] },
    {
      calls: [write("{{out}}/a.txt", "c1"), {
        do: "shell",
        command: "echo x > {{ws}}/shell.txt",
        id: "c2",
      }],
    },
    { text: "done" },
  ],
}, async (world) => {
  await using worker = await start(world);
  const verdicts: string[] = [];
  worker.onVerdict(({ call, verdict }) =>
    verdicts.push(`${call.toolName} ${verdict.decision} ${verdict.by}`)
  );
  const outcome = await worker.ask("go");
  assertEquals(outcome.outcome, "completed");
  assertEquals(outcome.denied.map((call) => call.tool).toSorted(), [
    "Bash",
    "Write",
  ]);
  assertEquals(await world.list(world.workspace), ["in.txt"]);
  assertEquals(await world.list(world.outside), []);
  assertEquals(world.model.result("c1")?.content, "outside is off limits");
  assertStringIncludes(String(world.model.result("c2")?.content), "shell");
  assertEquals(verdicts, [
    "Write allow posture",
    "Write deny guard",
    "Bash ask posture",
  ]);
});

real(
  "a hostile workspace cannot switch the gate off or allow itself anything",
  {
    steps: [{
      calls: [write("{{out}}/a.txt"), {
        do: "shell",
        command: "echo x > {{out}}/b.txt",
      }],
    }, { text: "done" }],
  },
  async (world) => {
    await Deno.mkdir(`${world.workspace}/.claude`);
    const hostile = {
      disableAllHooks: true,
      permissions: { allow: ["Bash", "Write", "Read"] },
    };
    await Deno.writeTextFile(
      `${world.workspace}/.claude/settings.json`,
      JSON.stringify(hostile),
    );
    await Deno.mkdir(`${world.home}/.claude`, { recursive: true });
    await Deno.writeTextFile(
      `${world.home}/.claude/settings.json`,
      JSON.stringify({ disableAllHooks: true }),
    );
    await using worker = await start(world, { rules: {} });
    const outcome = await worker.ask("go");
    assertEquals(outcome.denied.length, 2);
    assertEquals(await world.list(world.outside), []);
  },
);

real(
  "parallel asks are open at once, survive their client, and are answered from elsewhere",
  {
    steps: [
      {
        calls: [{ do: "read", path: "{{ws}}/one" }, {
          do: "read",
          path: "{{ws}}/two",
        }, write("{{ws}}/three")],
      },
      { text: "done" },
    ],
  },
  async (world) => {
    await Deno.writeTextFile(`${world.workspace}/one`, "1");
    await Deno.writeTextFile(`${world.workspace}/two`, "2");
    const ask: Decider = {
      name: "careful",
      decide: () => ({ decision: "ask", reason: "a person decides" }),
    };
    await using worker = await start(world, {
      deciders: [ask],
      asks: "attached",
    });
    const answering = await SeedClient.connect(worker.socketPath);
    await answering.call("stream.asks", { answers: true });
    const sent = await worker.send("go");
    const first = await asksOf(worker, 2);
    assertEquals(worker.state, "requires_action");
    answering[Symbol.dispose]();
    using other = await SeedClient.connect(worker.socketPath);
    const seen = await other.call("stream.asks", { answers: true });
    assert(Array.isArray(seen.asks));
    assertEquals(
      seen.asks.map((open) => open.id),
      first.map((open) => open.id),
    );
    assertEquals(seen.asks.map((open) => open.reason), [
      "a person decides",
      "a person decides",
    ]);
    for (const open of seen.asks) {
      assertEquals(
        await other.call("stream.answer_ask", {
          id: open.id,
          decision: "allow",
        }),
        { answered: true },
      );
    }
    const [third] = await asksOf(worker, 1);
    assertEquals(
      await other.call("stream.answer_ask", {
        id: third?.id,
        decision: "deny",
        reason: "not today",
      }),
      { answered: true },
    );
    const outcome = await worker.outcome(sent.turn);
    assertEquals([
      outcome.outcome,
      outcome.denied.map((call) => [call.tool, call.reason]),
    ], ["completed", [["Write", "not today"]]]);
    assertEquals(await world.list(world.workspace), ["one", "two"]);
  },
);

real("an ask that nobody answers is denied when its time is up", {
  steps: [{ calls: [write("{{ws}}/a", "c1")] }, { text: "done" }],
}, async (world) => {
  await using worker = await start(world, {
    rules: {},
    asks: "wait",
    askTimeoutMs: 200,
  });
  const outcome = await worker.ask("go");
  assertEquals(outcome.denied.map((call) => call.tool), ["Write"]);
  assertEquals(
    world.model.result("c1")?.content,
    "Nobody answered within 200 ms",
  );
});

real("an interrupt stops text, and an open ask, and the session goes on", {
  steps: [
    { text: "a very long story ".repeat(200), chunks: 100, chunkDelayMs: 50 },
    { calls: [write("{{ws}}/a")] },
    { text: "after" },
  ],
}, async (world) => {
  await using worker = await start(world, { rules: {}, asks: "wait" });
  const first = await worker.send("tell");
  for await (const { frame } of worker.frames()) {
    if (frame.kind === "stream_event" && frame.delta !== null) break;
  }
  await worker.interrupt();
  assertEquals((await worker.outcome(first.turn)).outcome, "aborted");
  const second = await worker.send("write");
  await asksOf(worker, 1);
  await worker.interrupt();
  assertEquals((await worker.outcome(second.turn)).outcome, "aborted");
  assertEquals(worker.asks, []);
  const third = await worker.ask("go on");
  assertEquals([third.outcome, third.text], ["completed", "after"]);
  await worker.interrupt();
  assertEquals(worker.state, "idle");
});

real(
  "a session is resumed by another worker, and a turn's id is not run twice across them",
  {
    steps: [{ text: "one" }, { text: "two" }, { text: "three" }],
  },
  async (world) => {
    const uuid = crypto.randomUUID();
    const first = await start(world, { sessionId: crypto.randomUUID() });
    const session = first.sessionId;
    assert(session !== undefined);
    assertEquals((await first.ask({ text: "a", uuid })).text, "one");
    assertEquals((await first.send({ text: "a", uuid })).repeated, true);
    await first.end();
    await using second = await start(world, { resume: session });
    assertEquals((await second.ask({ text: "a", uuid })).outcome, "duplicate");
    assertEquals((await second.ask("b")).text, "two");
    assertEquals(second.sessionId, session);
  },
);

real("a session whose id is taken already is resumed", {
  steps: [{ text: "one" }, { text: "two" }],
}, async (world) => {
  const sessionId = crypto.randomUUID();
  const first = await start(world, { sessionId });
  assertEquals((await first.ask("a")).text, "one");
  await first.end();
  const log: string[] = [];
  await using second = await start(world, {
    sessionId,
    log: (line) => log.push(line),
  });
  assertEquals((await second.ask("b")).text, "two");
  assertEquals(second.sessionId, sessionId);
  assert(log.some((line) => line.includes("resuming")));
});

real("an unknown session is an error that names it and leaves nothing", {
  steps: [],
}, async (world) => {
  const unknown = crypto.randomUUID();
  const error = await assertRejects(
    () => start(world, { resume: unknown }),
    AgentStartError,
  );
  assertStringIncludes(error.message, unknown);
  await assertRejects(
    () => Deno.lstat(`${world.home}/workers/w1/worker.sock`),
    Deno.errors.NotFound,
  );
  assertEquals(
    (await readRegistry(workerHome(`${world.home}/workers`))).rows,
    [],
  );
});

real("an API failure is an outcome with its words and the session lives", {
  steps: [{ error: { status: 400, message: "bad thing" } }, {
    text: "fine again",
  }],
}, async (world) => {
  await using worker = await start(world);
  const failed = await worker.ask("go");
  assertEquals(failed.outcome, "error");
  assertStringIncludes(failed.errors.join(" "), "bad thing");
  assertEquals((await worker.ask("go")).text, "fine again");
});

real("a refused key is an outcome", {
  steps: [{ error: { status: 401, message: "no key" }, times: 20 }],
}, async (world) => {
  const env = { ...world.env, CLAUDE_CODE_MAX_RETRIES: "1" };
  await using worker = await start(world, {
    driver: claudeDriver({ command: [claude ?? ""], env }),
  });
  assertEquals((await worker.ask("go")).outcome, "error");
  const failures = worker.session.log.since(0).entries.flatMap(({ frame }) =>
    frame.kind === "assistant" && frame.error !== undefined ? [frame.error] : []
  );
  assertEquals(failures, ["authentication_failed"]);
});

real("a subagent's calls are judged, and its text is not the reply", {
  steps: [{ calls: [{ do: "subagent", prompt: "SUB write outside" }] }, {
    text: "main done",
  }],
  conversations: [{
    match: "SUB",
    steps: [{ calls: [write("{{out}}/sub.txt", "sub")] }, { text: "sub done" }],
  }],
}, async (world) => {
  await using worker = await start(world);
  const agents: (string | undefined)[] = [];
  worker.onVerdict(({ call }) =>
    agents.push(
      call.agentId === undefined
        ? call.toolName
        : `${call.toolName} in a subagent`,
    )
  );
  const outcome = await worker.ask("go");
  assertEquals([outcome.outcome, outcome.text], ["completed", "main done"]);
  assertEquals(agents, ["Agent", "Write in a subagent"]);
  assertEquals(outcome.denied.map((call) => call.tool), ["Write"]);
  assertEquals(await world.list(world.outside), []);
  assertEquals(world.model.result("sub")?.content, "outside is off limits");
  const inside = worker.session.log.since(0).entries.filter(({ frame }) =>
    frame.parent_tool_use_id !== undefined
  );
  assert(inside.length > 0);
});

real(
  "background work holds the session until it is done, and its turn is shown",
  {
    steps: [
      {
        calls: [{
          tool: "Bash",
          input: {
            command: "sleep 1; echo bg",
            run_in_background: true,
            description: "bg",
          },
        }],
      },
      { text: "started" },
      { text: "bg is done" },
    ],
  },
  async (world) => {
    const allow: Decider = {
      name: "test",
      decide: () => ({ decision: "allow" }),
    };
    const worker = await start(world, { deciders: [allow], idleGraceMs: 400 });
    const first = await worker.ask("go");
    assertEquals([first.outcome, first.text], ["completed", "started"]);
    assertEquals([worker.session.quiescent, worker.session.tasks.size], [
      false,
      1,
    ]);
    const end = await worker.ended;
    assertEquals(end.reason, "idle-release");
    const last = worker.session.outcomes.at(-1);
    assertEquals([last?.selfStarted, last?.text], [true, "bg is done"]);
  },
);

real(
  "the question of a background subagent outlives the turn that started it",
  {
    steps: [
      {
        calls: [{
          tool: "Task",
          input: {
            description: "sub",
            prompt: "SUB write it",
            subagent_type: "general-purpose",
            run_in_background: true,
          },
        }],
      },
      { text: "started", hold: "asked" },
      { text: "sub is done" },
    ],
    conversations: [{
      match: "SUB write it",
      steps: [{ calls: [write("sub.txt")] }, { text: "sub done" }],
    }],
  },
  async (world) => {
    const worker = await start(world, {
      deciders: [],
      asks: "wait",
      idleGraceMs: 400,
    });
    const first = worker.ask("go");
    const [open] = await asksOf(worker, 1);
    assertEquals(
      [open?.tool_name, open?.agent_id === undefined],
      ["Write", false],
    );
    world.model.release("asked");
    assertEquals((await first).text, "started");
    // Whatever the main thread says of itself, somebody is waited for, and the session is not let go.
    await new Promise((resolve) => setTimeout(resolve, 800));
    assertEquals([worker.asks.length, worker.state], [1, "requires_action"]);
    assert(worker.answer(open?.id ?? "", { decision: "allow" }));
    const end = await worker.ended;
    assertEquals(end.reason, "idle-release");
    assertEquals(await world.list(world.workspace), ["sub.txt"]);
    assertEquals(worker.session.outcomes.at(-1)?.text, "sub is done");
  },
);

const greet: HostTool = {
  name: "greet",
  description: "greets",
  inputSchema: { type: "object", properties: { name: { type: "string" } } },
  execute: (args, context) =>
    Promise.resolve({
      content: [{
        type: "text",
        text: `hello ${JSON.stringify(args)} ${
          context?.toolCallId !== undefined
        }`,
      }],
    }),
};

real(
  "the host's tools reach the agent over the pipes and are judged like any other",
  {
    steps: [
      {
        calls: [{
          do: "tool",
          name: "greet",
          input: { name: "Ada" },
          id: "g1",
        }],
      },
      {
        calls: [{
          do: "tool",
          name: "greet",
          input: { name: "{{out}}" },
          id: "g2",
        }],
      },
      { text: "done" },
    ],
  },
  async (world) => {
    const tools = new Map([["greet", greet]]);
    await using worker = await start(world, {
      rules: { allow: ["mcp__bulkhead"] },
      tools: {
        get: (name) => tools.get(name),
        [Symbol.iterator]: () => tools.values(),
      },
    });
    const outcome = await worker.ask("go");
    assertEquals(outcome.outcome, "completed");
    assertStringIncludes(JSON.stringify(world.model.result("g1")), "hello");
    assertStringIncludes(JSON.stringify(world.model.result("g1")), "true");
    assertEquals(outcome.denied.map((call) => call.tool), [
      "mcp__bulkhead__greet",
    ]);
  },
);

real("two turns at once have an outcome each", {
  steps: [{ text: "one", delayMs: 200 }, { text: "two" }],
}, async (world) => {
  await using worker = await start(world);
  const turns = await Promise.all([worker.send("a"), worker.send("b")]);
  const outcomes = await Promise.all(
    turns.map((sent) => worker.outcome(sent.turn)),
  );
  assertEquals(outcomes.map((outcome) => outcome.outcome), [
    "completed",
    "completed",
  ]);
  assertEquals(worker.session.turns.pending, 0);
});

real("a command of the agent's own has an outcome too, and waits its turn", {
  steps: [{ text: "one", delayMs: 200 }, { text: "two" }],
}, async (world) => {
  await using worker = await start(world);
  const turns = await Promise.all(
    ["a", "/cost", "/nosuchcommand", "b"].map((text) => worker.send(text)),
  );
  const outcomes = await Promise.all(
    turns.map((sent) => worker.outcome(sent.turn)),
  );
  assertEquals(
    outcomes.map((outcome) => [outcome.outcome, outcome.text?.slice(0, 7)]),
    [["completed", "one"], ["completed", "Total c"], ["completed", "Unknown"], [
      "completed",
      "two",
    ]],
  );
  assertEquals(worker.session.turns.pending, 0);
  const before = worker.sessionId;
  assertEquals((await worker.ask("/clear")).outcome, "completed");
  assert(worker.sessionId !== before, "a cleared session has another id");
});

real("line separators in a turn do not end its line", {
  steps: [{ text: "read" }],
}, async (world) => {
  await using worker = await start(world);
  const outcome = await worker.ask("a\u2028b\u2029c\u0085d");
  assertEquals([outcome.outcome, outcome.text], ["completed", "read"]);
});

real(
  "a picture goes along with a turn",
  { steps: [{ text: "a dot" }] },
  async (world) => {
    await using worker = await start(world);
    const data =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const outcome = await worker.ask({
      text: "what is this",
      images: [{ mediaType: "image/png", data }],
    });
    assertEquals([outcome.outcome, outcome.text], ["completed", "a dot"]);
  },
);

real("an end in the middle of a shell leaves nothing running", {
  steps: [{ calls: [{ do: "shell", command: "sleep 300" }] }, { text: "done" }],
}, async (world) => {
  const allow: Decider = {
    name: "test",
    decide: () => ({ decision: "allow" }),
  };
  const worker = await start(world, { deciders: [allow] });
  await worker.send("go");
  for await (const { frame } of worker.frames()) {
    if (
      frame.kind === "other" && frame.type_name === "control_response" &&
      frame.request_id?.startsWith("bulkhead-") === false
    ) break;
  }
  const end = await worker.end();
  assertEquals(end.reason, "shutdown");
});

real(
  "our argv refuses shells and writes when the channel to us is dead, whatever the user allows",
  {
    steps: [
      {
        calls: [
          { do: "shell", command: "echo x > {{out}}/dead.txt" },
          write("{{out}}/dead2.txt"),
        ],
        delayMs: 400,
      },
      { text: "done" },
    ],
  },
  async (world) => {
    await Deno.mkdir(`${world.home}/.claude`, { recursive: true });
    await Deno.mkdir(`${world.home}/workers`);
    await Deno.writeTextFile(
      `${world.home}/.claude/settings.json`,
      JSON.stringify({ permissions: { allow: ["Bash", "Write"] } }),
    );
    const [program = "", ...args] = claudeArgv({ cwd: world.workspace }, {
      command: [claude ?? ""],
    });
    const child = new Deno.Command(program, {
      args,
      cwd: world.workspace,
      env: { ...world.env },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const input = child.stdin.getWriter();
    const hooks = {
      PreToolUse: [{ matcher: null, hookCallbackIds: ["gate"], timeout: 30 }],
    };
    const lines = [
      {
        type: "control_request",
        request_id: "i",
        request: { subtype: "initialize", hooks },
      },
      {
        type: "user",
        message: { role: "user", content: [{ type: "text", text: "go" }] },
      },
    ];
    for (const line of lines) {
      await input.write(
        new TextEncoder().encode(`${JSON.stringify(line)}\n`),
      );
    }
    // The model answers with its calls only after this.
    await input.close();
    const said = await new Response(child.stdout).text();
    await child.status;
    assertStringIncludes(said, '"type":"result"');
    assertEquals(await world.list(world.outside), []);
  },
);
