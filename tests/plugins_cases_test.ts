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
