import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { pluginDirName, SERVED_NAME_MAX, toolName } from "./names.ts";

Deno.test("toolName() keeps plain names as the seed spells them", () => {
  assertEquals(toolName({ plugin: "demo", tool: "t" }), "plugin__demo__t");
  assertEquals(
    toolName({ plugin: "My-Plugin_2", tool: "do_it" }),
    "plugin__My-Plugin_2__do_it",
  );
});

Deno.test("toolName() shortens names over 64, the provider answers 400 otherwise", () => {
  const long = "x".repeat(100);
  const name = toolName({ plugin: long, tool: "t" });
  assertEquals(name.length, 64);
  assertMatch(name, /^plugin__x+_[0-9a-f]{8}$/);
  assertEquals(name, toolName({ plugin: long, tool: "t" }));
  assertNotEquals(name, toolName({ plugin: long, tool: "u" }));
  assertEquals(
    toolName({ plugin: long, tool: "t" }, { max: SERVED_NAME_MAX }).length,
    48,
  );
});

Deno.test("toolName() sanitises a dot, a slash, a space, an emoji in one name", () => {
  for (const name of ["a.b", "a/b", "a b", "日本", "👋", "", "\n", "\u202e"]) {
    const made = toolName({ plugin: name, tool: "t" });
    assertMatch(made, /^[a-zA-Z0-9_-]{1,64}$/);
    assertMatch(made, /_[0-9a-f]{8}$/);
  }
  assertNotEquals(
    toolName({ plugin: "a.b", tool: "t" }),
    toolName({ plugin: "a/b", tool: "t" }),
  );
});

Deno.test("toolName() never spells two pairs alike by moving an underscore", () => {
  const seen = new Map<string, string>();
  const parts = ["a", "b", "a_", "_a", "a__b", "__", "_", "a_b", "b__c", "-"];
  for (const plugin of parts) {
    for (const tool of parts) {
      const name = toolName({ plugin, tool });
      const pair = JSON.stringify([plugin, tool]);
      assert(!seen.has(name), `${pair} and ${seen.get(name)} are both ${name}`);
      seen.set(name, pair);
    }
  }
});

Deno.test("pluginDirName() never leaves its directory", () => {
  for (
    const name of ["../evil", "..", ".", "/etc", "a/b", "", "a\0b", "-rf", ".x"]
  ) {
    const made = pluginDirName(name);
    assertMatch(made, /^[a-zA-Z0-9_][a-zA-Z0-9_-]*$/);
  }
  assertEquals(pluginDirName("weather-2.0"), "weather-2.0");
});
