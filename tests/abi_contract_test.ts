/** The corners of the contract: what a correct host does with plugins that use every slot oddly but legally. */
import {
  AbiError,
  EVENT_NAMES,
  NativeHost,
  type NativeToolResult,
  nativeTools,
} from "@bulkhead/abi";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { accounts, build, canRun, open, say } from "./_abi.ts";
import { eventually } from "./support/eventually.ts";

const ignore = !await canRun();
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `abi contract: ${name}`, ignore, fn });

test("the table outlives register, and a plugin that wants a longer one is refused", async () => {
  await using plugin = await open("table");
  assertEquals(
    await say(plugin, "probe_size"),
    'size=144 version=4 rc=0 out={"value":null}',
  );
  assertEquals((await accounts(plugin)).wrong, []);
  const error = await assertRejects(
    () => open("table", {}, ["-DEXTRA=8"]),
    AbiError,
    "the host is too old for it",
  );
  assertEquals([error.code, error.exitCode], ["register", 3]);
});

test("only the entry point's own thread registers: another one gets -1, then and later, and may be waited for", async () => {
  await using plugin = await open("register_thread");
  const refused = Array(11).fill("-1").concat("0").join(" ");
  const later = Array(12).fill("0").join(" ");
  assertEquals(await say(plugin, "probe_rcs"), `${refused} ${later} `);
  assertEquals(await say(plugin, "probe_late"), `${refused} ${refused} `);
  const { tools, commands, events, priority, diagnostics } =
    plugin.registration;
  assertEquals([tools.length, commands.length, events.length, priority], [
    4,
    1,
    1,
    1,
  ]);
  assert(tools.every(({ name }) => name !== "foreign" && name !== "late"));
  assertStringIncludes(diagnostics.join("\n"), "from another thread");
  assertEquals((await accounts(plugin)).wrong, []);
});

test("progress keeps its order, whatever it says and wherever it comes from", async () => {
  await using plugin = await open("progress");
  const run = async (tool: string): Promise<string[]> => {
    const seen: string[] = [];
    const onUpdate = ({ content, details }: NativeToolResult) => {
      const [part] = content;
      seen.push(
        part?.type === "text" ? part.text : JSON.stringify(details ?? null),
      );
    };
    await plugin.callTool(tool, {}, { onUpdate });
    return seen;
  };
  assertEquals(await run("probe_order"), [
    ...[0, 1, 2, 3, 4].flatMap((i) => [
      ...[0, 1, 2].map((k) => `cb ${i}.${k}`),
      `inline ${i}`,
    ]),
    "last",
  ]);
  assertEquals(await run("probe_odd"), [
    "50%",
    "quoted",
    "[1,2]",
    "\ufffd\ufffd",
    "a\0b",
    '{"n":12345678901234567890}',
    "null",
    "null",
  ]);
  const threads = await run("probe_threads");
  assertEquals(threads.length, 400);
  for (let i = 0; i < 8; i++) {
    const own = threads.filter((text) => text.startsWith(`${i}.`));
    assertEquals(own, Array.from({ length: 50 }, (_, k) => `${i}.${k}`));
  }
  // A callback that was kept from an earlier call speaks for nobody.
  assertEquals([await run("probe_keep"), await run("probe_use")], [[], []]);
  // The string of a callback is free when the callback returns.
  assertEquals(await say(plugin, "probe_freed"), "0");
  assertEquals((await accounts(plugin)).wrong, []);
});

const RESULTS: Record<string, string> = {
  text: "plain text",
  num: "42",
  null: "null",
  arr: "[1]",
  "empty_obj": "{}",
  proto: "p",
  dup: "b",
  trail: '{"content":[]} trailing',
  surr: "\ud800",
  dangpend: 'params={"kind":"dangpend"}',
};

