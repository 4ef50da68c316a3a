// deno-lint-ignore-file camelcase -- field names are the wire's own
import { assert, assertEquals } from "@std/assert";
import { parseFrame } from "./frame.ts";

Deno.test("parseFrame() reads system with its subtype", () => {
  assertEquals(parseFrame('{"type":"system","subtype":"init"}'), {
    kind: "system",
    subtype: "init",
  });
  assertEquals(parseFrame('{"type":"system"}'), {
    kind: "system",
    subtype: "",
  });
  assertEquals(parseFrame('{"type":"system","subtype":7}'), {
    kind: "system",
    subtype: "",
  });
});

Deno.test("parseFrame() joins the text blocks of an assistant message and keeps the calls", () => {
  const line =
    '{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"Bash","input":{}},{"type":"text","text":"b"}]}}';
  assertEquals(parseFrame(line), {
    kind: "assistant",
    text: "ab",
    tool_uses: [{ id: "t", name: "Bash", input: {} }],
  });
  assertEquals(
    parseFrame('{"type":"assistant","message":{"content":"plain"}}'),
    { kind: "assistant", text: "plain" },
  );
  assertEquals(parseFrame('{"type":"assistant"}'), {
    kind: "assistant",
    text: "",
  });
  assertEquals(
    parseFrame(
      '{"type":"assistant","message":{"content":[null,1,"x",{"type":"text","text":2}]}}',
    ),
    {
      kind: "assistant",
      text: "",
    },
  );
});

Deno.test("parseFrame() carries the terminal status of a result", () => {
  assertEquals(
    parseFrame(
      '{"type":"result","subtype":"success","is_error":false,"result":"done"}',
    ),
    {
      kind: "result",
      subtype: "success",
      result: "done",
      is_error: false,
    },
  );
  assertEquals(parseFrame('{"type":"result"}'), {
    kind: "result",
    subtype: "",
    result: null,
    is_error: false,
  });
  assertEquals(
    parseFrame('{"type":"result","result":{"a":1},"is_error":"true"}'),
    {
      kind: "result",
      subtype: "",
      result: null,
      is_error: false,
    },
  );
});

Deno.test("parseFrame() reads a user line as a receipt and no reply", () => {
  assertEquals(parseFrame('{"type":"user","message":{"role":"user"}}'), {
    kind: "user_echo",
  });
  assertEquals(
    parseFrame(
      '{"type":"user","message":{"content":[{"type":"text","text":"hi"}]},"isReplay":true}',
    ),
    {
      kind: "user_echo",
      source: "replay",
      text: "hi",
    },
  );
});

Deno.test("parseFrame() tells what a user line is in truth", () => {
  const source = (fields: object) => {
    const frame = parseFrame(JSON.stringify({ type: "user", ...fields }));
    return frame.kind === "user_echo" ? frame.source : frame.kind;
  };
  const text = (value: string) => ({
    message: { content: [{ type: "text", text: value }] },
  });
  assertEquals(
    source({
      message: {
        content: [{ type: "tool_result", tool_use_id: "t", content: "x" }],
      },
    }),
    "tool_result",
  );
  assertEquals(source(text("[Request interrupted by user]")), "synthetic");
  assertEquals(
    source(text("[Request interrupted by user for tool use]")),
    "synthetic",
  );
  assertEquals(
    source({ ...text("do it"), parent_tool_use_id: "t" }),
    "subagent",
  );
  assertEquals(source(text("something")), "other");
});

Deno.test("parseFrame() takes a delta's text and nothing else", () => {
  const delta = (value: unknown) => {
    const frame = parseFrame(
      JSON.stringify({
        type: "stream_event",
        event: { type: "content_block_delta", delta: value },
      }),
    );
    return frame.kind === "stream_event" ? frame.delta : frame;
  };
  assertEquals(delta({ type: "text_delta", text: "par" }), "par");
  assertEquals(delta({ type: "thinking_delta", thinking: "hm" }), null);
  assertEquals(delta({ type: "input_json_delta", partial_json: "{" }), null);
  assertEquals(parseFrame('{"type":"stream_event"}'), {
    kind: "stream_event",
    delta: null,
  });
});

Deno.test("parseFrame() keeps an unknown type", () => {
  assertEquals(parseFrame('{"type":"rate_limit_event","x":1}'), {
    kind: "other",
    type_name: "rate_limit_event",
  });
  assertEquals(parseFrame('{"a":1}'), { kind: "other", type_name: "" });
  assertEquals(parseFrame('{"type":["user"]}'), {
    kind: "other",
    type_name: "",
  });
  assertEquals(parseFrame('{"type":"constructor"}'), {
    kind: "other",
    type_name: "constructor",
  });
});

