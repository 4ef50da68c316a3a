import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { modelSchema, modelText, providerSafeName } from "./tools.ts";

Deno.test("providerSafeName() keeps fitting names and makes the others fit, each in its own way", () => {
  assertEquals(providerSafeName("a_b-C9"), "a_b-C9");
  assertEquals(providerSafeName("x".repeat(64)), "x".repeat(64));
  for (
    const name of ["", "a b", "größe", "x".repeat(65), "a/b", "😀", "a\0b"]
  ) {
    assertMatch(providerSafeName(name), /^[a-zA-Z0-9_-]{1,64}$/);
  }
  assertNotEquals(providerSafeName("a b"), providerSafeName("a/b"));
  assertNotEquals(
    providerSafeName("x".repeat(65)),
    providerSafeName("x".repeat(66)),
  );
});

Deno.test("modelSchema() offers what every provider takes, and says what it leaves out", () => {
  const notes: string[] = [];
  const schema = (text: string) =>
    modelSchema(text, "t", (line) => notes.push(line));
  const city = { type: "object", properties: { city: { type: "string" } } };
  assertEquals(schema(JSON.stringify(city)), city);
  assertEquals(schema(JSON.stringify({ anyOf: [city] })), city);
  assertEquals(schema("[]"), { type: "object" });
  assertEquals(notes, []);
  for (
    const [text, why] of [
      ['{"type":"string"}', 'found "string"'],
      ['{"type":"object","properties":[1]}', '"properties" must be'],
      ['{"type":"object","required":"a"}', '"required" must be'],
      ['{"$ref":"https://example.org/x.json"}', '"$ref"'],
      ['{"properties":{"a":{"type":"strng"}}}', '"properties.a.type"'],
    ] as const
  ) {
    assertEquals(schema(text), { type: "object" }, text);
    const note = notes.pop() ?? "";
    assertStringIncludes(note, 'tool "t" is offered without its schema: ');
    assertStringIncludes(note, why);
  }
  assertEquals(schema('{"properties":{"a b":{},"c":{}}}'), {
    type: "object",
    properties: { c: {} },
  });
  assertStringIncludes(notes.pop() ?? "", 'property "a b" is not offered');
});

Deno.test("modelText() keeps a description from crowding out everything else", () => {
  const notes: string[] = [];
  const text = (given: string) =>
    modelText(given, "t", (line) => notes.push(line));
  assertEquals(text("x".repeat(16_384)), "x".repeat(16_384));
  assertEquals(notes, []);
  const cut = text("😀".repeat(10_000) + "y");
  assertEquals([cut.length, cut.isWellFormed()], [16_385, true]);
  assertStringIncludes(notes.pop() ?? "", "is cut to 16384");
});
