import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AskDesk } from "./ask_desk.ts";
import { Bridge, type BridgeAnswer } from "./bridge.ts";
import type { HostTool, ToolCall, Verdict } from "./driver.ts";
import type { Frame } from "../frame.ts";
import { openCodePlugin } from "./opencode_plugin.ts";
import { guardHook, hookEntry, markerLog, toolEntry } from "./relays.ts";
import { ToolServer } from "./tool_server.ts";

const CALL = {
  "tool_name": "Bash",
  "tool_input": { command: "ls" },
  "tool_use_id": "c1",
};

async function start(
  entry: { argv: string[]; env: Record<string, string> },
  input: string,
): Promise<string> {
  const [program = "", ...args] = entry.argv;
  const child = new Deno.Command(program, {
    args,
    env: entry.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  })
    .spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout);
}

function hook(
  socket: string,
  marker?: { path: string; log: string | undefined },
): Promise<string> {
  return start(hookEntry(socket, marker), JSON.stringify(CALL));
}

Deno.test("Bridge answers a hook process: nothing for allow, a reason for deny, changed arguments", async () => {
  let answer: BridgeAnswer = { decision: "allow" };
  const seen: unknown[] = [];
  await using bridge = await Bridge.open({
    judge(payload) {
      seen.push(payload);
      return answer;
    },
  });
  assertEquals((await Deno.stat(bridge.dir)).mode! & 0o777, 0o700);
  assertEquals(await hook(bridge.path), "");
  assertEquals(seen, [CALL]);
  answer = { decision: "deny", reason: "not that" };
  assertEquals(JSON.parse(await hook(bridge.path)), {
    decision: "block",
    reason: "not that",
  });
  answer = { decision: "allow", updatedInput: { command: "pwd" } };
  const changed = JSON.parse(await hook(bridge.path)).hookSpecificOutput;
  assertEquals([changed.permissionDecision, changed.updatedInput], ["allow", {
    command: "pwd",
  }]);
  assertEquals(bridge.calls, 3);
});

Deno.test("Bridge denies when the judge throws, and removes its directory at the end", async () => {
  const bridge = await Bridge.open({
    judge: () => Promise.reject(new Error("no idea")),
  });
  assertStringIncludes(JSON.parse(await hook(bridge.path)).reason, "no idea");
  await bridge.close();
  assertEquals(await Deno.stat(bridge.dir).catch(() => "gone"), "gone");
  await bridge.close();
});

