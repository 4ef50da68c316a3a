import { assert, assertEquals, assertMatch } from "@std/assert";
import { alive } from "./support/processes.ts";
import { type Json, ScriptedHost } from "./support/scripted_host.ts";

const ALLOW = (request: Json): Json | undefined =>
  request.subtype === "hook_callback"
    ? {}
    : request.subtype === "can_use_tool"
    ? { behavior: "allow", updatedInput: request.input }
    : undefined;

/** An agent that runs one command and has nothing else to do. */
function oneCommand(command: string, ...args: string[]): Promise<ScriptedHost> {
  return ScriptedHost.start({
    script: { turns: [{ steps: [{ tool: "Bash", input: { command } }] }] },
    args,
  });
}

/** Answers the callback about a call with a decision. */
async function hookSays(host: ScriptedHost, decision: string): Promise<void> {
  const hook = await host.request("hook_callback");
  await host.respond(hook.request_id, {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: decision,
    },
  });
}

function toolResults(host: ScriptedHost): Json[] {
  return host.frames.flatMap((frame) => {
    if (typeof frame !== "object" || frame.type !== "user") return [];
    const content = (frame.message as Json).content;
    return Array.isArray(content)
      ? content.filter((block) => block.type === "tool_result")
      : [];
  });
}

function interrupt(host: ScriptedHost): Promise<void> {
  return host.send({
    type: "control_request",
    request_id: "int",
    request: { subtype: "interrupt" },
  });
}

Deno.test("scripted agent sends nothing before input and ends on EOF", async () => {
  await using host = await ScriptedHost.start({ script: { turns: [] } });
  assertEquals((await host.end()).code, 0);
  assertEquals(host.frames, []);
});

Deno.test("scripted agent interrupts a text, then takes the next turn", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{ steps: [{ say: "abcdefgh".repeat(50), delayMs: 20 }] }],
    },
  });
  await host.turn("one");
  await host.next((f) =>
    f.type === "stream_event" && f.event !== undefined &&
    (f.event as Json).type === "content_block_delta"
  );
  await interrupt(host);
  const ack = await host.next((f) => f.type === "control_response");
  assertEquals(ack.response, { subtype: "success", request_id: "int" });
  const replay = await host.next((f) => f.type === "user");
  assertEquals(replay.isReplay, true);
  const partial = await host.next((f) => f.type === "assistant");
  assert(JSON.stringify(partial).includes("abcd"));
  const mark = await host.next((f) => f.type === "user");
  assert(JSON.stringify(mark).includes("[Request interrupted by user]"));
  const result = await host.result();
  assertEquals(result.subtype, "error_during_execution");
  assertEquals(result.terminal_reason, "aborted_streaming");
  assertEquals("result" in result, false);
  await host.turn("two");
  assertEquals((await host.result()).result, "You said: two");
  assertEquals((await host.end()).code, 0);
});

Deno.test("scripted agent answers an interrupt while idle with success only", async () => {
  await using host = await ScriptedHost.start({ script: { turns: [] } });
  await interrupt(host);
  await host.next((f) => f.type === "control_response");
  await host.end();
  assertEquals(host.frames.length, 1);
});

Deno.test("scripted agent ends a running command when it is interrupted", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { tool: "Bash", input: { command: "echo $$ > pid; sleep 60" } },
          { say: "no" },
        ],
      }],
    },
    args: ["--allowedTools", "Bash"],
  });
  const watch = Deno.watchFs(host.cwd);
  await host.turn("go");
  for await (const event of watch) if (event.kind === "modify") break;
  await interrupt(host);
  const result = await host.result();
  assertEquals(result.terminal_reason, "aborted_tools");
  assertEquals(toolResults(host).length, 1);
  const pid = Number(await Deno.readTextFile(`${host.cwd}/pid`));
  assertEquals(alive(pid), false);
});

for (
  const [name, text, error] of [
    ["invalid JSON", "{not json\n", /^Error parsing streaming input line/],
    ["a line of blanks", "   \n", /^Error parsing streaming input line/],
    [
      "another role",
      '{"type":"user","message":{"role":"system","content":"x"}}\n',
      /Expected message role 'user', got 'system'/,
    ],
  ] as const
) {
  Deno.test(`scripted agent ends with code 1 on ${name}`, async () => {
    await using host = await ScriptedHost.start({ script: { turns: [] } });
    await host.sendText(text);
    const end = await host.ended();
    assertEquals(end.code, 1);
    assertMatch(end.stderr, error);
  });
}

