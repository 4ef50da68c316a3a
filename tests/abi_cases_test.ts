import {
  AbiError,
  JsonText,
  loadNativePlugin,
  NativeHost,
} from "@bulkhead/abi";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { accounts, build, canRun, open, say } from "./_abi.ts";

const ignore = !await canRun();
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `abi cases: ${name}`, ignore, fn });

test("01 every slot works, updates come in order, accounts are clean", async () => {
  await using host = new NativeHost();
  const plugin = await open("01_ok");
  host.add(plugin);
  assertEquals(plugin.registration.tools.map((t) => t.name), [
    "probe_stats",
    "probe_echo",
    "probe_wait",
    "probe_fail",
    "probe_events",
  ]);
  assertEquals(plugin.registration.priority, 10);

  const updates: string[] = [];
  const echo = await plugin.callTool("probe_echo", { a: 1 }, {
    toolCallId: "call-7",
    onUpdate: ({ content: [part] }) =>
      updates.push(part?.type === "text" ? part.text : ""),
  });
  assertEquals(updates, ["from callback", "from inline"]);
  assertEquals(echo.content, [{
    type: "text",
    text: 'id=call-7 params={"a":1}',
  }]);

  const failure = await assertRejects(
    () => plugin.callTool("probe_fail"),
    AbiError,
  );
  assertEquals([failure.code, failure.message], ["tool", "planned failure ✗"]);

  const waiting = plugin.callTool("probe_wait", {}, {
    signal: AbortSignal.timeout(50),
  });
  const cancelled = await assertRejects(
    () => waiting,
    AbiError,
    "cancelled by",
  );
  assertEquals(cancelled.code, "aborted");

  for (const type of (await import("@bulkhead/abi")).EVENT_NAMES) {
    assertEquals(
      (await host.dispatch({
        type,
        data: { x: 1 },
        toolCallId: "c",
        toolName: "t",
      })).problems,
      [],
    );
  }
  assertEquals(
    JSON.parse(await say(plugin, "probe_events")),
    Array(37).fill(1),
  );

  assertEquals(await host.discoverResources("/w"), {
    skillPaths: ["/w/probe-skill"],
    promptPaths: ["reason-startup"],
    themePaths: [],
  });
  assertEquals(
    await host.beforeAgentStart({ prompt: "p", systemPrompt: "old" }),
    "probe prompt",
  );
  assertEquals(await plugin.runCommand("/probe", "x"), {
    kind: "message",
    text: "args 31 bytes",
  });
  for (const kind of ["message", "markdown", "entry"] as const) {
    assertEquals(await plugin.render(kind, "m", {}), { markdown: "rendered" });
  }
  assertEquals(await plugin.requestProvider("probe-prov", {}), {
    role: "assistant",
    content: [{ type: "text", text: "probe" }],
  });
  assertEquals(await plugin.requestOAuth("probe-oauth", "begin"), {
    role: "assistant",
    content: [{ type: "text", text: "probe" }],
  });

  const { counts, wrong } = await accounts(plugin);
  assertEquals(wrong, []);
  assert((counts.cancels ?? 0) >= 1);
});

test("06 a register code discards everything, each code has its words, other plugins load", async () => {
  const codes = [1, 2, 3, 42, 70, -1];
  const paths = await Promise.all(
    codes.map((code) => build("06_register_rc", [`-DRC=${code}`])),
  );
  const lines: string[] = [];
  await using host = new NativeHost({
    onDiagnostic: (line) => lines.push(line),
  });
  const loaded = await host.load([...paths, await build("01_ok")]);
  assertEquals(loaded.map((plugin) => plugin.name), ["01_ok"]);
  const refusals = lines.filter((line) => line.includes("06_register_rc"));
  assertEquals(refusals.length, codes.length);
  assertEquals(new Set(refusals).size, codes.length);
  for (
    const [index, words] of [
      "another ABI version",
      "null api",
      "too old",
      "code 42",
      "panicked",
      "code -1",
    ].entries()
  ) {
    assertStringIncludes(refusals[index] ?? "", words);
  }
  assertEquals(host.find("tool", "probe_ghost"), undefined);
  assertEquals(
    (await host.dispatch({ type: "BeforeTuiStart" })).veto,
    undefined,
  );
});

test("07 tools that never finish: cancel once, a grace, destroy once", async () => {
  await using plugin = await open("07_never_finish", {
    limits: { cancelGraceMs: 300, stuckMs: 5_000 },
  });
  const ignored = await assertRejects(
    () => plugin.callTool("probe_pending", {}, { timeoutMs: 50 }),
    AbiError,
    "ignored cancel",
  );
  assertEquals(ignored.code, "timeout");
  assertEquals((await accounts(plugin)).wrong, []);
  await assertRejects(
    () => plugin.callTool("probe_block", { ms: 3_000 }, { timeoutMs: 50 }),
    AbiError,
    "ignored cancel",
  );
  const none = await assertRejects(
    () => plugin.callTool("probe_exec_null"),
    AbiError,
    "null handle",
  );
  assertEquals(none.code, "tool");
  const { counts, wrong } = await accounts(plugin);
  // probe_block still sleeps in poll: its handle goes when it wakes up.
  assertEquals(wrong, ["live_handles"]);
  assertEquals(counts.cancels, 2);
});

