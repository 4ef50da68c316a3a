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
  proof: "real program",
  notes: [
    "Trust this folder in Gemini, or set GEMINI_CLI_TRUST_WORKSPACE=true: with `--skip-trust` the program works here but runs no project hook, without a word.",
  ],
};
