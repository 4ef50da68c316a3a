import { assertEquals } from "@std/assert";
import { READER_TABLES } from "./dispatch.ts";

Deno.test("READER_TABLES gives each program one reader: a second would hide the first", () => {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const table of READER_TABLES) {
    for (const name of Object.keys(table)) {
      if (seen.has(name)) twice.push(name);
      seen.add(name);
    }
  }
  assertEquals(twice, []);
});
