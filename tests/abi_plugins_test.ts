import {
  AbiError,
  JsonText,
  NativeHost,
  type NativeToolResult,
  nativeTools,
} from "@bulkhead/abi";
import { ToolRegistry } from "@bulkhead/plugins";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { accounts, build, canRun, open, say } from "./_abi.ts";
import { eventually } from "./support/eventually.ts";

const ignore = !await canRun();
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `abi: ${name}`, ignore, fn });

test("strings of every odd shape are read, bounded and freed", async () => {
  await using plugin = await open("strings");
  const kind = (name: string) => plugin.callTool("strings", { kind: name });
  const text = async (name: string) =>
    await say(plugin, "strings", { kind: name });
  assertEquals((await text("huge")).length, 8 << 20);
  assertEquals(await text("utf8"), "a\ufffd\ufffdb");
  assertEquals(await text("nul"), "a\0b");
  assertEquals(await text("text"), "not json at all");
  for (const empty of ["empty", "nullptr", "dangling"]) {
    assertEquals((await kind(empty)).content, [], empty);
  }
  assertEquals(await text("bom"), "\ufeff{}");
  for (const long of ["toolong", "sizemax"]) {
    const error = await assertRejects(
      () => kind(long),
      AbiError,
      "at most 67108864 are read",
    );
    assertEquals(error.code, "protocol");
  }
  assertEquals(
    (await assertRejects(() => kind("badtag"), AbiError, "tag 77")).code,
    "protocol",
  );
  assertEquals(
    (await assertRejects(() => kind("emptyerr"), AbiError)).code,
    "tool",
  );
  const blocks = await kind("blocks");
  assertEquals(blocks.content, [
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "text", text: '{"type":"odd","n":12345678901234567890}' },
  ]);
  assertEquals(JSON.stringify(blocks.details), '{"n":12345678901234567890}');
  assertEquals([blocks.terminate, blocks.addedToolNames], [true, ["x"]]);
  const updates: NativeToolResult[] = [];
  await plugin.callTool("strings", { kind: "hugeupdate" }, {
    onUpdate: (update) => updates.push(update),
  });
  assertEquals(updates.map(({ content: [part] }) => part), [
    { type: "text", text: "(an update of 3145728 bytes was left out)" },
    { type: "text", text: "(an update of 3145728 bytes was left out)" },
  ]);
  const big = await say(plugin, "strings", {
    kind: "",
    pad: "z".repeat(4 << 20),
  });
  assertStringIncludes(big, "size=419");
  const { counts, wrong } = await accounts(plugin);
  // The pointer with length SIZE_MAX was never a string of its allocator: it is handed back, and not read.
  assertEquals(wrong, ["foreign_free"]);
  assertEquals(counts.foreign_free, 1);
  assertEquals((await plugin.stats()).invalidUtf8, 1);
});

test("progress that comes too late or for nobody is freed and dropped", async () => {
  await using plugin = await open("partials");
  const seen: string[] = [];
  const onUpdate = ({ content: [part] }: NativeToolResult) =>
    seen.push(part?.type === "text" ? part.text : "");
  await plugin.callTool("late", {}, { onUpdate });
  await plugin.callTool("wild", {}, { onUpdate });
  assertEquals(await say(plugin, "thread"), "joined");
  await plugin.callTool("thread", {}, { onUpdate });
  await eventually(
    "five late updates",
    async () => (await plugin.stats()).latePartials >= 5,
  );
  assertEquals(seen, ["from thread"]);
  assertEquals((await accounts(plugin)).wrong, []);
});

