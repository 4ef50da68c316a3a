import { assert, assertEquals } from "@std/assert";
import type { Frame } from "../frame.ts";
import { AcpFrames } from "./acp_frames.ts";
import { OpenCodeFrames } from "./opencode_frames.ts";

function kinds(frames: readonly Frame[]): string[] {
  return frames.map((frame) =>
    frame.kind === "system" ? frame.state ?? frame.subtype : frame.kind
  );
}

function opencode(): {
  frames: OpenCodeFrames;
  tell(type: string, properties: Record<string, unknown>): Frame[];
} {
  const frames = new OpenCodeFrames();
  frames.root = "ses_root";
  return {
    frames,
    tell: (type, properties) =>
      frames.event({
        type,
        properties: { sessionID: "ses_root", ...properties },
        raw: "",
      }),
  };
}

Deno.test("OpenCodeFrames tells a turn once, however often the server does", () => {
  const { frames, tell } = opencode();
  frames.sent("u1");
  const user = { info: { id: "m1", role: "user" } };
  const assistant = {
    info: {
      id: "m2",
      role: "assistant",
      cost: 0.5,
      tokens: { input: 7, output: 3 },
    },
  };
  const done = {
    part: {
      id: "p1",
      type: "text",
      messageID: "m2",
      text: "hello",
      time: { end: 1 },
    },
  };
  const tool = (status: string) => ({
    part: {
      id: "p2",
      type: "tool",
      tool: "bash",
      callID: "c1",
      state: { status, input: { command: "ls" }, output: "a" },
    },
  });
  const all = [
    ...tell("message.updated", user),
    ...tell("session.status", { status: { type: "busy" } }),
    ...tell("session.status", { status: { type: "busy" } }),
    ...tell("message.updated", user),
    ...tell("message.updated", assistant),
    ...tell("message.part.delta", { field: "text", delta: "hel" }),
    ...tell("message.part.updated", done),
    ...tell("message.part.updated", done),
    ...tell("message.part.updated", tool("running")),
    ...tell("message.part.updated", tool("running")),
    ...tell("message.part.updated", tool("completed")),
    ...tell("session.idle", {}),
    ...tell("session.idle", {}),
  ];
  assertEquals(kinds(all), [
    "running",
    "user_echo",
    "stream_event",
    "assistant",
    "item",
    "item",
    "user_echo",
    "result",
    "idle",
  ]);
  const echo = all.find((frame) => frame.kind === "user_echo");
  assertEquals(echo?.uuid, "u1");
  const result = all.find((frame) => frame.kind === "result");
  assertEquals([
    result?.result,
    result?.usage?.input_tokens,
    result?.total_cost_usd,
  ], ["hello", 7, 0.5]);
});

Deno.test("OpenCodeFrames: a stopped turn is aborted, and does not make the next one fail", () => {
  const { frames, tell } = opencode();
  tell("session.status", { status: { type: "busy" } });
  frames.stopping = true;
  const info = {
    id: "m2",
    role: "assistant",
    error: { name: "MessageAbortedError", data: { message: "Aborted" } },
  };
  tell("message.updated", { info });
  const [first] = tell("session.idle", {});
  assertEquals(
    first?.kind === "result" && [first.is_error, first.terminal_reason],
    [true, "aborted_tools"],
  );
  tell("message.updated", { info });
  tell("session.status", { status: { type: "busy" } });
  const [second] = tell("session.idle", {});
  assertEquals(second?.kind === "result" && second.is_error, false);
  tell("session.status", { status: { type: "busy" } });
  tell("session.error", {
    error: { name: "ProviderAuthError", data: { message: "no key" } },
  });
  const [third] = tell("session.idle", {});
  assertEquals(third?.kind === "result" && third.errors, ["no key"]);
});

Deno.test("OpenCodeFrames: other sessions are not ours, a subagent's are linked to its call", () => {
  const { frames, tell } = opencode();
  assertEquals(tell("session.idle", { sessionID: "ses_other" }), []);
  tell("session.created", {
    sessionID: undefined,
    info: { id: "ses_sub", parentID: "ses_root" },
  });
  const task = {
    type: "tool",
    tool: "task",
    callID: "c9",
    state: { status: "running", metadata: { sessionId: "ses_sub" } },
  };
  tell("message.part.updated", { part: task });
  tell("message.updated", {
    sessionID: "ses_sub",
    info: { id: "m5", role: "assistant" },
  });
  const part = {
    id: "p5",
    type: "text",
    messageID: "m5",
    text: "sub",
    time: { end: 1 },
  };
  const [said] = tell("message.part.updated", { sessionID: "ses_sub", part });
  assertEquals([said?.kind, said?.parent_tool_use_id], ["assistant", "c9"]);
  assertEquals(frames.children(), ["ses_sub"]);
  const ask = frames.ask("a", {
    sessionID: "ses_sub",
    permission: "external_directory",
    tool: { callID: "c7" },
  }, undefined);
  assertEquals([ask.agent_id, ask.tool_use_id, ask.decision_reason_type], [
    "ses_sub",
    "c7",
    "workingDir",
  ]);
});

Deno.test("AcpFrames names calls as the judges know them", () => {
  const frames = new AcpFrames();
  frames.session = "s";
  const asked = (toolCall: Record<string, unknown>) => {
    const ask = frames.ask("a", { toolCall: { toolCallId: "c", ...toolCall } });
    return [ask.tool_name, ask.input];
  };
  assertEquals(asked({ kind: "execute", rawInput: { command: "ls" } }), [
    "Bash",
    { command: "ls" },
  ]);
  assertEquals(
    asked({ kind: "edit", rawInput: {}, locations: [{ path: "/a" }] }),
    ["Write", { file_path: "/a" }],
  );
  assertEquals(
    asked({ kind: "edit", content: [{ type: "diff", path: "/b" }] }),
    ["Write", { file_path: "/b" }],
  );
  assertEquals(
    asked({
      kind: "execute",
      rawInput: { server: "x", tool: "y", arguments: { z: 1 } },
    }),
    [
      "mcp__x__y",
      { z: 1 },
    ],
  );
  assertEquals(asked({ kind: "other", title: "thing" }), ["thing", {}]);
});

Deno.test("AcpFrames tells a prompt: running, replay, delta, call, reply, result, idle", () => {
  const frames = new AcpFrames();
  frames.session = "s";
  frames.update({
    sessionUpdate: "agent_message_chunk",
    content: { text: "told again at load" },
  });
  const all = [
    ...frames.begun("go", "u1"),
    ...frames.update({
      sessionUpdate: "agent_message_chunk",
      content: { text: "hello" },
    }),
    ...frames.update({
      sessionUpdate: "tool_call",
      toolCallId: "c",
      title: "ls",
      status: "pending",
    }),
    ...frames.update({
      sessionUpdate: "tool_call_update",
      toolCallId: "c",
      status: "completed",
      content: [],
    }),
    ...frames.ended("end_turn", {}),
  ];
  assertEquals(kinds(all), [
    "running",
    "user_echo",
    "stream_event",
    "item",
    "item",
    "user_echo",
    "assistant",
    "result",
    "idle",
  ]);
  const result = all.find((frame) => frame.kind === "result");
  assertEquals(result?.result, "hello");
  const [, refused] = frames.ended("refusal", {});
  assert(refused !== undefined);
  const [failed] = frames.ended("error", {}, "broken");
  assertEquals(failed?.kind === "result" && failed.errors, ["broken"]);
});
