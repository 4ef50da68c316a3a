/**
 * Our own case files in every isolation, and the shared ones without any.
 *
 * @module
 */

import { playSet, playSetWithoutBubblewrap } from "./support/plugin_cases.ts";
import { hasTool } from "./support/require_tool.ts";

Deno.test("shared cases of plugins pass without isolation", async () => {
  await playSet("plugins", "off");
});

Deno.test("own cases of plugins pass with bubblewrap", async () => {
  if (hasTool("bwrap")) await playSet("plugins_own", "required");
});

Deno.test({
  name: "own cases of plugins pass with Landlock when bubblewrap is hidden",
  ignore: Deno.build.os !== "linux",
  fn: () => playSetWithoutBubblewrap("plugins_own"),
});

Deno.test("own cases of plugins pass without isolation", async () => {
  await playSet("plugins_own", "off");
});