test("a flood of progress neither loses the end nor stops other calls", async () => {
  await using plugin = await open("partials");
  const seen: number[] = [];
  const flood = plugin.callTool("flood", { n: 20_000 }, {
    onUpdate: ({ content: [part] }) =>
      seen.push(Number(part?.type === "text" ? part.text : NaN)),
  });
  assertEquals(await say(plugin, "thread"), "joined");
  assertEquals((await flood).content, [{ type: "text", text: "flooded" }]);
  assertEquals(seen.at(-1), 19_999);
  assertEquals([...seen].sort((a, b) => a - b), seen);
  let updates = 0;
  const endless = plugin.callTool("endless", {}, {
    timeoutMs: 1_000,
    onUpdate: () => updates++,
  });
  await assertRejects(() => endless, AbiError, "stopped");
  assert(updates > 10);
  assertEquals((await accounts(plugin)).wrong, []);
});

test("runtime actions work from every thread, with every argument", async () => {
  await using plugin = await open("actions", {
    actions: {
      getCliFlag: ({ name }) => ({ value: name === "verbose" ? true : null }),
      getSystemPrompt: () => Promise.reject(new Error("there is none")),
    },
  });
  const ask = (id: number, name = "x") => say(plugin, "ask", { id, name });
  assertEquals(await say(plugin, "first"), '0:{"value":true}');
  assertEquals(await ask(16), '0:{"value":null}');
  assertEquals(await ask(10), '1:{"error":"there is none"}');
  assertEquals(await ask(18), '0:{"ok":true,"changed":true}');
  assertEquals(await ask(19), '0:{"ok":true,"chars":1}');
  assertEquals(
    await ask(17),
    '1:{"error":"UiDialog requires an interactive UI"}',
  );
  assertEquals(await ask(23), '2:{"error":"unknown runtime action id 23"}');
  for (let id = 0; id < 23; id++) {
    assert(/^[01]:/.test(await ask(id)), `action ${id}`);
  }
  assertEquals(
    await say(plugin, "odd"),
    'noout=0 nouser=-1 out=0 unknown=2 max=2 [{"error":"unknown runtime action id 4294967295"}] badjson=0 empty=0 ',
  );
  assertEquals(await say(plugin, "many"), "ok=16");
  assertEquals(await say(plugin, "late"), "late=999");
  await eventually(
    "the late answer",
    async () => await say(plugin, "late") === "late=0",
  );
  assertEquals((await accounts(plugin)).wrong, []);
});

test("an action without an answer ends at its deadline, not at the host's pleasure", async () => {
  await using plugin = await open("actions", {
    limits: { actionDeadlineMs: 100 },
    actions: {
      getSystemPrompt: () => new Promise(() => {}),
      fork: () => new Promise(() => {}),
    },
  });
  assertEquals(await say(plugin, "ask", { id: 10 }), "-2:");
  assertEquals(await say(plugin, "ask", { id: 16 }), '0:{"value":null}');
});

test("an action that calls another tool of the same plugin does not deadlock", async () => {
  await using plugin = await open("reentry", {
    actions: {
      getSystemPrompt: async () => ({ said: await say(plugin, "inner") }),
    },
  });
  assertEquals(await say(plugin, "outer"), 'rc=0 out={"said":"inner"}');
  const many = await Promise.all(
    Array.from({ length: 8 }, () => say(plugin, "outer")),
  );
  assertEquals(new Set(many), new Set(['rc=0 out={"said":"inner"}']));
});

test("more calls at once than there are threads all end", async () => {
  await using plugin = await open("reentry");
  const calls = Array.from(
    { length: 40 },
    () => say(plugin, "slow", { ms: 30 }),
  );
  const spins = Array.from(
    { length: 200 },
    () => say(plugin, "spin", { polls: 12 }),
  );
  assertEquals(new Set(await Promise.all(calls)), new Set(["slept"]));
  assertEquals(new Set(await Promise.all(spins)), new Set(["spun"]));
  assertEquals((await accounts(plugin)).wrong, []);
});