Deno.test("scripted agent takes CRLF, a last line without newline and a string content", async () => {
  await using host = await ScriptedHost.start({ script: { turns: [] } });
  const line = (content: unknown) =>
    JSON.stringify({ type: "user", message: { role: "user", content } });
  await host.sendText(
    line("a") + "\r\n" + '["array"]\n{"type":"keep_alive"}\n' + line("b"),
  );
  assertEquals((await host.end()).code, 0);
  const results = host.frames.filter((f) =>
    typeof f === "object" && f.type === "result"
  );
  assertEquals(results.map((f) => (f as Json).result), [
    "You said: a",
    "You said: b",
  ]);
});

Deno.test("scripted agent denies an open ask when stdin ends, and finishes", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { tool: "Write", input: { file_path: "a.txt", content: "1" } },
          { say: "end" },
        ],
      }],
    },
  });
  await host.turn("go");
  await host.request("can_use_tool");
  assertEquals((await host.end()).code, 0);
  assertEquals(
    toolResults(host)[0]?.content,
    "Tool permission stream closed before response received",
  );
  assertEquals((await host.result()).result, "end");
});

Deno.test("scripted agent with stdin closed runs what rules allow and refuses what they ask", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { waitMs: 100 },
          { tool: "Bash", input: { command: "touch ran" } },
          { tool: "Write", input: { file_path: "a.txt", content: "1" } },
          { say: "end" },
        ],
      }],
    },
    args: [
      "--allowedTools",
      "Bash",
      "--settings",
      '{"permissions":{"ask":["Write"]}}',
    ],
  });
  await host.initialize();
  await host.turn("go");
  await host.end();
  assertEquals(
    host.frames.some((f) => (f as Json).type === "control_request"),
    false,
    "no callback is left to answer",
  );
  assert(
    (await Deno.stat(`${host.cwd}/ran`)).isFile,
    "a closed channel fails open, as measured",
  );
  assertEquals(
    toolResults(host)[1]?.content,
    "Tool permission request failed: Error: Stream closed",
  );
});

Deno.test("scripted agent ends with 143 on SIGTERM, its commands too", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{
          tool: "Bash",
          input: { command: "echo $$ > pid; exec sleep 60" },
        }],
      }],
    },
    args: ["--allowedTools", "Bash"],
  });
  const watch = Deno.watchFs(host.cwd);
  await host.turn("go");
  for await (const event of watch) if (event.kind === "modify") break;
  host.child.kill("SIGTERM");
  assertEquals((await host.ended()).code, 143);
  assertEquals(host.frames.some((f) => (f as Json).type === "result"), false);
  const pid = Number(await Deno.readTextFile(`${host.cwd}/pid`));
  assertEquals(alive(pid), false);
});

Deno.test("scripted agent refuses a call whose callback is not answered in time", async () => {
  await using host = await oneCommand("touch ran", "--allowedTools", "Bash");
  await host.initialize({
    hooks: {
      PreToolUse: [{
        matcher: "Bash|Write",
        hookCallbackIds: ["g"],
        timeout: 0.05,
      }],
    },
  });
  await host.turn("go");
  const asked = await host.request("hook_callback");
  const cancel = await host.next((f) => f.type === "control_cancel_request");
  assertEquals(cancel.request_id, asked.request_id);
  const result = await host.result();
  assertEquals((result.permission_denials as unknown[]).length, 1);
  assertEquals(toolResults(host)[0]?.is_error, true);
});

Deno.test("scripted agent asks even when a rule allows, if the callback says ask", async () => {
  await using host = await oneCommand("touch ran", "--allowedTools", "Bash");
  await host.initialize();
  await host.turn("go");
  await hookSays(host, "ask");
  const ask = await host.request("can_use_tool");
  assertEquals((ask.request as Json).decision_reason_type, "hook");
  await host.respond(ask.request_id, { behavior: "allow" });
  await host.result();
  assertMatch(String(toolResults(host)[0]?.content), /ZodError/);
  assertEquals(
    host.frames.filter((f) => (f as Json).type === "control_response").length,
    2,
  );
});

