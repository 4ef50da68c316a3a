import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import {
  anyStringValueContains,
  parseOrdered,
  printOrdered,
  substitute,
  substituteStrings,
} from "./ordered_json.ts";

Deno.test("parseOrdered() and printOrdered() keep number-like keys, __proto__ and number spelling", () => {
  const text =
    '{"b":1.0,"10":[],"2":{},"__proto__":12345678901234567890,"a":[1e5,-0,"é\\n\\u0001"]}';
  assertEquals(printOrdered(parseOrdered(text)), text);
});

Deno.test("printOrdered() indents like JSON.stringify", () => {
  for (
    const value of [
      {},
      [],
      { a: [], b: {}, c: [1, { d: null }], e: 'x"\\\u2028' },
      [[[]]],
      "s",
      3,
    ]
  ) {
    const text = JSON.stringify(value, null, 2);
    assertEquals(printOrdered(parseOrdered(JSON.stringify(value)), 2), text);
    assertEquals(printOrdered(parseOrdered(` ${text}\n`), 2), text);
  }
});

Deno.test("parseOrdered() refuses what JSON.parse refuses, and deep nesting", () => {
  for (
    const bad of ["", "{", "{a:1}", "[1,]", "// c\n{}", '{"a":1}x', "\ufeff{}"]
  ) {
    assertThrows(() => parseOrdered(bad), SyntaxError);
  }
  assertThrows(
    () => parseOrdered("[".repeat(400) + "]".repeat(400)),
    SyntaxError,
    "nested deeper",
  );
});

Deno.test("parseOrdered() keeps the first place and the last value of a key given twice", () => {
  assertEquals(
    printOrdered(parseOrdered('{"a":1,"b":2,"a":3}')),
    '{"a":3,"b":2}',
  );
});

Deno.test("substituteStrings() reaches values at every depth, never keys, and does not re-read a value", () => {
  const value = parseOrdered('{"{a}":["{a}",{"x":"-{a}-{b}-{c}"}]}');
  const variables = new Map([["a", '{b}"'], ["b", "B"]]);
  assertEquals(
    printOrdered(substituteStrings(value, variables)),
    '{"{a}":["{b}\\"",{"x":"-{b}\\"-B-{c}"}]}',
  );
  assertEquals(substitute("$& {a}", new Map([["a", "$1"]])), "$& $1");
});

Deno.test("anyStringValueContains() looks at values only", () => {
  assert(
    anyStringValueContains(parseOrdered('{"k":["x{reason}"]}'), "{reason}"),
  );
  assertFalse(
    anyStringValueContains(parseOrdered('{"{reason}":1}'), "{reason}"),
  );
});
