import { assert, assertEquals } from "@std/assert";
import {
  codexConfig,
  hookHash,
  hookStanding,
  serverNames,
  shellLine,
} from "./codex_config.ts";
import { CodexFrames } from "./codex_frames.ts";
import { findCodex } from "./codex_program.ts";
import { findOpenCode } from "./opencode_program.ts";
import { isOlder } from "./_programs.ts";
import { watchLeftovers } from "./leftovers.ts";
import { parseLine } from "../frame.ts";

Deno.test("hookHash() is what Codex 0.171.0 computed for this hook", async () => {
  assertEquals(
    await hookHash("/var/tmp/bulkhead-world-9a64c8d8065f2ec8/home/hook.sh"),
    "sha256:3c4300a14ae91fdbc57359a2e01df8540c6ce499066387b7735811d4de7a723b",
  );
});

Deno.test("shellLine() quotes what a shell would read", () => {
  assertEquals(
    shellLine(["/a/b", "--x=1", "a b", "it's", "$HOME", ""]),
    `/a/b --x=1 'a b' 'it'\\''s' '$HOME' ''`,
  );
});

Deno.test("codexConfig() keeps the workspace untrusted, /tmp out, the user's servers off", () => {
  const config = JSON.parse(JSON.stringify(codexConfig({
    cwd: "/w",
    hook: { argv: ["/hook"], env: {} },
    trustedHash: "sha256:1",
    tools: { argv: ["/deno", "run"], env: { A: "b" } },
    disable: ["mine"],
  })));
  assertEquals(config.projects["/w"].trust_level, "untrusted");
  assertEquals(config.sandbox_workspace_write.exclude_slash_tmp, true);
  assertEquals(config.mcp_servers.mine.enabled, false);
  assertEquals(config.mcp_servers.bulkhead.args, ["run"]);
  assertEquals(config.hooks.PreToolUse[0].hooks[0].command, "/hook");
});

Deno.test("hookStanding() trusts only our own hook, enabled, from the session", () => {
  const hook = {
    key: "/<session-flags>/config.toml:pre_tool_use:0:0",
    command: "/hook",
    enabled: true,
    source: "sessionFlags",
    trustStatus: "trusted",
    currentHash: "sha256:1",
  };
  const standing = (change: Record<string, unknown>) =>
    hookStanding({ data: [{ hooks: [{ ...hook, ...change }] }] }, "/hook");
  assert(standing({}).trusted);
  for (
    const change of [{ trustStatus: "untrusted" }, { enabled: false }, {
      command: "/other",
    }, { source: "project" }]
  ) {
    assert(!standing(change).trusted, JSON.stringify(change));
  }
  assertEquals(standing({ trustStatus: "modified" }).currentHash, "sha256:1");
  assert(!hookStanding({}, "/hook").trusted);
  assertEquals(serverNames({ config: { mcp_servers: { a: {}, b: {} } } }), [
    "a",
    "b",
  ]);
});

Deno.test("CodexFrames tells a turn: running, replay, delta, reply, calls, result, idle", () => {
  const frames = new CodexFrames();
  frames.root = "root";
  const told = [
    ["turn/started", { threadId: "root", turn: { id: "t1" } }],
    ["item/completed", {
      threadId: "root",
      item: { type: "userMessage", clientId: "u1", content: [{ text: "go" }] },
    }],
    ["item/agentMessage/delta", { threadId: "root", delta: "he" }],
    ["item/started", {
      threadId: "root",
      item: {
        type: "commandExecution",
        id: "c1",
        command: "ls",
        status: "inProgress",
      },
    }],
    ["item/completed", {
      threadId: "root",
      item: {
        type: "commandExecution",
        id: "c1",
        command: "ls",
        status: "completed",
        exitCode: 2,
        aggregatedOutput: "no",
      },
    }],
    ["item/completed", {
      threadId: "root",
      item: { type: "agentMessage", id: "m", text: "hello" },
    }],
    ["thread/tokenUsage/updated", {
      threadId: "root",
      tokenUsage: { total: { inputTokens: 7, outputTokens: 3 } },
    }],
    ["turn/completed", {
      threadId: "root",
      turn: { id: "t1", status: "completed", durationMs: 5 },
    }],
  ] as const;
  const all = told.flatMap(([method, params]) => frames.notice(method, params));
  assertEquals(
    all.map((frame) =>
      frame.kind === "system" ? frame.state ?? frame.subtype : frame.kind
    ),
    [
      "running",
      "turn/started",
      "user_echo",
      "stream_event",
      "item",
      "item",
      "user_echo",
      "assistant",
      "thread/tokenUsage/updated",
      "result",
      "idle",
    ],
  );
  const result = all.find((frame) => frame.kind === "result");
  assertEquals([
    result?.result,
    result?.usage?.input_tokens,
    result?.duration_ms,
  ], ["hello", 7, 5]);
  const echo = all.find((frame) =>
    frame.kind === "user_echo" && frame.tool_results !== undefined
  );
  assertEquals(
    echo?.kind === "user_echo" && echo.tool_results?.[0]?.is_error,
    true,
  );
  assertEquals(frames.turn, undefined);
});

