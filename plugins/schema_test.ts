import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ArgumentValidator, checkSchema } from "./schema.ts";
import { BoundedPattern } from "./_pattern_cost.ts";
import type { JsonSchema } from "./tool.ts";

function wireOf(schema: JsonSchema): JsonSchema {
  const checked = checkSchema(schema);
  assert("wire" in checked, JSON.stringify(checked));
  return checked.wire;
}

function problemOf(schema: JsonSchema): string {
  const checked = checkSchema(schema);
  assert("problem" in checked, JSON.stringify(checked));
  return checked.problem;
}

Deno.test("checkSchema() refuses what would poison a session", () => {
  const rows: [JsonSchema, string][] = [
    [{ type: "string" }, 'type = "object"'],
    [{ type: ["string", "null"] }, 'type = "object"'],
    [{ type: "object", properties: { a: { type: "strng" } } }, "strng"],
    [
      {
        type: "object",
        properties: { coin: { type: "string" }, required: ["coin"] },
      },
      "properties.required",
    ],
    [{ type: "object", properties: [] }, "properties"],
    [{ type: "object", required: "a" }, "required"],
    [{ type: "object", required: ["a", "a"] }, "required"],
    [{ type: "object", properties: { a: { minLength: -1 } } }, "minLength"],
    [{ type: "object", properties: { a: { pattern: "(" } } }, "pattern"],
    [{ type: "object", properties: { a: { enum: "x" } } }, "enum"],
    [{ type: "object", anyOf: [] }, "anyOf"],
    [{ type: "object", items: [{ type: "string" }] }, "items"],
    [
      { type: "object", properties: { a: { exclusiveMinimum: true } } },
      "exclusiveMinimum",
    ],
    [{ $ref: "https://example.org/x.json" }, "fetched"],
    [{ $ref: "other.json#/x" }, "fetched"],
    [{ properties: { a: { $ref: "#/$defs/none" } } }, "leads to no schema"],
    [{ properties: { a: { $ref: "#/properties" } } }, "leads to no schema"],
    [
      { type: "object", properties: { $x: {} }, required: ["$x"] },
      "required, but providers",
    ],
    [
      { type: "object", description: "x".repeat(70_000) },
      "bytes",
    ],
    [
      {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: 2000 }, (_, index) => [`p${index}`, {}]),
        ),
      },
      "subschemas",
    ],
    [deep(70), "deeper"],
  ];
  for (const [schema, part] of rows) {
    assertStringIncludes(problemOf(schema), part);
  }
});

Deno.test("checkSchema() one non-object root must not drop all tools: an untyped root becomes an object", () => {
  assertEquals(wireOf({}), { type: "object" });
  assertEquals(wireOf({ type: ["object", "null"] }), { type: "object" });
  assertEquals(wireOf({ properties: { a: true } }), {
    type: "object",
    properties: { a: {} },
  });
});

Deno.test("checkSchema() strips top-level combinators on the wire and shows their properties", () => {
  const wire = wireOf({
    type: "object",
    properties: { base: { type: "string" } },
    required: ["base"],
    oneOf: [
      { properties: { a: { type: "string" } }, required: ["a", "both"] },
      { properties: { b: { type: "number" } }, required: ["b", "both"] },
    ],
    allOf: [{ properties: { c: {} }, required: ["c"] }],
    $defs: { x: { properties: { "bad key": {} }, required: ["bad key"] } },
  });
  assertEquals(wire, {
    type: "object",
    $defs: { x: { properties: {}, required: [] } },
    properties: {
      base: { type: "string" },
      c: {},
      a: { type: "string" },
      b: { type: "number" },
    },
    required: ["base", "c"],
  });
});

Deno.test("checkSchema() follows a root reference on the wire", () => {
  const wire = wireOf({
    $schema: "http://json-schema.org/draft-07/schema#",
    $ref: "#/$defs/In",
    $defs: { In: { type: "object", properties: { q: { type: "string" } } } },
  });
  assertEquals(wire.properties, { q: { type: "string" } });
  assertEquals(Object.hasOwn(wire, "$ref"), false);
});

Deno.test("checkSchema() leaves unsafe property names off the wire and says so", () => {
  const checked = checkSchema({
    type: "object",
    properties: { ok: {}, "né": {}, $x: {}, ["k".repeat(65)]: {} },
  });
  assert("wire" in checked);
  assertEquals(checked.wire.properties, { ok: {} });
  assertEquals(checked.notes.length, 3);
});

Deno.test("checkSchema() keeps a __proto__ property as data", () => {
  const schema: JsonSchema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  );
  const wire = wireOf(schema);
  assertEquals(
    JSON.stringify(wire.properties),
    '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
  );
});

Deno.test("ArgumentValidator names the field and what was found", async () => {
  const validator = new ArgumentValidator({
    type: "object",
    properties: {
      name: { type: "string", maxLength: 3 },
      kind: { enum: ["a", "b"] },
      list: { type: "array", items: { type: "integer" }, uniqueItems: true },
    },
    required: ["name"],
    additionalProperties: false,
  });
  const rows: [unknown, string | undefined][] = [
    [{ name: "x" }, undefined],
    [{ name: 5 }, '"name" must be string, found number'],
    [{ nam: "x" }, '"name" is missing; "nam" is not a known property'],
    [{ name: "abcd" }, '"name" must NOT have more than 3 characters'],
    [{ name: "x", kind: "c" }, '"kind" must be one of ["a","b"]'],
    [{ name: "x", list: [1, "2"] }, '"list.1" must be integer, found string'],
    [
      { name: "x", list: [1, 2, 1] },
      '"list" must not hold the same item twice',
    ],
    [null, "the arguments must be an object"],
    [[1], "the arguments must be an object"],
  ];
  for (const [args, expected] of rows) {
    assertEquals(await validator.problem(args), expected);
  }
});