Deno.test("scripted agent does not let the callback's allow skip an ask rule", async () => {
  await using host = await oneCommand(
    "true",
    "--settings",
    '{"permissions":{"ask":["Bash"]}}',
  );
  await host.initialize();
  await host.turn("go");
  await hookSays(host, "allow");
  const ask = await host.request("can_use_tool");
  assertEquals((ask.request as Json).decision_reason_type, "rule");
  await host.respond("somebody-else", { behavior: "allow", updatedInput: {} });
  await host.respond(ask.request_id, {
    behavior: "deny",
    message: "no",
    interrupt: true,
  });
  const result = await host.result();
  assertEquals(result.terminal_reason, "aborted_tools");
});

Deno.test("scripted agent gives a subagent's calls their own id and the callback first", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{
          tool: "Task",
          input: { description: "d", prompt: "p" },
          steps: [
            { tool: "Write", input: { file_path: "in.txt", content: "1" } },
            { tool: "Write", input: { file_path: "../out.txt", content: "1" } },
            { say: "sub" },
          ],
        }, { say: "main" }],
      }],
    },
  });
  host.answer = (request) => {
    const input = request.input as Json;
    if (request.subtype !== "hook_callback") {
      return { behavior: "allow", updatedInput: input };
    }
    const path = String((input.tool_input as Json).file_path ?? host.cwd + "/");
    return path.startsWith(host.cwd + "/") ? {} : {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "outside the workspace",
      },
    };
  };
  await host.initialize();
  await host.turn("go");
  const result = await host.result();
  assertEquals(result.permission_denials, [], "the main thread's denials only");
  const hooks = host.frames.flatMap((f) => {
    const request = (f as Json).request as Json | undefined;
    return request?.subtype === "hook_callback" ? [request.input as Json] : [];
  });
  assertEquals(hooks.map((h) => h.tool_name), ["Agent", "Write", "Write"]);
  assertEquals(hooks.map((h) => h.agent_id !== undefined), [false, true, true]);
  assert((await Deno.stat(`${host.cwd}/in.txt`)).isFile);
  assertEquals(
    await Deno.stat(`${host.dir}/out.txt`).catch(() => "none"),
    "none",
  );
  assertEquals(toolResults(host).map((r) => r.is_error === true), [
    false,
    true,
    false,
  ]);
});

Deno.test("scripted agent calls tools of a server behind the pipes", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{ tool: "mcp__bulkhead__greet", input: { name: "x" } }],
      }],
    },
    args: [
      "--mcp-config",
      '{"mcpServers":{"bulkhead":{"type":"sdk","name":"bulkhead"}}}',
    ],
  });
  host.answer = (request) => {
    if (request.subtype !== "mcp_message") return ALLOW(request);
    const message = request.message as Json;
    const result = message.method === "tools/list"
      ? { tools: [{ name: "greet", inputSchema: { type: "object" } }] }
      : message.method === "tools/call"
      ? {
        content: [{
          type: "text",
          text: `hello ${JSON.stringify(message.params)}`,
        }],
      }
      : {};
    return { mcp_response: { jsonrpc: "2.0", id: message.id ?? 0, result } };
  };
  await host.initialize({ sdkMcpServers: ["bulkhead"] });
  await host.turn("go");
  await host.result();
  assertMatch(
    JSON.stringify(toolResults(host)[0]?.content),
    /hello .*claudecode\/toolUseId/,
  );
  const init = host.frames.find((f) => (f as Json).subtype === "init") as Json;
  assertEquals(init.mcp_servers, [{ name: "bulkhead", status: "connected" }]);
});