Deno.test("a hook without its worker lets the guard's marker decide, and refuses without one", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const marker = `${dir}/marker.json`;
  const log = `${dir}/log/denials.jsonl`;
  await Deno.mkdir(`${dir}/log`);
  await Deno.writeTextFile(
    marker,
    JSON.stringify({ active: true, allowedRoots: [dir], denialLogPath: log }),
  );
  const place = { path: marker, log: await markerLog(marker) };
  assertEquals(place.log, `${dir}/log`);
  const judged = async (command: string, at?: typeof place) =>
    await start(
      hookEntry(`${dir}/none.sock`, at),
      JSON.stringify({ tool_name: "Bash", tool_input: { command }, cwd: dir }),
    );
  assertEquals(await judged(`echo x > ${dir}/in.txt`, place), "");
  assertStringIncludes(
    JSON.parse(await judged("echo x > /etc/motd", place)).reason,
    "outside",
  );
  assertStringIncludes(await Deno.readTextFile(log), "/etc/motd");
  for (
    const none of [undefined, { path: `${dir}/no-marker.json`, log: undefined }]
  ) {
    assertEquals(JSON.parse(await judged("ls", none)).decision, "block");
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("the tool relay serves the host's tools as MCP on stdio", async () => {
  const echo: HostTool = {
    name: "echo",
    description: "Says it again",
    inputSchema: { type: "object" },
    execute: (args) =>
      Promise.resolve({
        content: [{ type: "text", text: JSON.stringify(args) }],
      }),
  };
  const source = {
    get: (name: string) => name === "echo" ? echo : undefined,
    *[Symbol.iterator]() {
      yield echo;
    },
  };
  await using bridge = await Bridge.open({
    judge: () => ({ decision: "deny" }),
    tools: new ToolServer(source, "bulkhead", "/"),
  });
  const { argv, env } = toolEntry(bridge.path);
  const child = new Deno.Command(argv[0]!, {
    args: argv.slice(1),
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  })
    .spawn();
  const writer = child.stdin.getWriter();
  const lines = [
    { id: 1, method: "initialize", params: {} },
    { method: "notifications/initialized" },
    {
      id: 2,
      method: "tools/call",
      params: { name: "echo", arguments: { a: 1 } },
    },
  ];
  for (const line of lines) {
    await writer.write(
      new TextEncoder().encode(
        JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n",
      ),
    );
  }
  let text = "";
  const decoder = new TextDecoder();
  const reader = child.stdout.getReader();
  while (text.split("\n").length < 3) {
    text += decoder.decode((await reader.read()).value, { stream: true });
  }
  const [hello, called] = text.split("\n").slice(0, 2).map((line) =>
    JSON.parse(line)
  );
  assertEquals(hello.result.serverInfo.name, "bulkhead");
  assertEquals(called.result.content[0].text, `{"a":1}`);
  await writer.close();
  await reader.cancel();
  await child.status;
});

Deno.test("the plugin for OpenCode asks the bridge, and the guard's hook when the bridge is gone", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const marker = `${dir}/marker.json`;
  await Deno.writeTextFile(
    marker,
    JSON.stringify({ active: true, allowedRoots: [dir] }),
  );
  const bridge = await Bridge.open({
    judge: (payload) =>
      // No word that the name of a temporary directory may spell.
      JSON.stringify(payload).includes("not this")
        ? { decision: "deny", reason: "bad word" }
        : { decision: "allow", updatedInput: { command: "changed" } },
  });
  const fallback = guardHook("opencode", { path: marker, log: undefined });
  await Deno.writeTextFile(
    `${dir}/gate.js`,
    openCodePlugin({ socket: bridge.path, fallback: fallback.argv }),
  );
  // It listens for SIGTERM and ends its process, so it runs in one of its own.
  await Deno.writeTextFile(
    `${dir}/play.js`,
    `import { BulkheadGate } from "./gate.js";
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
const hooks = await BulkheadGate({ directory: ${JSON.stringify(dir)} });
async function call(command) {
  const output = { args: { command } };
  try {
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, output);
    return output.args.command;
  } catch (error) {
    return "thrown: " + error.message;
  }
}
console.log(JSON.stringify([await call("good"), await call("not this")]));
await lines.read();
console.log(JSON.stringify([await call("ls"), await call("echo x > /etc/motd")]));
Deno.exit(0);
`,
  );
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-config", `${dir}/play.js`],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await bridge.hello;
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals(JSON.parse((await reader.read()).value ?? ""), [
    "changed",
    "thrown: bad word",
  ]);
  await bridge.close();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("on\n"));
  const [allowed, denied] = JSON.parse((await reader.read()).value ?? "");
  assertEquals(allowed, "ls");
  assertStringIncludes(denied, "outside");
  await writer.close().catch(() => {});
  await reader.cancel();
  await child.status;
  await Deno.remove(dir, { recursive: true });
});

Deno.test("AskDesk asks when the verdict says so, remembers the answer and withdraws what nobody waits for", async () => {
  let verdict: Verdict = { decision: "ask", reason: "sure?" };
  const shown: Frame[] = [];
  const desk = new AskDesk({
    judge: () => verdict,
    show: (frame) => shown.push(frame),
  });
  const call: ToolCall = {
    toolName: "Bash",
    input: {},
    cwd: "/",
    toolUseId: "c1",
  };
  const never = new AbortController().signal;
  const first = desk.judge(call, never);
  await Promise.resolve();
  const [ask] = shown;
  assert(ask?.kind === "control_request" && ask.decision_reason === "sure?");
  assert(desk.answer(ask.request_id, { decision: "deny", reason: "no" }));
  assertEquals(await first, { decision: "deny", reason: "no" });
  assertEquals(desk.given("c1")?.decision, "deny");
  assert(!desk.answer(ask.request_id, { decision: "allow" }));

  const gone = new AbortController();
  const second = desk.judge({ ...call, toolUseId: "c2" }, gone.signal);
  await Promise.resolve();
  gone.abort();
  assertEquals((await second).decision, "deny");
  assertEquals(shown.at(-1)?.kind, "other");

  verdict = { decision: "undecided" };
  assertEquals(await desk.judge(call, never), { decision: "allow" });
  verdict = { decision: "deny" };
  assertEquals(await desk.judge(call, never), {
    decision: "deny",
    reason: "denied",
  });
});