test("events carry their payload, in order of priority across plugins", async () => {
  await using host = new NativeHost();
  const variant = (name: string, priority: string, ...more: string[]) =>
    open("events", { name }, [
      `-DNAME="${name}"`,
      `-DPRIORITY="${priority}"`,
      ...more,
    ]);
  // Loaded in this order; "b" and "d" share a priority.
  const [a, b, c, d] = await Promise.all([
    variant("a", "300"),
    variant("b", "100"),
    variant("c", "-5"),
    variant(
      "d",
      "100",
      String.raw`-DPLATFORMS="\"windows\",\"LINUX\",\"macos\""`,
    ),
  ]);
  assert(a && b && c && d);
  for (const plugin of [a, b, c, d]) host.add(plugin);
  const order: string[] = [];
  for (const plugin of [a, b, c, d]) {
    const dispatch = plugin.dispatch.bind(plugin);
    plugin.dispatch = (event) => {
      order.push(plugin.name);
      return dispatch(event);
    };
  }
  assertEquals(
    (await host.dispatch({
      type: "TurnStart",
      data: { n: 12345678901234567890n },
    })).problems,
    [],
  );
  assertEquals(order, ["c", "b", "d", "a"]);
  await host.dispatch({
    type: "ToolCall",
    toolCallId: "id",
    toolName: "grep",
    params: { q: "ü", __rpi: { cwd: "/" } },
  });
  await host.dispatch({
    type: "ToolResult",
    toolCallId: "id",
    toolName: "grep",
    result: { ok: 1 },
    isError: true,
  });
  await host.dispatch({
    type: "ToolExecutionEnd",
    toolCallId: "id",
    toolName: "grep",
    result: {},
    isError: false,
  });
  await host.dispatch({ type: "MessageEnd", message: "m" });
  await host.dispatch({ type: "AgentEnd" });
  const log = (await say(c, "c_log")).split("\n").slice(0, -1);
  assertEquals(log, [
    ...["c1", "c2", "c3"].map((h) => `${h} 19 {"n":12345678901234567890}`),
    ...["c1", "c2", "c3"].map((h) => `${h} 29 call id grep {"q":"ü"}`),
    ...["c1", "c2", "c3"].map((h) => `${h} 30 result id grep {"ok":1} 1`),
    ...["c1", "c2", "c3"].map((h) => `${h} 26 result id grep {} 0`),
    ...["c1", "c2", "c3"].map((h) => `${h} 23 "m"`),
    ...["c1", "c2", "c3"].map((h) => `${h} 17 `),
  ]);
});

test("vetoes count in lifecycle events, claims for input, and neither elsewhere", async () => {
  await using host = new NativeHost();
  const variant = (name: string, rc: number, priority: string) =>
    open("events", { name }, [
      `-DNAME="${name}"`,
      `-DRC=${rc}`,
      `-DPRIORITY="${priority}"`,
    ]);
  const [veto, claim, last] = await Promise.all([
    variant("veto", 2, "10"),
    variant("claim", 3, "5"),
    variant("last", 0, "90"),
  ]);
  assert(veto && claim && last);
  for (const plugin of [veto, claim, last]) host.add(plugin);
  const lines = async (plugin: typeof veto, tag: number) =>
    (await say(plugin, `${plugin.name}_log`)).split("\n").filter((line) =>
      line.split(" ")[1] === `${tag}`
    ).length;

  const before = await host.dispatch({ type: "BeforeTuiStart" });
  assertEquals(before.veto, { plugin: "veto", effect: "exit", exitCode: 3 });
  assertEquals([
    await lines(claim, 33),
    await lines(veto, 33),
    await lines(last, 33),
  ], [3, 2, 0]);
  assertEquals((await host.dispatch({ type: "SessionStart" })).veto, {
    plugin: "veto",
    effect: "advisory",
  });
  const shutdown = await host.dispatch({ type: "SessionShutdown" });
  assertEquals(shutdown.veto, undefined);
  assertEquals([await lines(veto, 8), await lines(last, 8)], [3, 3]);
  const input = await host.dispatch({ type: "Input", data: { key: "a" } });
  assertEquals([input.claimedBy, input.veto], ["claim", undefined]);
  assertEquals([await lines(claim, 32), await lines(veto, 32)], [2, 0]);
  const turn = await host.dispatch({ type: "TurnEnd" });
  assertEquals([turn.veto, turn.claimedBy, turn.problems.length], [
    undefined,
    undefined,
    2,
  ]);
  assertEquals([
    await lines(claim, 20),
    await lines(veto, 20),
    await lines(last, 20),
  ], [3, 3, 3]);
});

