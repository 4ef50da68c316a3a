import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Copilot CLI: a hook file of our own below `.github/hooks`. */
export const copilot: HarnessDescriptor = {
  ...hotParts("copilot"),
  title: "Copilot CLI",
  program: "copilot",
  configDirs: [".github"],
  guard: {
    engine: "json-hooks",
    hooksFile: ".github/hooks/bulkhead-guard.json",
    event: "preToolUse",
    companions: '{"version":1}',
    forms: [
      {
        mode: "current",
        matcher: "*",
        commandTemplate: '"{exe}" guard-hook --harness copilot "{marker}"',
        hookEntry: '{"type":"command","bash":"{command}","timeoutSec":30}',
      },
    ],
  },
  proof: "contract",
  notes: [
    "Builds before 1.0.74 approved a denied call under `--allow-all-tools`.",
  ],
};