test("results of every kind are shown, errors keep their words, undefined tags break the ABI", async () => {
  await using plugin = await open("results");
  const run = (kind: string) => plugin.callTool("probe_result", { kind });
  for (const [kind, text] of Object.entries(RESULTS)) {
    assertEquals((await run(kind)).content, [{ type: "text", text }], kind);
  }
  const { content } = await run("nested");
  assertEquals(
    content.map((part) => part.type === "text" ? part.text : ""),
    [
      '{"type":"resource","resource":{"uri":"x"}}',
      '{"type":"text"}',
      "5",
      "null",
      "s",
    ],
  );
  assertEquals((await run("deep")).content.length, 1);
  for (
    const [kind, code, words] of [
      ["err_json", "tool", '{"error":"in json"}'],
      ["err_bad", "tool", "\ufffd\ufffd bad"],
      ["nl", "tool", "line one\nline two"],
      ["dangerr", "tool", "failed without a message"],
      ["tag3", "protocol", "tag 3"],
      ["tagmax", "protocol", "tag 4294967295"],
    ] as const
  ) {
    const error = await assertRejects(() => run(kind), AbiError, words);
    assertEquals(error.code, code, kind);
  }
  // A handle is any value but NULL; cancel and destroy may be missing.
  assertEquals(await say(plugin, "probe_minus"), "0xffffffffffffffff");
  assertEquals(await say(plugin, "probe_nocancel"), "params={}");
  assert(
    plugin.registration.diagnostics.some((line) =>
      line.includes('"probe_nocancel" has no destroy')
    ),
  );
});

test("every event carries what its tag says, to all handlers from the same memory", async () => {
  await using host = new NativeHost();
  const plugin = await open("payloads");
  host.add(plugin);
  for (const type of EVENT_NAMES) {
    const { problems } = await host.dispatch({
      type,
      message: "m",
      toolCallId: "id",
      toolName: "t",
      params: { p: 1 },
      result: { r: 1 },
      isError: true,
      data: { d: 1 },
    });
    assertEquals(problems, []);
  }
  const payload = (tag: number): string => {
    if ([21, 22, 23].includes(tag)) return '"m"';
    if ([24, 25, 29].includes(tag)) return 'id/t/{"p":1}';
    if ([26, 30].includes(tag)) return 'id/t/{"r":1}/1';
    return '{"d":1}';
  };
  const seen = EVENT_NAMES.map((_, tag) =>
    `${tag}:${tag + 1}:${payload(tag)};${tag === 19 ? "act 0;" : ""}`
  );
  assertEquals(await say(plugin, "probe_log"), `same=1 ${seen.join("")}`);
  assertEquals((await accounts(plugin)).wrong, []);
});

test("the host may be asked from everywhere, and a plugin may ask to be reloaded", async () => {
  await using host = new NativeHost();
  const plugin = await open("asks");
  host.add(plugin);
  assertEquals(await say(plugin, "probe_ask"), "asked");
  const abort = new AbortController();
  const waiting = assertRejects(
    () => plugin.callTool("probe_ask", { wait: "1" }, { signal: abort.signal }),
    AbiError,
    "cancelled by host",
  );
  // Answered only once the other call polls.
  await say(plugin, "probe_log");
  abort.abort();
  await waiting;
  assertEquals(await plugin.runCommand("probe"), { kind: "input", text: "x" });
  await host.discoverResources("/w");
  await host.dispatch({ type: "SessionStart" });
  const log = await say(plugin, "probe_log");
  for (
    const who of [
      "execute",
      "nul",
      "bad",
      "cancel",
      "destroy",
      "command",
      "discover",
      "event",
    ]
  ) assertStringIncludes(log, `${who} 0 {"value":null};`);
  for (
    const said of [
      'poll 1 {"error":"GetActiveTools requires an agent session"}',
      'arr 1 {"error":"SetStatus requires a \\"key\\""}',
      'dialog 1 {"error":"UiDialog requires an interactive UI"}',
      'reload? 2 {"error":"unknown runtime action id 23"}',
    ]
  ) assertStringIncludes(log, said);
  assertEquals((await accounts(plugin)).wrong, []);
  assertEquals(await say(plugin, "probe_reload"), "0 null");
  await eventually(
    "the plugin starts anew",
    async () => await say(plugin, "probe_log") === "",
  );
});

