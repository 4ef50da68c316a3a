import { assertEquals } from "@std/assert";
import { inputText } from "./input_text.ts";

const ask = (input: string) =>
  `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":${input},"tool_name":"x"}}`;

Deno.test("inputText() gives the arguments as they are written", () => {
  for (
    const input of [
      '{"n":9007199254740993,"f":1.0,"e":1e400,"z":-0}',
      '{"a":"}]\\"{[","b":["\\\\",{"c":"\\\\\\""}]}',
      `${"[".repeat(150_000)}${"]".repeat(150_000)}`,
      "{}",
      "[ ]",
      '""',
      "null",
      "true",
      "-1.5e3",
      '{"__proto__":{"x":1},"x":1,"x":2}',
      '{"s":"\\ud83d \\u2028 漢"}',
      '{ "a" :\t[ 1 , 2 ] }',
    ]
  ) assertEquals(inputText(ask(input)), input, input.slice(0, 60));
});

Deno.test("inputText() finds the arguments wherever they stand, as JSON.parse() would", () => {
  for (
    const [line, expected] of [
      ['{"request":{"input":1,"input":{"b":2}}}', '{"b":2}'],
      ['{"request":{"input":1},"request":{"input":3}}', "3"],
      ['{"input":1,"request":{"x":{"input":2},"\\u0069nput":4}}', "4"],
      ['\u00a0{ "request" : { "input" : [5] } } \r', "[5]"],
      ['{"request":{"input":{\r"a":\r6}}}', '{ "a": 6}'],
      ['{"request":{"tool_name":"x"}}', "null"],
      ['{"request":[{"input":1}]}', "null"],
      ['{"request":"input"}', "null"],
      ["{}", "null"],
    ] as const
  ) assertEquals(inputText(line), expected, line);
});

Deno.test("inputText() is what JSON.parse() reads, for objects of all shapes", () => {
  let seed = 11;
  const next = (below: number) =>
    (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  const value = (depth: number): unknown => {
    switch (next(depth > 3 ? 4 : 6)) {
      case 0:
        return ['"', "\\", "{[", "]},", "x", "", "input"][next(7)];
      case 1:
        return next(1e9) / 7;
      case 2:
        return [null, true, false][next(3)];
      case 3:
        return "\\".repeat(next(4)) + '"';
      case 4:
        return Array.from({ length: next(4) }, () => value(depth + 1));
      default:
        return Object.fromEntries(
          Array.from(
            { length: next(4) },
            () => [["input", "request", '"', "a\\"][next(4)], value(depth + 1)],
          ),
        );
    }
  };
  for (let round = 0; round < 2000; round++) {
    const request = { a: value(0), input: value(0), b: value(0) };
    const line = JSON.stringify({ x: value(0), request }, null, next(3));
    assertEquals(JSON.parse(inputText(line)), request.input, line);
  }
});