Deno.test("scripted agent calls tools of a stdio server and ends it", async () => {
  const server = `
    const decoder = new TextDecoder();
    for await (const chunk of Deno.stdin.readable) {
      for (const line of decoder.decode(chunk).split("\\n").filter((l) => l)) {
        const { id, method } = JSON.parse(line);
        if (id === undefined) continue;
        const result = method === "tools/list"
          ? { tools: [{ name: "pid" }] }
          : method === "tools/call" ? { content: [{ type: "text", text: String(Deno.pid) }] } : {};
        console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
      }
    }`;
  const dir = await Deno.realPath(await Deno.makeTempDir());
  await Deno.writeTextFile(`${dir}/server.ts`, server);
  const config = {
    mcpServers: {
      s: {
        type: "stdio",
        command: Deno.execPath(),
        args: ["run", "--no-config", `${dir}/server.ts`],
      },
      gone: { type: "stdio", command: "/does/not/exist" },
    },
  };
  {
    await using host = await ScriptedHost.start({
      dir,
      script: {
        turns: [{
          steps: [{
            message: [{ tool: "mcp__s__pid" }, { tool: "mcp__gone__x" }],
          }, {
            say: "end",
          }],
        }],
      },
      args: ["--mcp-config", JSON.stringify(config)],
    });
    host.answer = ALLOW;
    await host.initialize();
    await host.turn("go");
    await host.result();
    const [first, second] = toolResults(host);
    const pid = Number((first?.content as Json[])[0]?.text);
    assert(alive(pid), "the server runs while the session does");
    assertMatch(String(second?.content), /No such tool available/);
    assertEquals((await host.end()).code, 0);
    assertEquals(alive(pid), false);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("scripted agent resumes only where the session was, and takes a uuid once", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const id = crypto.randomUUID(), uuid = crypto.randomUUID();
  const script = {
    turns: [{ steps: [{ say: "one" }] }, { steps: [{ say: "two" }] }],
  };
  {
    await using host = await ScriptedHost.start({
      dir,
      script,
      args: ["--session-id", id],
    });
    await host.turn("a", uuid);
    assertEquals((await host.result()).result, "one");
    await host.end();
  }
  {
    await using host = await ScriptedHost.start({
      dir,
      script,
      args: ["--session-id", id],
    });
    const end = await host.ended();
    assertEquals([end.code, end.stderr], [
      1,
      `Error: Session ID ${id} is already in use.\n`,
    ]);
    assertEquals(host.frames, []);
  }
  {
    await using host = await ScriptedHost.start({
      dir,
      script,
      args: ["--resume", id],
    });
    await host.turn("a", uuid);
    await host.turn("b");
    assertEquals((await host.result()).result, "two");
    await host.end();
    assertEquals(
      host.frames.filter((f) => (f as Json).type === "result").length,
      1,
    );
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("scripted agent merges a turn that comes while a tool runs", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { tool: "Write", input: { file_path: "a.txt", content: "1" } },
          { say: "one" },
        ],
      }],
    },
  });
  await host.turn("first");
  const ask = await host.request("can_use_tool");
  await host.turn("second", "22222222-2222-4222-8222-222222222222");
  await host.respond(ask.request_id, {
    behavior: "allow",
    updatedInput: (ask.request as Json).input,
  });
  assertEquals((await host.result()).result, "one");
  await host.end();
  const replays = host.frames.filter((f) => (f as Json).isReplay === true);
  assertEquals(replays.length, 2);
  assertEquals(
    host.frames.filter((f) => (f as Json).type === "result").length,
    1,
  );
});

Deno.test("scripted agent asks a question and hears the answer", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{ steps: [{ ask: "Red or blue?", options: ["red", "blue"] }] }],
    },
  });
  await host.turn("go");
  const ask = await host.request("can_use_tool");
  const input = (ask.request as Json).input as Json;
  await host.respond(ask.request_id, {
    behavior: "allow",
    updatedInput: { ...input, answers: { "Red or blue?": "blue" } },
  });
  await host.result();
  assertMatch(String(toolResults(host)[0]?.content), /"Red or blue\?"="blue"/);
});

Deno.test("scripted agent reads, edits and refuses a dangling link", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { tool: "Write", input: { file_path: "a.txt", content: "one two" } },
          {
            tool: "Edit",
            input: { file_path: "a.txt", old_string: "two", new_string: "2" },
          },
          { tool: "Read", input: { file_path: "a.txt" } },
          { tool: "Bash", input: { command: "ln -s ../nowhere link; exit 3" } },
          { tool: "Write", input: { file_path: "link", content: "x" } },
          { say: "${last}" },
        ],
      }],
    },
  });
  host.answer = ALLOW;
  await host.turn("go");
  const result = await host.result();
  const texts = toolResults(host).map((r) => String(r.content));
  assertEquals(texts[2], "1\tone 2");
  assertEquals(texts[3], "Exit code 3");
  assertMatch(String(result.result), /Refusing to write through symlink/);
});

Deno.test("scripted agent shows a malformed line, raw bytes and a frame of its own", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { fault: { kind: "malformed" } },
          { fault: { kind: "raw", hex: "7bff7d0a" } },
          {
            fault: {
              kind: "frame",
              frame: { type: "rate_limit_event", x: "${cwd}" },
            },
          },
          { say: "on" },
        ],
      }],
    },
  });
  await host.turn("go");
  assertEquals((await host.result()).result, "on");
  assert(host.frames.includes("this is not JSON"));
  assert(
    host.frames.some((f) => typeof f === "string" && f.includes("\ufffd")),
  );
  assert(host.frames.some((f) => (f as Json).x === host.cwd));
});

