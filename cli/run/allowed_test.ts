import { assertEquals, assertMatch } from "@std/assert";
import { toolsOf, unknownAllowed } from "./allowed.ts";

const TOOLS = ["Read", "Edit", "mcp__bulkhead__greet"];

Deno.test("unknownAllowed() names what is no tool of the agent", () => {
  assertEquals(unknownAllowed(["Read", "Edit(src/**)"], TOOLS), []);
  assertEquals(
    unknownAllowed(["mcp__bulkhead", "mcp__bulkhead__greet"], TOOLS),
    [],
  );
  assertEquals(unknownAllowed(["NoSuchTool"], []), []);
  const [line = "", ...more] = unknownAllowed(["Raed"], TOOLS);
  assertEquals(more, []);
  assertMatch(line, /^WARNING: --allow "Raed" .*"Read".* Read, Edit, mcp__/);
});

Deno.test("toolsOf() reads the agent's own line, and shrugs at others", () => {
  assertEquals(toolsOf('{"type":"system","tools":["Read",1]}'), ["Read"]);
  for (const raw of ["", "{}", "[]", "null", '{"tools":"x"}']) {
    assertEquals(toolsOf(raw), []);
  }
});