Deno.test("ArgumentValidator checks with the whole schema, top-level oneOf included", async () => {
  const validator = new ArgumentValidator({
    type: "object",
    oneOf: [{ required: ["a"] }, { required: ["b"] }],
  });
  assertEquals(await validator.problem({ a: 1 }), undefined);
  assert(await validator.problem({ a: 1, b: 1 }) !== undefined);
  assert(await validator.problem({}) !== undefined);
});

Deno.test("ArgumentValidator follows a recursive schema", async () => {
  const validator = new ArgumentValidator({
    type: "object",
    properties: {
      v: { type: "number" },
      kids: { type: "array", items: { $ref: "#" } },
    },
    required: ["v"],
  });
  assertEquals(await validator.problem({ v: 1, kids: [{ v: 2 }] }), undefined);
  assertEquals(
    await validator.problem({ v: 1, kids: [{}] }),
    '"kids.0.v" is missing',
  );
});

Deno.test("ArgumentValidator is bounded for schemas that recurse without end or multiply", async () => {
  const endless = new ArgumentValidator({
    type: "object",
    allOf: [{ $ref: "#" }],
  });
  assertStringIncludes(await endless.problem({}) ?? "", "too deep");

  const double = { anyOf: [{ $ref: "#" }, { $ref: "#" }, { type: "null" }] };
  const multiplying = new ArgumentValidator({
    type: "object",
    properties: { a: double },
  });
  let args: Record<string, unknown> = { a: 1 };
  for (let depth = 0; depth < 60; depth++) args = { a: args };
  assertStringIncludes(
    await multiplying.problem(args) ?? "",
    "reasonable time",
  );
});

Deno.test("ArgumentValidator is not frozen by catastrophic patterns and compares items in linear time", async () => {
  const attack = "a".repeat(40) + "!";
  for (
    const pattern of [
      "^(a+)+$",
      "(a|a)*b",
      "^(a?){50}a{50}$",
      "(a*)*b",
      "^(([a-z])+.)+[A-Z]([a-z])+$",
      "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x",
      "(?=(a+)+$)a",
      "^(a{1,20}){1,20}$",
    ]
  ) {
    const schema = {
      type: "object",
      properties: { a: { type: "string", pattern } },
    };
    const checked = checkSchema(schema);
    assert("wire" in checked);
    assertEquals(checked.wire.properties, schema.properties);
    // Tried one by one, the ways to match would outlast the whole run.
    await new ArgumentValidator(schema).problem({ a: attack });
  }
  const unique = new ArgumentValidator({
    type: "object",
    properties: { a: { type: "array", uniqueItems: true } },
  });
  const items = Array.from({ length: 100_000 }, (_, index) => ({ index }));
  assertEquals(await unique.problem({ a: items }), undefined);
});

Deno.test("ArgumentValidator applies harmless patterns", async () => {
  const rows: [string, string, boolean][] = [
    ["^[a-z]+$", "abc", true],
    ["^[a-z]+$", "ABC", false],
    ["^\\d{4}-\\d{2}-\\d{2}$", "2026-11-30", true],
    ["^\\d{4}-\\d{2}-\\d{2}$", "30.11.2026", false],
    ["^[^@]+@[^@]+\\.[a-z]{2,}$", "a@b.ch", true],
    ["^[^@]+@[^@]+\\.[a-z]{2,}$", "nobody", false],
    ["^(red|green|blue)$", "green", true],
    ["^(red|green|blue)$", "black", false],
    ["\\-", "a-b", true],
    ["^(?<year>\\d+)$", "x", false],
  ];
  for (const [pattern, text, valid] of rows) {
    const validator = new ArgumentValidator({
      type: "object",
      properties: { a: { pattern } },
    });
    assertEquals(
      await validator.problem({ a: text }) === undefined,
      valid,
      `${pattern} on ${text}`,
    );
    assertEquals(new BoundedPattern(pattern).isRisky, false, pattern);
  }
});

function deep(levels: number): JsonSchema {
  let schema: JsonSchema = { type: "object" };
  for (let level = 0; level < levels; level++) {
    schema = { type: "object", properties: { a: schema } };
  }
  return schema;
}

Deno.test("ArgumentValidator tells the patterns of one schema apart", async () => {
  const validator = new ArgumentValidator({
    type: "object",
    properties: { a: { pattern: "^a$" }, b: { $ref: "#/$defs/b" } },
    patternProperties: { "^n_": { type: "number" } },
    additionalProperties: false,
    $defs: { b: { type: "string", pattern: "^b$" } },
  });
  assertEquals(await validator.problem({ a: "a", b: "b", n_x: 1 }), undefined);
  assertStringIncludes(
    await validator.problem({ a: "a", b: "a" }) ?? "",
    '"b" must match the pattern "^b$"',
  );
  assertStringIncludes(
    await validator.problem({ n_x: "1" }) ?? "",
    '"n_x" must be number',
  );
});
