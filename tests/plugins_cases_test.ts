/**
 * The shared case files, with bubblewrap and with Landlock.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import {
  playSet,
  playSetWithoutBubblewrap,
  runPlayer,
} from "./support/plugin_cases.ts";
import { hasTool } from "./support/require_tool.ts";

Deno.test("shared cases of plugins pass with bubblewrap", async () => {
  if (hasTool("bwrap")) await playSet("plugins", "required");
});

Deno.test({
  name: "shared cases of plugins pass with Landlock when bubblewrap is hidden",
  ignore: Deno.build.os !== "linux",
  fn: () => playSetWithoutBubblewrap("plugins"),
});

Deno.test("a case with an unknown key fails loudly", async () => {
  const lines = [
    '{"id":"a","steps":[{"op":"load","expect":{"outcom":"loaded"}}]}',
    '{"id":"b","steps":[{"op":"load","expcet":{}}]}',
    '{"id":"c","steps":[{"op":"laod"}]}',
    '{"id":"d","stpes":[],"steps":[]}',
    '{"id":"e","steps":[{"op":"call","tool":"x","expect":{"isError":false}}]}',
  ];
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, lines.join("\n"));
  const { code, verdicts } = await runPlayer([file, "/nonexistent"]);
  assertEquals(code, 1);
  assertEquals(
    verdicts.map((verdict) => verdict.pass),
    [...lines.map(() => false), undefined],
  );
  await Deno.remove(file);
});

Deno.test("a wrong expectation fails in every spelling", async () => {
  const wrong = [
    { toolsCount: 3 },
    { toolNames: ["x"] },
    { toolsContain: ["plugin__p__other"] },
    { toolsExclude: ["plugin__p__t"] },
    { toolsMatch: "^x" },
    { toolsAtMost: 0 },
    { loadedPlugins: ["q"] },
    { warningsAtLeast: 1 },
    { noticeMatches: "anything" },
    { stderr: "warning" },
    { promptsCount: 1 },
    { promptContains: "x" },
    { status: "blocked" },
    { hooks: ["stop"] },
    { present: ["{WS}/nothing"] },
    { withinMs: 0 },
    { descriptions: { "plugin__p__t": "other" } },
    { params: { "plugin__p__t": { type: "string" } } },
    { noWarnings: false },
    { configError: true },
    { diffMatches: "x" },
  ];
  const wrongOfCall = [
    { textContains: "zzz" },
    { outputExcludes: "hello" },
    { stdoutMatches: "^x" },
    { textEquals: "hello" },
    { text: "hell" + "oo" },
    { textStartsWith: "ello" },
    { textLength: 1 },
    { textLengthAtLeast: 100 },
    { textMaxLength: 2 },
    { textInOrder: ["o", "h"] },
    { textEmpty: true },
    { isError: true },
    { error: true },
    { exit: 1 },
    { textMatchesAny: ["^x", "y$"] },
    { textOneOf: ["x", "y"] },
  ];
  const load = (expect: object) => ({ op: "load", expect });
  const call = (expect: object) => ({
    op: "call",
    tool: "plugin__p__t",
    expect,
  });
  const right = {
    toolsCount: 1,
    toolNames: ["plugin__p__t"],
    status: "loaded",
  };
  const plays = [
    [load(right), call({ outputContains: "hello", exit: 0 })],
    ...wrong.map((expect) => [load(expect)]),
    ...wrongOfCall.map((expect) => [load({}), call(expect)]),
  ];
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(
    file,
    plays.map((steps, index) =>
      JSON.stringify({
        id: `${index}`,
        config: { enabled: true, trust: { enabled: true, default: "always" } },
        setup: [
          "mkdir {PLUGINS}/p",
          `printf '[[tools]]\\nname = "t"\\ncommand = "echo"\\nargs = ["hello"]\\n' > {PLUGINS}/p/plugin.toml`,
        ],
        steps,
      })
    ).join("\n"),
  );
  const { verdicts } = await runPlayer([
    file,
    "/nonexistent",
    "--isolation",
    "off",
  ]);
  const passed = verdicts.filter((verdict) => verdict.pass === true);
  assertEquals(
    passed.map(({ id }) => JSON.stringify(plays[Number(id)])),
    [JSON.stringify(plays[0])],
  );
  const loud = verdicts.filter((verdict) =>
    JSON.stringify(verdict).includes("unknown")
  );
  assertEquals(loud, [], "these spellings are not known at all");
  await Deno.remove(file);
});