test("a slow handler is left behind at its budget and the next ones run", async () => {
  await using host = new NativeHost();
  host.add(
    await open("events", { name: "slow" }, ['-DNAME="slow"', "-DSLOW=300"]),
  );
  const result = await host.dispatch({ type: "Input", data: { key: "a" } });
  assertEquals(result.problems, [
    'Plugin "slow": Input handler 96 took longer than 50 ms and was left behind',
  ]);
  const [plugin] = host.plugins;
  assert(plugin);
  await eventually(
    "the slow handler's end",
    async () => (await plugin.stats()).lateHandlers === 0,
  );
  assertEquals((await say(plugin, "slow_log")).trim().split("\n"), [
    'slow2 32 {"key":"a"}',
    'slow3 32 {"key":"a"}',
    'slow1 32 {"key":"a"}',
  ]);
});

test("handlers for another platform are skipped, the plugin's tools are not", async () => {
  await using host = new NativeHost();
  const plugin = await open("events", { name: "w" }, [
    '-DNAME="w"',
    String.raw`-DPLATFORMS="\"windows\""`,
  ]);
  host.add(plugin);
  assertEquals((await host.dispatch({ type: "TurnEnd" })).problems.length, 1);
  assertEquals(await say(plugin, "w_log"), "");
});

test("emitted events arrive in order, and the queue drops progress first", async () => {
  await using host = new NativeHost();
  const plugin = await open("events", { name: "q" }, ['-DNAME="q"']);
  host.add(plugin);
  // An event is what it was when it was emitted, and one that cannot be written is told at once.
  const data = { n: 0 };
  for (; data.n < 3; data.n++) host.emit({ type: "TurnStart", data });
  const endless: Record<string, unknown> = {};
  endless.self = endless;
  assertThrows(
    () => host.emit({ type: "TurnStart", data: endless }),
    TypeError,
  );
  await host.settled();
  assertEquals(
    (await say(plugin, "q_log")).trim().split("\n").filter((l) =>
      l.startsWith("q1")
    ),
    ['q1 19 {"n":0}', 'q1 19 {"n":1}', 'q1 19 {"n":2}'],
  );
  for (let i = 0; i < 3_000; i++) {
    host.emit({ type: i % 100 === 0 ? "TurnEnd" : "MessageUpdate", data: i });
  }
  await host.settled();
  assert(host.droppedEvents > 0);
  const ends =
    (await say(plugin, "q_log")).split("\n").filter((l) =>
      l.startsWith("q1 20 ")
    ).length;
  assertEquals(ends, 30);
});

test("collisions are reported and the first registration stays", async () => {
  await using plugin = await open("collide");
  assertEquals(
    await say(plugin, "codes"),
    "same1=0 same2=0 freed=0 null=1 bad=0 noname=1 nofn=1 cmd1=0 cmd2=0 cmd0=1 prov1=0 prov2=0 ren1=0 ren2=0 ren3=0 " +
      "oauth0=1 oauth1=0 oauth2=0 flag1=0 flag2=0 key=0 ",
  );
  assertEquals(await say(plugin, "same"), "first");
  assertEquals(await plugin.runCommand("go"), {
    kind: "message",
    text: "first",
  });
  assertEquals(plugin.registration.collisions, [
    { kind: "tool", name: "same" },
    { kind: "command", name: "go" },
    { kind: "provider", name: "p" },
    { kind: "message renderer", name: "r" },
    { kind: "oauth provider", name: "o" },
    { kind: "flag", name: "f" },
  ]);
  assertEquals(
    plugin.registration.tools.find((t) => t.name === "badschema")?.parameters,
    "{}",
  );
  assertEquals(
    await say(plugin, "late"),
    "tool=-1 cmd=-1 event=-1 declare=-1 dispatch=0",
  );
  const lines: string[] = [];
  await using host = new NativeHost({
    onDiagnostic: (line) => lines.push(line),
  });
  host.add(plugin);
  host.add(await open("collide", { name: "second" }));
  assert(
    lines.includes(
      'Plugin "second": tool "same" is taken by plugin "collide", which stays',
    ),
  );
  assert(
    lines.includes(
      'Plugin "second": command "go" is taken by plugin "collide", which stays',
    ),
  );
});

