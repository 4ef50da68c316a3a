import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Gemini CLI: `hooks.BeforeTool` of the project's settings. */
export const gemini: HarnessDescriptor = {
  ...hotParts("gemini"),
  title: "Gemini CLI",
  program: "gemini",
  configDirs: [".gemini"],
  guard: {
    engine: "json-hooks",
    hooksFile: ".gemini/settings.json",
    event: "BeforeTool",
    forms: [
      {
        mode: "current",
        matcher: "^(write_file|replace|run_shell_command|mcp_.*|.*__.*)$",
        commandTemplate: '"{exe}" guard-hook --harness gemini "{marker}"',
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"name":"bulkhead-guard","type":"command","command":"{command}","timeout":30000}]}',
      },
    ],
  },
  proof: "contract",
  notes: [
    "An untrusted folder loads no project hooks; hooks must not be disabled in the user's settings.",
  ],
};
