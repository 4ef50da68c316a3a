import { assertEquals } from "@std/assert";
import { EVERYDAY } from "./commands.ts";
import { SELDOM } from "./commands_seldom.ts";
import { READER_TABLES } from "./dispatch.ts";

/** The names that more than one of some tables has. */
function sharedNames(tables: readonly Readonly<Record<string, unknown>>[]) {
  const names = tables.flatMap((table) => Object.keys(table));
  return names.filter((name, i) => names.indexOf(name) !== i);
}

Deno.test("no program has two readers or two rows: a second would hide the first", () => {
  assertEquals(sharedNames(READER_TABLES), []);
  assertEquals(
    sharedNames([...EVERYDAY, ...SELDOM].map((table) => table())),
    [],
  );
});