test("names, schemas and manifests of odd shapes are refused, cut or kept, and never break the list", async () => {
  await using plugin = await open("shapes");
  assertEquals(
    await say(plugin, "codes"),
    "0 0 0 0 1 0 0 0 0 0 0 1 1 0 0 0 1 0 1 1 0 ",
  );
  const { tools, commands, oauth, collisions, priority, platforms } =
    plugin.registration;
  assertEquals(tools.slice(2).map(({ name }) => name.slice(0, 12)), [
    "esc\x1b[2J",
    "nul\0name",
    "bad\ufffd",
    "x".repeat(12),
    "nulls",
    "__proto__",
    "constructor",
    "nan",
    "deep",
    "levels",
  ]);
  assertEquals(commands.map(({ name }) => name), ["go\x1b[1m"]);
  assertEquals(collisions, [{ kind: "shortcut", name: "ctrl+x" }]);
  assertEquals([priority, platforms], [100, ["LINUX"]]);
  assertEquals(
    JSON.stringify(oauth[0]?.manifest),
    '{"id":"big","n":12345678901234567890}',
  );
  const listed = nativeTools(plugin).map(({ inputSchema }) =>
    JSON.stringify(inputSchema).length
  );
  assertEquals(listed.length, tools.length);
  const registry = new ToolRegistry();
  for (const tool of nativeTools(plugin)) registry.add(tool);
  for (const tool of registry) {
    assert(!(await tool.execute({})).isError, tool.name);
  }
  const notes = plugin.registration.diagnostics.join("\n");
  for (
    const words of [
      "a text of 5000 bytes is cut to 4096",
      'tool "deep" has no JSON object as parameters',
      'shortcut "ctrl+x" is registered twice',
      "a declaration is ignored",
    ]
  ) assertStringIncludes(notes, words);
  assertEquals((await accounts(plugin)).wrong, []);
});

test("handlers: what fails changes nothing, what answers is chained, everything is freed", async () => {
  await using host = new NativeHost();
  const plugin = await open("handlers");
  host.add(plugin);
  assertEquals(await host.discoverResources("/w", "reload"), {
    skillPaths: ["a-reload"],
    promptPaths: [],
    themePaths: ["t"],
  });
  assertEquals(
    await host.beforeAgentStart({ prompt: "p", systemPrompt: "base" }),
    "base+one+two",
  );
  const error = await assertRejects(
    () => plugin.requestProvider("bad", {}),
    AbiError,
    "code 4: no such model",
  );
  assertEquals([error.code, error.exitCode], ["handler", 4]);
  assertEquals(
    await plugin.requestProvider("echo", {
      model: "m",
      options: { apiKey: "k" },
    }),
    { model: "m", options: { apiKey: "k" } },
  );
  assertEquals(await plugin.requestOAuth("login", "refresh", { a: 1 }), {
    action: "refresh",
    providerId: "login",
    params: { a: 1 },
  });
  assertEquals(await plugin.render("markdown", "md", { markdown: "x" }), {
    markdown: "x",
  });
  assertEquals(await plugin.runCommand("/echo", 'a "b"'), {
    args: 'a "b"',
    command: "/echo",
  });
  await assertRejects(
    () => plugin.runCommand("fail"),
    AbiError,
    "code 1: oops",
  );
  const slow = await assertRejects(
    () => plugin.runCommand("slow", "", { timeoutMs: 50 }),
    AbiError,
    "did not return within 50 ms",
  );
  assertEquals(slow.code, "timeout");
  await assertRejects(
    () => plugin.runCommand("none"),
    RangeError,
    'it registered "slow", "fail", "echo"',
  );
  assertEquals((await accounts(plugin)).wrong, []);
});

