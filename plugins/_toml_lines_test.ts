import { assertEquals } from "@std/assert";
import { TomlLines } from "./_toml_lines.ts";

Deno.test("TomlLines finds keys under table arrays, inline tables and after long strings", () => {
  const lines = new TomlLines(
    [
      "# a comment",
      'name = "x" # [not.a.table]',
      'text = """',
      "[[tools]]",
      '""""',
      "[[tools]]",
      'name = "a"',
      "args = [",
      '  "one",',
      '  "two", # two',
      "]",
      "[tools.params]",
      'type = "object"',
      "",
      "[[tools]]",
      'params = { type = "object", properties = { "a b".c = {} } }',
      "list = [{ x = 1 },",
      " { y = 2 }]",
    ].join("\r\n"),
  );
  assertEquals(lines.lineOf(["name"]), 2);
  assertEquals(lines.lineOf(["text"]), 3);
  assertEquals(lines.lineOf(["tools", 0]), 6);
  assertEquals(lines.lineOf(["tools", 0, "name"]), 7);
  assertEquals(lines.lineOf(["tools", 0, "args", 1]), 10);
  assertEquals(lines.lineOf(["tools", 0, "params", "type"]), 13);
  assertEquals(lines.lineOf(["tools", 1]), 15);
  assertEquals(
    lines.lineOf(["tools", 1, "params", "properties", "a b", "c"]),
    16,
  );
  assertEquals(lines.lineOf(["tools", 1, "list", 1, "y"]), 18);
  assertEquals(lines.lineOf(["tools", 1, "missing"]), 15);
  assertEquals(lines.lineOf(["nothing"]), 1);
});

Deno.test("TomlLines is total on text that is not TOML", () => {
  for (
    const text of [
      "",
      "[",
      "[[",
      "a",
      "a=",
      "a=[",
      "a={",
      'a="""',
      "a=[[[[",
      "]]]]",
      "a = }",
      "a=[,,,",
      "a={,}",
      "=",
      "[".repeat(100_000),
      `a=${"[".repeat(100_000)}`,
      `a=${"{a=".repeat(50_000)}`,
      "a.".repeat(100_000),
    ]
  ) new TomlLines(text).lineOf(["a", 0]);
});
