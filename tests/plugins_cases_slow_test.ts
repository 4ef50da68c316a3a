/**
 * Our own case files in every isolation, and the shared ones without any.
 *
 * All play with bubblewrap. A case that starts nothing in the sandbox and does not speak of it (a manifest, a name, a
 * schema, a question, an install) takes the same course in every isolation, so Landlock and none play only the others.
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
  fn: () => playSetWithoutBubblewrap("plugins_own", { dependent: true }),
});

Deno.test("own cases of plugins pass without isolation", async () => {
  await playSet("plugins_own", "off", { dependent: true });
});