test("1001 tools, 200 commands and 740 handlers load and answer", async () => {
  await using plugin = await open("many");
  assertEquals([
    plugin.registration.tools.length,
    plugin.registration.commands.length,
    plugin.registration.events.length,
  ], [1001, 200, 740]);
  const last = await plugin.callTool("tool_999", {}, { toolCallId: "x" });
  assertEquals(last.content, [{ type: "text", text: "x" }]);
  assertEquals((await accounts(plugin)).wrong, []);
});

test("native tools are tools like any other", async () => {
  await using plugin = await open("01_ok", { context: { cwd: "/w" } });
  const registry = new ToolRegistry();
  for (const tool of nativeTools(plugin)) {
    assertEquals(registry.add(tool).added, true);
  }
  const echo = registry.get("probe_echo");
  assert(echo);
  assertEquals(echo.inputSchema, {
    type: "object",
    additionalProperties: true,
  });
  assertEquals([echo.source.plugin, echo.source.tool, echo.source.hash], [
    "01_ok",
    "probe_echo",
    plugin.library.sha256,
  ]);
  const updates: unknown[] = [];
  const result = await echo.execute({ a: 1 }, {
    toolCallId: "c",
    cwd: "/x",
    onUpdate: (update) => updates.push(update.content),
  });
  assertEquals(result.content, [{
    type: "text",
    text: 'id=c params={"a":1,"__rpi":{"cwd":"/x"}}',
  }]);
  assertEquals(updates.length, 2);
  const failed = await registry.get("probe_fail")?.execute({});
  assertEquals([failed?.isError, failed?.content], [true, [{
    type: "text",
    text: "planned failure ✗",
  }]]);
  const aborted = await registry.get("probe_wait")?.execute({}, {
    signal: AbortSignal.timeout(30),
  });
  assertEquals([aborted?.isError, aborted?.details?.aborted], [true, true]);
});

test("a plugin that was reloaded runs in a new process with the library as it is now", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const file = `${dir}/lib.so`;
    await Deno.copyFile(await build("17_crash"), file);
    await using plugin = await (await import("@bulkhead/abi")).loadNativePlugin(
      file,
    );
    assertStringIncludes(await say(plugin, "probe_ok"), "alive");
    await Deno.remove(file);
    await Deno.copyFile(await build("15_params"), file);
    const before = plugin.library.sha256;
    await plugin.reload();
    assert(plugin.library.sha256 !== before);
    assertEquals(await say(plugin, "probe_raw", new JsonText("[1]")), "[1]");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

test("a plugin's environment is the short list, what it was given, and the active session", async () => {
  Deno.env.set("LANGFUSE_PI_PARENT_DEPTH", "1");
  Deno.env.set("RPI_SESSION_ID", "an ancestor's");
  try {
    await using plugin = await open("confine", { env: { GIVEN: "yes" } });
    const env = (name: string) => say(plugin, "env", { path: name });
    assertEquals(await env("GIVEN"), "yes");
    assertEquals(await env("LANGFUSE_PI_PARENT_DEPTH"), "unset");
    assertEquals(await env("RPI_SESSION_ID"), "unset");
    plugin.setSession("s-2");
    assertEquals(await env("RPI_SESSION_ID"), "s-2");
    await plugin.reload();
    assertEquals(await env("RPI_SESSION_ID"), "s-2");
    await using other = await open("confine", {
      context: { sessionId: "s-1" },
    });
    assertEquals(await say(other, "env", { path: "RPI_SESSION_ID" }), "s-1");
  } finally {
    Deno.env.delete("LANGFUSE_PI_PARENT_DEPTH");
    Deno.env.delete("RPI_SESSION_ID");
  }
});
