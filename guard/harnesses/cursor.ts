import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Cursor: `preToolUse` of the project's hooks file, failing closed. */
export const cursor: HarnessDescriptor = {
  ...hotParts("cursor"),
  title: "Cursor",
  program: "cursor-agent",
  configDirs: [".cursor"],
  guard: {
    engine: "json-hooks",
    hooksFile: ".cursor/hooks.json",
    event: "preToolUse",
    companions: '{"version":1}',
    forms: [
      {
        mode: "current",
        // No matcher: every tool is judged, whatever its matcher language makes of "*".
        matcher: "",
        commandTemplate: '"{exe}" guard-hook --harness cursor "{marker}"',
        hookEntry: '{"command":"{command}","timeout":30,"failClosed":true}',
      },
    ],
  },
  proof: "contract",
  notes: [],
};