test("no handle is destroyed while it is polled, however calls are stopped", async () => {
  await using plugin = await open("race", {
    limits: { cancelGraceMs: 200, stuckMs: 5_000 },
  });
  const calls = Array.from(
    { length: 60 },
    (_, i) =>
      plugin.callTool("probe_race", {
        ms: `${i % 7}`,
        ...i % 5 === 0 ? { ignore: "1" } : {},
      }, { timeoutMs: 20 + i * 3 }).then(() => "done", (e) => e.code),
  );
  const ends = new Set(await Promise.all(calls));
  assert([...ends].every((end) => end === "done" || end === "timeout"));
  let log = "";
  do {
    log = await say(plugin, "probe_log");
  } while ((await accounts(plugin)).counts.live_handles !== 0);
  assertStringIncludes(log, "destroyed_in_poll=0");
  const { counts, wrong } = await accounts(plugin);
  assertEquals(wrong, []);
  assert((counts.cancels ?? 0) <= 60);
});

test("declarations: nonsense is refused, the wrong types are left out, the last word counts", async () => {
  await using plugin = await open("declare");
  assertEquals(
    (await say(plugin, "probe_rcs")).split(" ").slice(0, 13),
    ["1", "1", "1", "1", "1", "0", "0", "0", "0", "0", "1", "0", "0"],
  );
  assertEquals(plugin.registration.priority, -3);
  assertEquals(plugin.registration.platforms, ["Linux"]);
});

test("priority and platforms are for event handlers: everything else goes by the order of loading", async () => {
  await using host = new NativeHost();
  for (
    const [name, declared] of [
      ["a", { priority: 300 }],
      ["b", { priority: 1 }],
      ["c", { priority: 0, platforms: ["Windows", "ANDROID"] }],
    ] as const
  ) {
    host.add(
      await open("order", { name }, [
        `-DNAME="${name}"`,
        `-DDECLARE=${JSON.stringify(JSON.stringify(declared))}`,
      ]),
    );
  }
  const { skillPaths } = await host.discoverResources("/w");
  assertEquals(skillPaths, ["a", "b", "c"]);
  const start = { prompt: "p", systemPrompt: ">" };
  assertEquals(await host.beforeAgentStart(start), ">abc");
  // For one run: the next one begins anew.
  assertEquals(await host.beforeAgentStart(start), ">abc");
  const { veto, problems } = await host.dispatch({ type: "BeforeTuiStart" });
  assertEquals(veto, { plugin: "b", effect: "exit", exitCode: 3 });
  assertEquals(problems, [
    `Plugin "c": BeforeTuiStart is skipped on linux, it declares Windows, ANDROID`,
  ]);
  for (const plugin of host.plugins) {
    assertEquals((await accounts(plugin)).wrong, []);
  }
});

test("handlers' outputs are freed whatever they are, and errors keep their words", async () => {
  await using host = new NativeHost();
  const plugin = await open("outputs");
  host.add(plugin);
  // An explicit empty prompt is a change.
  assertEquals(
    await host.beforeAgentStart({ prompt: "p", systemPrompt: "old" }),
    "",
  );
  for (
    const [id, code, words] of [
      ["rc5", "handler", "code 5: leak me not"],
      ["rcm1", "handler", "code -1: leak me not"],
      ["none", "handler", "no JSON object"],
      ["text", "handler", "no JSON object"],
      ["dangl", "handler", "no JSON object"],
      ["nofree", "handler", "no JSON object"],
      ["huge", "protocol", "at most 67108864 are read"],
    ] as const
  ) {
    const error = await assertRejects(
      () => plugin.requestProvider(id, {}),
      AbiError,
      words,
    );
    assertEquals(error.code, code, id);
  }
  assertEquals(await plugin.requestProvider("zeroed", {}), {
    ptr: 0,
    len: 0,
    in: 2,
  });
  assertEquals(await plugin.render("markdown", "none", {}), null);
  assertEquals(
    await plugin.render("entry", "text", {}),
    "plain \ufffd text",
  );
  await assertRejects(
    () => plugin.render("message", "rc", {}),
    AbiError,
    "code 1",
  );
  await assertRejects(() => plugin.requestOAuth("o", "revoke"), AbiError, "3");
  const huge = await assertRejects(
    () => plugin.runCommand("huge"),
    AbiError,
    "at most 67108864 are read",
  );
  assertEquals(huge.code, "protocol");
  assertEquals((await accounts(plugin)).wrong, []);
});