Deno.test("scripted agent floods stdout and stderr within its memory", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [
          { fault: { kind: "stderr", bytes: 3_000_000 } },
          { fault: { kind: "big_line", bytes: 3_000_000 } },
          { repeat: 2000, steps: [{ say: "x" }] },
          { fault: { kind: "no_newline", bytes: 1_000_000 } },
          { fault: { kind: "exit", code: 7, stderr: "é end\n" } },
        ],
      }],
    },
  });
  await host.turn("go");
  const end = await host.ended();
  assertEquals(end.code, 7);
  assertEquals(
    end.stderr.length >= 3_000_000 && end.stderr.endsWith("é end\n"),
    true,
  );
  const last = host.frames.at(-1);
  assertEquals(typeof last === "string" && last.length, 1_000_000);
});

Deno.test("scripted agent is killed by its own signal, silent, or ends by itself", async () => {
  {
    await using host = await ScriptedHost.start({
      script: { turns: [{ steps: [{ fault: { kind: "killed" } }] }] },
    });
    await host.turn("go");
    assertEquals((await host.ended()).signal, "SIGKILL");
  }
  await using host = await ScriptedHost.start({
    script: {
      turns: [{ steps: [{ fault: { kind: "silence" } }, { say: "woken" }] }],
    },
  });
  await host.turn("go");
  await host.next((f) => f.status === "requesting");
  assertEquals(
    (await host.end()).code,
    0,
    "silence ends with stdin, so that nothing is left",
  );
});

Deno.test("scripted agent leaves a grandchild in a session of its own", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{
          fault: { kind: "grandchild", seconds: 30, pidFile: "${cwd}/pid" },
        }, {
          fault: { kind: "exit", code: 0 },
        }],
      }],
    },
  });
  const watch = Deno.watchFs(host.cwd);
  await host.turn("go");
  for await (const event of watch) if (event.kind === "modify") break;
  await host.ended();
  const pid = Number(await Deno.readTextFile(`${host.cwd}/pid`));
  assert(alive(pid));
  Deno.kill(pid, "SIGKILL");
});

Deno.test("scripted agent starts a cron turn without a mark", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{ cron: { afterMs: 30, steps: [{ say: "cron" }] } }, {
          say: "now",
        }],
      }],
    },
  });
  await host.turn("go");
  assertEquals((await host.result()).result, "now");
  const result = await host.result();
  assertEquals([result.result, "origin" in result], ["cron", false]);
});

Deno.test("scripted agent stops a background task that outlives stdin", async () => {
  await using host = await ScriptedHost.start({
    script: {
      turns: [{
        steps: [{
          tool: "Bash",
          input: { command: "sleep 0.3", run_in_background: true },
        }, {
          say: "started",
        }],
      }],
    },
    args: ["--allowedTools", "Bash"],
  });
  await host.turn("go");
  await host.result();
  assertEquals((await host.end()).code, 0);
  const last = host.frames.filter((f) => (f as Json).type === "result").at(
    -1,
  ) as Json;
  assertEquals(last.origin, { kind: "task-notification" });
});

Deno.test("scripted agent answers settings and refuses what it does not know", async () => {
  await using host = await ScriptedHost.start({ script: { turns: [] } });
  const control = async (request: Json) => {
    await host.send({ type: "control_request", request_id: "r", request });
    return (await host.next((f) => f.type === "control_response"))
      .response as Json;
  };
  assertEquals(
    (await control({ subtype: "set_model", model: "x" })).subtype,
    "success",
  );
  assertEquals(
    (await control({ subtype: "set_permission_mode", mode: "plan" })).subtype,
    "success",
  );
  assertEquals(
    (await control({
      subtype: "set_permission_mode",
      mode: "bypassPermissions",
    })).subtype,
    "error",
  );
  assertEquals(
    (await control({ subtype: "dance" })).error,
    "Unsupported control request subtype: dance",
  );
});

Deno.test("scripted agent refuses a script that is not one", async () => {
  await using host = await ScriptedHost.start({
    script: { turns: [{ steps: [{ shout: "x" } as never] }] },
  });
  const end = await host.ended();
  assertEquals(end.code, 1);
  assertMatch(
    end.stderr,
    /turns\[0\]\.steps\[0\]: found keys "shout", want one of say/,
  );
});
