import { assertEquals } from "@std/assert";
import { lineFrame } from "./line_frame.ts";

const line = (text: string, cut: boolean) => {
  const bytes = new TextEncoder().encode(text);
  return lineFrame({ text, bytes, size: cut ? 1e8 : bytes.length, cut }).item;
};

Deno.test("lineFrame() tells a line that is too long by its type, size and beginning", () => {
  const cases: [string, string | undefined][] = [
    [
      `{"type":"assistant","message":{"content":"${"x".repeat(9000)}`,
      "assistant",
    ],
    ['{"type":"user","n":[1,{"a":"b,c', "user"],
    ['{"type":"user', undefined],
    ["x".repeat(9000), undefined],
    ["[1,2,3", undefined],
  ];
  for (const [text, type] of cases) {
    const { frame, raw } = line(text, true);
    assertEquals(frame, {
      kind: "malformed",
      size: 1e8,
      head: text.slice(0, 512),
      ...(type === undefined ? {} : { type_name: type }),
    });
    assertEquals(raw, text);
  }
});

Deno.test("lineFrame() lets a result that is too long end its turn", () => {
  const text =
    `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"${
      "a,b ".repeat(4000)
    }`;
  assertEquals(line(text, true).frame, {
    kind: "result",
    subtype: "success",
    is_error: false,
    num_turns: 2,
    result: null,
  });
});

Deno.test("lineFrame() cuts what it shows between characters", () => {
  const text = `${"x".repeat(511)}😀${"y".repeat(5000)}`;
  const { frame, raw } = line(text, false);
  assertEquals(frame.kind === "malformed" && frame.head, "x".repeat(511));
  assertEquals(raw, text);
});