Deno.test("CodexFrames: an interrupted and a failed turn are errors, a subagent's frames name their call", () => {
  const frames = new CodexFrames();
  frames.root = "root";
  const end = (turn: object) => {
    const [result] = frames.notice("turn/completed", {
      threadId: "root",
      turn,
    });
    return result?.kind === "result"
      ? [result.is_error, result.terminal_reason, result.errors]
      : [];
  };
  assertEquals(end({ status: "interrupted" }), [
    true,
    "aborted_tools",
    undefined,
  ]);
  assertEquals(end({ status: "failed", error: { message: "no" } }), [
    true,
    "failed",
    ["no"],
  ]);
  frames.notice("item/completed", {
    threadId: "root",
    item: {
      type: "collabAgentToolCall",
      id: "spawn",
      tool: "spawnAgent",
      receiverThreadIds: ["sub"],
    },
  });
  const [said] = frames.notice("item/completed", {
    threadId: "sub",
    item: { type: "agentMessage", text: "x" },
  });
  assertEquals(said?.parent_tool_use_id, "spawn");
  assertEquals(
    frames.notice("turn/completed", { threadId: "sub", turn: {} }).map((
      frame,
    ) => frame.kind),
    ["other"],
  );
});

Deno.test("CodexFrames never throws, whatever comes", () => {
  const frames = new CodexFrames();
  for (
    const method of [
      "turn/started",
      "turn/completed",
      "item/started",
      "item/completed",
      "error",
      "hook/started",
      "x",
    ]
  ) {
    for (
      const params of [{}, { item: 1, turn: [], error: null }, {
        item: { type: "fileChange", changes: 1 },
      }]
    ) {
      const made = frames.notice(method, params);
      for (const frame of made) {
        assert(parseLine(JSON.stringify(frame)).value !== undefined);
      }
    }
  }
  assertEquals(
    frames.ask("a", "item/tool/requestUserInput", {}, undefined),
    undefined,
  );
});

Deno.test("findCodex() and findOpenCode() step over the launchers of npm", async () => {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const arch = Deno.build.arch === "x86_64" ? "x64" : "arm64";
  const triple = Deno.build.arch === "x86_64" ? "x86_64" : "aarch64";
  const make = async (path: string) => {
    await Deno.mkdir(`${dir}/${path.replace(/\/[^/]*$/, "")}`, {
      recursive: true,
    });
    await Deno.writeTextFile(`${dir}/${path}`, "#!/bin/sh\n", { mode: 0o755 });
    return `${dir}/${path}`;
  };
  if (Deno.build.os === "linux") {
    const launcher = await make("lib/@openai/codex/bin/codex.js");
    await Deno.mkdir(`${dir}/bin`);
    await Deno.symlink(launcher, `${dir}/bin/codex`);
    assertEquals(await findCodex("codex", `${dir}/bin`), launcher);
    const native = await make(
      `lib/@openai/codex/node_modules/@openai/codex-linux-${arch}/vendor/${triple}-unknown-linux-musl/bin/codex`,
    );
    assertEquals(await findCodex("codex", `/nowhere:${dir}/bin`), native);
    const shim = await make("lib/opencode-ai/bin/opencode");
    await Deno.symlink(shim, `${dir}/bin/opencode`);
    const program = await make(
      `lib/opencode-ai/node_modules/opencode-linux-${arch}/bin/opencode`,
    );
    assertEquals(await findOpenCode("opencode", `${dir}/bin`), program);
  }
  assertEquals(await findCodex("codex", "/nowhere"), undefined);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("isOlder() compares numbers, and takes no version for new enough", () => {
  assert(isOlder("0.99.0", "0.171.0"));
  assert(!isOlder("0.171.0", "0.171.0"));
  assert(!isOlder("1.0.0", "0.171.0"));
  assert(!isOlder("", "0.171.0"));
});

Deno.test("watchLeftovers() removes only empty directories that were not there before", async () => {
  const dir = await Deno.makeTempDir();
  await Deno.mkdir(`${dir}/.git`);
  const clean = await watchLeftovers(dir, [
    ".git",
    ".codex",
    ".aws",
    ".agents",
  ]);
  await Deno.mkdir(`${dir}/.codex`);
  await Deno.mkdir(`${dir}/.aws`);
  await Deno.writeTextFile(`${dir}/.aws/kept`, "");
  await Deno.writeTextFile(`${dir}/.agents`, "");
  assertEquals(await clean(), [".codex"]);
  const left: string[] = [];
  for await (const entry of Deno.readDir(dir)) left.push(entry.name);
  assertEquals(left.sort(), [".agents", ".aws", ".git"]);
  await Deno.remove(dir, { recursive: true });
});
