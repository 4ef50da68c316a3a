import { assertEquals, assertThrows } from "@std/assert";
import { parseUserLayer, validateDescriptor } from "./descriptor.ts";
import { harnessByLabel, HARNESSES } from "./harnesses/mod.ts";
import type {
  GuardSection,
  HarnessDescriptor,
  JsonHooksGuard,
} from "./harnesses/types.ts";

/** Codex, whose guard is a JSON hook with a compat form. */
function codex(): HarnessDescriptor & { guard: JsonHooksGuard } {
  const found = harnessByLabel("codex");
  const guard = found?.guard;
  if (found === undefined || guard?.engine !== "json-hooks") {
    throw new TypeError("codex has no JSON hook");
  }
  return { ...found, guard };
}

function withForm(change: Record<string, string>): GuardSection {
  const { guard } = codex();
  return {
    ...guard,
    forms: guard.forms.map((form) => ({ ...form, ...change })),
  };
}

Deno.test("validateDescriptor() accepts every built-in harness", () => {
  for (const harness of HARNESSES) validateDescriptor(harness, "built in");
});

Deno.test("validateDescriptor() names the rule that a descriptor breaks", () => {
  const base = codex();
  const speech = base.speech ?? { verdictTemplate: "", skillsDir: "" };
  const table: [Partial<HarnessDescriptor>, string][] = [
    [{ speech: undefined }, "needs a verdict"],
    [{ speech: { ...speech, skillsDir: "skills" } }, "two segments"],
    [{ speech: { ...speech, skillsDir: ".else/skills" } }, "configDirs"],
    [{ speech: { ...speech, verdictTemplate: "{" } }, "{reason}"],
    [{ speech: { ...speech, verdictTemplate: '{"{reason}":1}' } }, "{reason}"],
    [{ tools: { ...base.tools, shell: ["x"], read: ["x"] } }, '"x" is both'],
    [{ guard: { ...base.guard, hooksFile: "../hooks.json" } }, "relative path"],
    [
      { guard: { ...base.guard, hooksFile: "/etc/hooks.json" } },
      "relative path",
    ],
    [{ guard: withForm({ hookEntry: "{" }) }, "{command}"],
    [{ guard: withForm({ hookEntry: '{"{command}":1}' }) }, "{command}"],
    [{ guard: withForm({ commandTemplate: '"{exe}" guard' }) }, "{marker}"],
    [{ guard: withForm({ matcher: "^Nothing$" }) }, '"Nothing"'],
    [{
      guard: {
        engine: "opencode-plugin",
        pluginFile: ".x/p.js",
        plugin: "const EXE = 1;",
      },
    }, "plugin text"],
  ];
  for (const [change, part] of table) {
    assertThrows(
      () => validateDescriptor({ ...base, ...change }, "here"),
      TypeError,
      part,
    );
  }
});

Deno.test("parseUserLayer() refuses guards, damage and wrong types", () => {
  const table: [string, new (...args: never[]) => Error][] = [
    ["label =", SyntaxError],
    ["", TypeError],
    ["label = 3", TypeError],
    ['label = "a"\ntools = 1', TypeError],
    ['label = "a"\n[tools]\nwrite = "x"', TypeError],
    ['label = "a"\n[tools]\nwrite = [1]', TypeError],
    ['label = "a"\n[tools]\nwrite = ["x"]\nread = ["x"]', TypeError],
    ['label = "a"\n[guard]\n', TypeError],
    ['label = "a"\n[run]\nsupports_guard = true', TypeError],
  ];
  for (const [text, kind] of table) {
    assertThrows(() => parseUserLayer(text, "layer.toml"), kind, "layer.toml");
  }
  assertEquals(
    parseUserLayer('label = "a"\n[run]\nsupports_guard = false\n', "x").label,
    "a",
  );
});
