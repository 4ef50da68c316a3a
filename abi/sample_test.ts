import { assertEquals } from "@std/assert";
import { sampleArguments } from "./sample.ts";

Deno.test("sampleArguments() fills in what is required and nothing else", () => {
  for (
    const [schema, wanted] of [
      ["", "{}"],
      ["[]", "{}"],
      ['{"type":"string"}', "{}"],
      [
        '{"type":"object","properties":{"a":{"type":"integer","minimum":5},"b":{}},"required":["a"]}',
        '{"a":5}',
      ],
      [
        '{"required":["a","b"],"properties":{"a":{"enum":["x","y"]},"b":{"const":12345678901234567890}}}',
        '{"a":"x","b":12345678901234567890}',
      ],
      [
        '{"required":["a"],"properties":{"a":{"type":"array","minItems":1,"items":{"type":"boolean"}}}}',
        '{"a":[false]}',
      ],
      [
        '{"required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}}}',
        '{"a":null}',
      ],
      [
        '{"required":["a"],"properties":{"a":{"type":["number","null"],"default":2.5}}}',
        '{"a":2.5}',
      ],
      [
        '{"required":["a"],"properties":{"a":{"type":"string","minLength":8,"maxLength":9}}}',
        '{"a":"samplexx"}',
      ],
      ['{"required":["gone"]}', '{"gone":{}}'],
    ] as const
  ) {
    assertEquals(sampleArguments(schema), wanted, schema);
  }
});