test("a path with blanks, commas and letters of other scripts is a path", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.copyFile(await build("table"), `${dir}/ok, ü.so`);
    await using plugin = await (await import("@bulkhead/abi")).loadNativePlugin(
      `${dir}/ok, ü.so`,
    );
    assertEquals(plugin.name, "ok, ü");
    assertStringIncludes(await say(plugin, "probe_size"), "size=144");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

test("a registered tool takes its caller's tighter deadline, and after a crash tells what confined it", async () => {
  await using plugin = await open("07_never_finish");
  const tool = (from: typeof plugin, name: string) => {
    const found = nativeTools(from, { timeoutMs: 600_000 }).find((each) =>
      each.name === name
    );
    assert(found);
    return found;
  };
  const late = await tool(plugin, "probe_pending").execute({}, {
    timeoutMs: 30,
  });
  assertEquals([late.isError, late.details?.timedOut], [true, true]);
  await using mortal = await open("17_crash");
  const dead = await tool(mortal, "probe_crash").execute({ how: "segv" });
  assertEquals([dead.isError, dead.details?.signal], [true, "SIGSEGV"]);
  assert(dead.details?.isolation !== "none");
});

test("what is left of a plugin that was reloaded cannot act any more", async () => {
  let asked = 0;
  await using plugin = await open("asks", {
    actions: {
      getCliFlag: () => {
        asked++;
        return { value: null };
      },
    },
  });
  const abort = new AbortController();
  const old = assertRejects(
    () => plugin.callTool("probe_ask", { wait: "1" }, { signal: abort.signal }),
    AbiError,
    "cancelled by host",
  );
  await eventually("the plugin asks", () => asked > 0);
  await plugin.reload();
  assertEquals(asked, 1);
  // Its cancel and its destroy ask the host, which answers "stale".
  abort.abort();
  await old;
  assertEquals(asked, 1);
  await say(plugin, "probe_ask");
  assert(asked > 1);
});

test("diagnostics are lines that can be printed, whatever a plugin calls its things", async () => {
  const lines: string[] = [];
  await using host = new NativeHost({ onDiagnostic: (l) => lines.push(l) });
  const shapes = await build("shapes");
  await host.load([shapes, shapes]);
  assertStringIncludes(lines.join("\n"), 'tool "esc\\u{1b}[2J" is taken');
  assert(lines.every((line) => line.length < 600));
  for (const { registration } of host.plugins) {
    assert(registration.diagnostics.every((line) => line.length < 600));
  }
  // deno-lint-ignore no-control-regex -- these are what must not be there
  assert(lines.every((line) => !/[\0-\x1f\x7f]/.test(line)));
});

test("a handler that finds no place in time is not run later, and is not blamed", async () => {
  await using plugin = await open("handlers");
  // Twice as many as there are places.
  const slow = Array.from({ length: 48 }, () => plugin.runCommand("slow"));
  const error = await assertRejects(
    () => plugin.runCommand("echo", "", { timeoutMs: 1 }),
    AbiError,
    'its command "/echo" did not begin within 1 ms',
  );
  assertEquals(error.code, "timeout");
  await Promise.all(slow);
  assertEquals((await plugin.stats()).lateHandlers, 0);
  assertEquals(await plugin.runCommand("echo", "x"), {
    args: "x",
    command: "/echo",
  });
});
