import { toolsOf } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Cursor: `preToolUse` of the project's hooks file, failing closed. */
export const cursor: HarnessDescriptor = {
  label: "cursor",
  title: "Cursor",
  program: "cursor-agent",
  skillsDir: ".cursor/skills",
  configDirs: [".cursor"],
  tools: toolsOf("cursor"),
  guard: {
    engine: "json-hooks",
    hooksFile: ".cursor/hooks.json",
    event: "preToolUse",
    companions: '{"version":1}',
    forms: [
      {
        mode: "current",
        matcher: "*",
        commandTemplate: '"{exe}" guard-hook --harness cursor "{marker}"',
        hookEntry:
          '{"command":"{command}","matcher":"{matcher}","timeout":30,"failClosed":true}',
      },
    ],
    verdictTemplate:
      '{"permission":"deny","user_message":"{reason}","agent_message":"{reason}"}',
    // Under failClosed an empty answer counts as a failure and blocks.
    allowOutput: '{"permission":"allow"}',
  },
  proof: "contract",
  notes: [],
};
