/**
 * Random manifests, schemas and arguments: nothing but the typed errors may come out, and what is accepted must hold.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  ArgumentValidator,
  checkSchema,
  type JsonSchema,
  ManifestError,
  parseManifest,
  questionText,
  resolveConfig,
  toolName,
} from "@bulkhead/plugins";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readAnswer } from "../plugins/_hook_answer.ts";
import { ConfigError } from "../plugins/errors.ts";

const ROUNDS = 10_000;

/** Numbers that are the same in every run (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = (below: number) => number;

function pick<T>(next: Random, values: readonly [T, ...T[]]): T {
  return values[next(values.length)] ?? values[0];
}

const TEXT = `name = "demo"
version = "1"
[[tools]]
name = "a"
command = "./x"
args = ["\${PLUGIN_DIR}/a", 'b']
description = """
long
"""
timeout_ms = 30
env = ["KEY"]
permissions = { read = ["."], net = ["h:1"] }
annotations = { readOnlyHint = true }
[tools.params]
type = "object"
[tools.params.properties.x]
type = "string"
[[hooks]]
event = "pre_tool"
command = "./y"
matcher = "A|B"
on_error = "block"
[native]
library = "l.so"
`;

const PIECES: readonly [string, ...string[]] = [
  "[",
  "]",
  "[[",
  "]]",
  "{",
  "}",
  "=",
  ",",
  '"',
  "'",
  '"""',
  "\n",
  "\r",
  "#",
  ".",
  "${",
  "}",
  "$${X}",
  "\\u0000",
  "\0",
  "\u202e",
  "é👋",
  "tools",
  "hooks",
  "name",
  "command",
  "args",
  "params",
  "event",
  "runtime",
  "native",
  "true",
  "1979-05-27",
  "9223372036854775808",
  "-1e400",
  "nan",
  "__proto__",
  "constructor",
  "[[tools]]\n",
  "[[hooks]]\n",
  "command = 5\n",
  "timeout_ms = -1\n",
  "x".repeat(300),
];

function mutate(next: Random, text: string): string {
  let mutated = text;
  for (let changes = 1 + next(8); changes > 0; changes--) {
    const at = next(mutated.length + 1);
    const cut = next(3) === 0 ? next(40) : 0;
    mutated = mutated.slice(0, at) + (next(4) === 0 ? "" : pick(next, PIECES)) +
      mutated.slice(at + cut);
  }
  return mutated;
}

Deno.test("parseManifest() throws nothing but ManifestError for random manifests", () => {
  const next = random(1);
  let accepted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const text = mutate(next, round % 3 === 0 ? "" : TEXT);
    try {
      const manifest = parseManifest(text, { directory: "d" });
      accepted++;
      const lines = text.split("\n").length;
      for (const problem of manifest.problems) {
        assert(problem.line >= 1 && problem.line <= lines, text);
      }
      for (const tool of manifest.tools) {
        assert(tool.name.trim() !== "" && tool.timeoutMs >= 1, text);
        assert(/^[a-zA-Z0-9_-]{1,64}$/.test(
          toolName({ plugin: manifest.name, tool: tool.name }),
        ));
        checkSchema(tool.params);
      }
    } catch (error) {
      assert(error instanceof ManifestError, `${error}\n${text}`);
      assert(/^parsing manifest: line \d+: /.test(error.message));
    }
  }
  assert(accepted > ROUNDS / 20, `${accepted} accepted`);
});

Deno.test("resolveConfig() throws nothing but ConfigError for random texts", () => {
  const next = random(2);
  const base =
    '[capabilities.plugins]\nenabled = true\ndirs = ["~/x"]\nsandbox = "off"\n[capabilities.trust]\nenabled = true\ndefault = "ask"\n';
  for (let round = 0; round < ROUNDS / 4; round++) {
    const project = mutate(next, base);
    // What a workspace says never opens anything and never fails.
    const { config } = resolveConfig({ home: "/h", project });
    assertEquals([config.enabled, config.dirs.length], [false, 0]);
    try {
      resolveConfig({ home: "/h", userHome: "/u", user: mutate(next, base) });
    } catch (error) {
      assert(error instanceof ConfigError, String(error));
    }
  }
});

const KEYWORDS: readonly [string, ...string[]] = [
  "type",
  "properties",
  "required",
  "items",
  "prefixItems",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "$ref",
  "$defs",
  "$anchor",
  "$id",
  "enum",
  "const",
  "pattern",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "minLength",
  "maximum",
  "multipleOf",
  "uniqueItems",
  "contains",
  "minContains",
  "dependentRequired",
  "dependentSchemas",
  "format",
  "default",
  "examples",
  "description",
  "x-unknown",
  "__proto__",
  "$dynamicRef",
  "$dynamicAnchor",
];

function randomSchema(next: Random, depth: number): JsonSchema {
  const entries: [string, unknown][] = [];
  for (let count = next(5); count >= 0; count--) {
    const keyword = pick(next, KEYWORDS);
    entries.push([keyword, randomKeyword(next, keyword, depth)]);
  }
  return Object.fromEntries(entries);
}

function randomKeyword(next: Random, keyword: string, depth: number): unknown {
  if (next(25) === 0) return randomValue(next, 2);
  const inner = (): unknown =>
    depth <= 0 || next(6) === 0 ? next(2) === 0 : randomSchema(next, depth - 1);
  switch (keyword) {
    case "type":
      return pick<unknown>(next, [
        "object",
        "object",
        "string",
        "array",
        "number",
        ["object", "null"],
        "null",
      ]);
    case "properties":
    case "$defs":
    case "dependentSchemas":
      return { a: inner(), b: inner(), "c d": inner() };
    case "patternProperties":
      return { "^a": inner(), "(x+)+$": inner() };
    case "required":
      return pick<unknown>(next, [["a"], ["a", "b"], [], ["z"]]);
    case "dependentRequired":
      return { a: ["b"] };
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return [inner(), inner()];
    case "$ref":
    case "$dynamicRef":
      return pick(next, ["#", "#/$defs/a", "#/properties/a", "#x", "#/none"]);
    case "$anchor":
    case "$dynamicAnchor":
      return "x";
    case "$id":
      return "https://example.org/x";
    case "enum":
    case "examples":
      return [1, "a", null];
    case "pattern":
      return pick(next, ["^a+$", "(a+)+$", "[", "\\d{2}", "(?<n>a)\\k<n>"]);
    case "minLength":
    case "minContains":
      return next(5);
    case "maximum":
    case "multipleOf":
      return next(5);
    case "uniqueItems":
      return next(2) === 0;
    case "const":
    case "default":
    case "x-unknown":
      return randomValue(next, 2);
    case "format":
    case "description":
      return "text";
    default:
      return inner();
  }
}

function randomValue(next: Random, depth: number): unknown {
  switch (next(depth <= 0 ? 5 : 7)) {
    case 0:
      return null;
    case 1:
      return next(2) === 0;
    case 2:
      return next(100) - 50;
    case 3:
      return pick(next, ["", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "é👋"]);
    case 4:
      return next(7) / 3;
    case 5:
      return Array.from(
        { length: next(4) },
        () => randomValue(next, depth - 1),
      );
    default:
      return Object.fromEntries(
        ["a", "b", "c d", "__proto__"].slice(0, next(5)).map((
          key,
        ) => [key, randomValue(next, depth - 1)]),
      );
  }
}

Deno.test("checkSchema() accepts nothing that the library refuses, and its answers are safe for every provider", async () => {
  const next = random(3);
  const ajv = new Ajv2020({ strict: false, logger: false });
  let accepted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const schema: JsonSchema = {
      ...(next(4) === 0 ? {} : { type: "object" }),
      ...randomSchema(next, 3),
    };
    const checked = checkSchema(schema);
    if ("problem" in checked) {
      assert(typeof checked.problem === "string");
      continue;
    }
    accepted++;
    const text = JSON.stringify(schema);
    const { $id: _id, ...anonymous } = schema;
    assert(ajv.validateSchema(anonymous) === true, text);
    assertEquals(checked.wire.type, "object", text);
    for (const keyword of ["oneOf", "anyOf", "allOf", "not", "$ref"]) {
      assert(!Object.hasOwn(checked.wire, keyword), text);
    }
    const validator = new ArgumentValidator(schema);
    for (let calls = 0; calls < 3; calls++) {
      const args = randomValue(next, 4);
      const problem = await validator.problem(args);
      assert(
        problem === undefined || !problem.includes("cannot be used"),
        `${problem} ${text}`,
      );
    }
  }
  assert(accepted > ROUNDS / 20, `${accepted} accepted`);
});

Deno.test("readAnswer() takes whatever a hook prints", () => {
  const next = random(5);
  const keys: readonly [string, ...string[]] = [
    "decision",
    "reason",
    "updatedInput",
    "additionalContext",
    "hookSpecificOutput",
    "continue",
    "__proto__",
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const value = Object.fromEntries(
      Array.from(
        { length: next(5) },
        () => [pick(next, keys), randomValue(next, 3)],
      ),
    );
    const text = JSON.stringify(value);
    const answer = readAnswer({
      code: pick<number | null>(next, [0, 0, 0, 1, 2, null]),
      signal: null,
      success: next(3) > 0,
      timedOut: next(20) === 0,
      aborted: next(20) === 0,
      stdout: next(5) === 0 ? mutate(next, text) : text,
      stderr: pick(next, ["", "words", "\u001b[31m"]),
      truncated: { stdout: next(20) === 0, stderr: false },
      durationMs: 1,
      isolation: "none",
    }, 100);
    const { decision, failure, updatedInput } = answer;
    assert(
      decision === undefined || ["allow", "ask", "deny"].includes(decision),
    );
    assert(failure === undefined || decision === undefined);
    assert(updatedInput === undefined || typeof updatedInput === "object");
  }
});

Deno.test("questionText() shows no hidden character, whatever stands in it", () => {
  const next = random(4);
  for (let round = 0; round < ROUNDS / 10; round++) {
    const text = String.fromCodePoint(
      ...Array.from(
        { length: 20 },
        () =>
          pick(next, [
            next(0x20),
            next(0x300),
            0x2000 + next(0x100),
            0xe0000 + next(0x200),
          ]),
      ),
    );
    const shown = questionText({
      name: text,
      version: text,
      dir: text,
      hash: "sha256:0",
      lines: [text],
      problems: [text],
      sandbox: text,
    });
    assert(
      !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(shown.replaceAll("\n", "")),
      JSON.stringify(shown),
    );
    assertEquals(shown.split("\n").length, 9);
  }
});