test("07 a call that finishes after the cancel delivers its result", async () => {
  await using plugin = await open("07_never_finish", {
    limits: { cancelGraceMs: 5_000, stuckMs: 9_000 },
  });
  const result = await plugin.callTool("probe_lateok", {}, { timeoutMs: 30 });
  assertEquals(result.content, [{
    type: "text",
    text: "finished after cancel",
  }]);
  assertEquals((await accounts(plugin)).wrong, []);
});

for (const tool of ["probe_hang", "probe_exec_hang"]) {
  test(`07 ${tool} costs its caller the deadline, the plugin its process, others nothing`, async () => {
    const crashed = Promise.withResolvers<AbiError>();
    await using plugin = await open("07_never_finish", {
      onCrash: crashed.resolve,
    });
    await using other = await open("01_ok");
    const abort = new AbortController();
    const waiting = assertRejects(
      () => other.callTool("probe_wait", {}, { signal: abort.signal }),
      AbiError,
      "cancelled by host",
    );
    const hang = await assertRejects(
      () => plugin.callTool(tool, {}, { timeoutMs: 50 }),
      AbiError,
      "ignored cancel",
    );
    assertEquals(hang.code, "timeout");
    assertEquals((await crashed.promise).code, "wedged");
    assertEquals((await accounts(plugin)).counts.total_handles, 1);
    abort.abort();
    await waiting;
  });
}

test("15 params: host context injected, integers intact, ownership both ways", async () => {
  await using plugin = await open("15_params", {
    context: { cwd: "/w", sessionId: "s" },
  });
  const { content } = await plugin.callTool(
    "probe_raw",
    new JsonText('{"n":12345678901234567890,"__rpi":{"cwd":"/evil"},"f":1.0}'),
  );
  assertEquals(content, [{
    type: "text",
    text:
      '{"n":12345678901234567890,"f":1.0,"__rpi":{"cwd":"/w","sessionId":"s"}}',
  }]);
  assertEquals(
    await say(plugin, "probe_raw", { n: 2n ** 65n }),
    '{"n":36893488147419103232,"__rpi":{"cwd":"/w","sessionId":"s"}}',
  );
  assertEquals(
    await say(plugin, "probe_raw", null),
    '{"__rpi":{"cwd":"/w","sessionId":"s"}}',
  );
  assertEquals(await say(plugin, "probe_raw", [1]), "[1]");
  assertStringIncludes(await say(plugin, "probe_keep"), "kept");
  assertEquals(await say(plugin, "probe_leak"), "ok");
  const { counts, wrong } = await accounts(plugin);
  assertEquals(wrong, ["host_strings"]);
  assertEquals(
    (counts.host_strings_seen ?? 0) - (counts.host_strings_freed ?? 0),
    1,
  );
});

const CRASHES: [how: string, words: string][] = [
  ["segv", "crashed (SIGSEGV)"],
  ["abort", "crashed (SIGABRT)"],
  ["exit0", "unexpectedly (exit code 0)"],
  ["exit7", "unexpectedly (exit code 7)"],
  ["_exit", "unexpectedly (exit code 0)"],
  ["stack", "crashed (SIG"],
  ["fpe", "crashed (SIGFPE)"],
  ["trap", "crashed (SIGILL)"],
  ["dfree", "crashed (SIGABRT)"],
  ["kill", "crashed (SIGKILL)"],
];

test("17 every way to die is reported at once, restarted, and spares the others", async () => {
  await using other = await open("01_ok");
  const waiting = other.callTool("probe_wait", {}, { timeoutMs: 20_000 });
  waiting.catch(() => {});
  await using plugin = await open("17_crash");
  for (const [how, words] of CRASHES) {
    for (const thread of ["", "1"]) {
      const error = await assertRejects(
        () => plugin.callTool("probe_crash", { how, thread }),
        AbiError,
        words,
      );
      assertEquals(error.code, "crashed", how);
      assertStringIncludes(await say(plugin, "probe_ok"), "alive");
    }
  }
  let ended = false;
  waiting.catch(() => {}).finally(() => ended = true);
  assertEquals(
    await say(other, "probe_events"),
    JSON.stringify(Array(37).fill(0)),
  );
  assertEquals(ended, false);
});

test("17 a plugin that goes down too often is disabled until it is reloaded", async () => {
  await using plugin = await open("17_crash", {
    restart: { backoffMs: [1], maxRestarts: 1, windowMs: 60_000 },
  });
  for (let i = 0; i < 2; i++) {
    await assertRejects(
      () => plugin.callTool("probe_crash", { how: "segv" }),
      AbiError,
      "SIGSEGV",
    );
  }
  const error = await assertRejects(
    () => plugin.callTool("probe_ok"),
    AbiError,
    "is disabled",
  );
  assertEquals([error.code, plugin.disabled?.code], ["disabled", "disabled"]);
  await plugin.reload();
  assertStringIncludes(await say(plugin, "probe_ok"), "alive");
});

test("a pinned library is refused once its content differs", async () => {
  const path = await build("01_ok");
  const error = await assertRejects(
    () => loadNativePlugin(path, { sha256: `sha256:${"0".repeat(64)}` }),
    AbiError,
    "pinned is",
  );
  assertEquals(error.code, "preflight");
});
