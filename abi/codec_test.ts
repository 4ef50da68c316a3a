import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  decodeToolResult,
  encodeArguments,
  encodeEvent,
  JsonText,
} from "./codec.ts";
import { isNestedWithin, parseJson, stringifyJson } from "./json.ts";

Deno.test("parseJson() and stringifyJson() keep every number as written", () => {
  for (
    const text of [
      '{"a":12345678901234567890}',
      '{"a":-9223372036854775808,"b":[1.0,1e3,1E+2,0.10,-0,1.7976931348623157e309]}',
      '{"a":0.1234567890123456789}',
      '[1,2.5,-3,"12345678901234567890",null,true]',
      "[1e400,-0.0,100000000000000000000000]",
      "[0.30000000000000004,5e-324]",
    ]
  ) {
    assertEquals(stringifyJson(parseJson(text)), text);
  }
  assertEquals(
    stringifyJson({ a: 2n ** 70n, b: undefined }),
    '{"a":1180591620717411303424}',
  );
  assertEquals(stringifyJson(undefined), "null");
});

Deno.test("JSON that is nested without end is an error of its own, and never the stack's", () => {
  const nested = (leaf: string) =>
    `${"[".repeat(50_000)}${leaf}${"]".repeat(50_000)}`;
  assertEquals(stringifyJson(parseJson(nested("1"))), nested("1"));
  assertThrows(() => parseJson(nested("12345678901234567890")), SyntaxError);
  for (const leaf of ["1", "12345678901234567890"]) {
    const block = `{"content":[{"type":"x","v":${nested(leaf)}}]}`;
    assertEquals(decodeToolResult(block).content.length, 1);
  }
  assert(isNestedWithin(parseJson('{"a":[{"b":1}]}'), 3));
  assert(!isNestedWithin(parseJson('{"a":[{"b":1}]}'), 2));
  assert(!isNestedWithin(parseJson(nested("1")), 100));
});

Deno.test("encodeArguments() merges the host context under __rpi", () => {
  const host = { cwd: "/w", sessionId: "s" };
  assertEquals(
    encodeArguments({ a: 1, __rpi: { cwd: "/model" } }, host),
    '{"a":1,"__rpi":{"cwd":"/w","sessionId":"s"}}',
  );
  assertEquals(
    encodeArguments(null, host),
    '{"__rpi":{"cwd":"/w","sessionId":"s"}}',
  );
  assertEquals(encodeArguments(undefined), "{}");
  assertEquals(encodeArguments([1], host), "[1]");
  assertEquals(encodeArguments("x", host), '"x"');
  assertEquals(
    encodeArguments(new JsonText("12345678901234567890"), host),
    "12345678901234567890",
  );
  assertEquals(encodeArguments({ a: 1, __rpi: 1 }), '{"a":1}');
  assertEquals(
    encodeArguments(new JsonText('{"__proto__":1}'), {}),
    '{"__proto__":1}',
  );
  const given = { a: 1 };
  encodeArguments(given, host);
  assertEquals(given, { a: 1 });
  assertThrows(() => encodeArguments(new JsonText("{")), SyntaxError);
});

Deno.test("decodeToolResult() is lenient and loses nothing", () => {
  assertEquals(decodeToolResult(""), { content: [] });
  assertEquals(
    decodeToolResult(
      '{"content":[{"type":"text","text":"a"},{"type":"odd","x":1},"s",7]}',
    ).content,
    [
      { type: "text", text: "a" },
      { type: "text", text: '{"type":"odd","x":1}' },
      { type: "text", text: "s" },
      { type: "text", text: "7" },
    ],
  );
  assertEquals(
    decodeToolResult('{"details":{"n":12345678901234567890}}').content,
    [],
  );
  assertEquals(
    stringifyJson(
      decodeToolResult('{"details":{"n":12345678901234567890}}').details,
    ),
    '{"n":12345678901234567890}',
  );
  assertEquals(decodeToolResult('{"ok":true}').content, [{
    type: "text",
    text: '{"ok":true}',
  }]);
  assertEquals(
    decodeToolResult(
      '{"content":[],"terminate":true,"addedToolNames":["a",1],"usage":{"x":1}}',
    ),
    {
      content: [],
      terminate: true,
      addedToolNames: ["a"],
      usage: { x: 1 },
    },
  );
  assertEquals(decodeToolResult("[1").content, [{ type: "text", text: "[1" }]);
  assertEquals(decodeToolResult("[".repeat(100_000)).content.length, 1);
});

Deno.test("encodeEvent() puts each payload into its place and hides the host context", () => {
  assertEquals(encodeEvent({ type: "MessageEnd", message: { a: 1 } }), {
    tag: 23,
    strings: ['{"a":1}'],
    isError: false,
  });
  assertEquals(
    encodeEvent({
      type: "ToolCall",
      toolCallId: "c",
      toolName: "t",
      params: { x: 1, __rpi: { cwd: "/" } },
    }),
    { tag: 29, strings: ["c", "t", '{"x":1}'], isError: false },
  );
  assertEquals(
    encodeEvent({
      type: "ToolResult",
      toolCallId: "c",
      toolName: "t",
      result: {},
      isError: true,
    }),
    { tag: 30, strings: ["c", "t", "{}"], isError: true },
  );
  assertEquals(encodeEvent({ type: "TurnStart" }), {
    tag: 19,
    strings: [""],
    isError: false,
  });
});