Deno.test("parseFrame() reads a control request", () => {
  const line =
    '{"type":"control_request","request_id":"req-1","request":{"subtype":"can_use_tool","tool_name":"Read","input":{"file_path":"/a"}}}';
  assertEquals(parseFrame(line), {
    kind: "control_request",
    request_id: "req-1",
    subtype: "can_use_tool",
    tool_name: "Read",
    input: { file_path: "/a" },
  });
  assertEquals(parseFrame('{"type":"control_request"}'), {
    kind: "control_request",
    request_id: "",
    subtype: "",
    tool_name: "",
    input: null,
  });
});

Deno.test("parseFrame() matches control responses and cancels by their id", () => {
  assertEquals(
    parseFrame(
      '{"type":"control_response","response":{"subtype":"success","request_id":"a","response":{}}}',
    ),
    {
      kind: "other",
      type_name: "control_response",
      request_id: "a",
      subtype: "success",
    },
  );
  assertEquals(
    parseFrame('{"type":"control_cancel_request","request_id":"a"}'),
    {
      kind: "other",
      type_name: "control_cancel_request",
      request_id: "a",
    },
  );
});

Deno.test("parseFrame() calls everything that is no object malformed", () => {
  for (
    const line of [
      "",
      "   ",
      "GARBAGE",
      "[]",
      "null",
      "1",
      '"x"',
      "{",
      '{"a":1} x',
      "\ufeff{}",
      "NaN",
      "\0",
      "{'a':1}",
    ]
  ) {
    assertEquals(parseFrame(line), { kind: "malformed" }, JSON.stringify(line));
  }
});

Deno.test("parseFrame() trims what Unicode calls white space", () => {
  for (
    const space of [" ", "\t", "\r", "\u00a0", "\u0085", "\u2028", "\u3000"]
  ) {
    assertEquals(parseFrame(`${space}{"type":"x"}${space}`), {
      kind: "other",
      type_name: "x",
    }, JSON.stringify(space));
  }
});

Deno.test("parseFrame() marks a subagent's text and an API failure", () => {
  const frame = parseFrame(
    '{"type":"assistant","parent_tool_use_id":"t","error":"rate_limit","uuid":"u","session_id":"s"}',
  );
  assertEquals(frame, {
    kind: "assistant",
    text: "",
    error: "rate_limit",
    uuid: "u",
    session_id: "s",
    parent_tool_use_id: "t",
  });
});

Deno.test("parseFrame() never throws, whatever the line", () => {
  const parts = [
    "{",
    "}",
    "[",
    "]",
    '"type"',
    ":",
    ",",
    '"user"',
    '"message"',
    "null",
    "\\",
    "\ud83d",
    "1e999",
    " ",
  ];
  let seed = 7;
  const next = () => seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  for (let round = 0; round < 3000; round++) {
    let line = "";
    for (let length = next() % 12; length > 0; length--) {
      line += parts[next() % parts.length];
    }
    assert(typeof parseFrame(line).kind === "string");
  }
  const deep = `{"type":"assistant","message":{"content":${
    "[".repeat(100_000)
  }${"]".repeat(100_000)}}}`;
  assertEquals(parseFrame(deep), { kind: "assistant", text: "" });
  assertEquals(parseFrame('{"type":"user","message":{"content":"\\ud83d"}}'), {
    kind: "user_echo",
    source: "other",
    text: "\ud83d",
  });
  assertEquals(parseFrame('{"__proto__":{"type":"user"},"type":"x"}'), {
    kind: "other",
    type_name: "x",
  });
});

Deno.test("parseFrame() cuts a long text between characters", () => {
  const content = `${"x".repeat(4095)}😀y`;
  const frame = parseFrame(
    JSON.stringify({ type: "user", message: { content } }),
  );
  assertEquals(frame.kind === "user_echo" && frame.text, "x".repeat(4095));
});

Deno.test("parseFrame() keeps what an ask says besides its arguments", () => {
  const more = {
    tool_use_id: "t",
    agent_id: "a",
    display_name: "Write",
    description: "writes",
    decision_reason: "why",
    decision_reason_type: "workingDir",
  };
  const request = { subtype: "can_use_tool", tool_name: "Write", ...more };
  assertEquals(
    parseFrame(
      JSON.stringify({ type: "control_request", request_id: "r", request }),
    ),
    { kind: "control_request", request_id: "r", input: null, ...request },
  );
});
