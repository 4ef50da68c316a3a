import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Codex CLI. Key order in the templates is an on-disk contract. */
export const codex: HarnessDescriptor = {
  ...hotParts("codex"),
  title: "Codex CLI",
  program: "codex",
  configDirs: [".agents", ".codex"],
  guard: {
    engine: "json-hooks",
    hooksFile: ".codex/hooks.json",
    event: "PreToolUse",
    forms: [
      {
        mode: "current",
        matcher: "^Bash$|^apply_patch$|^Edit$|^Write$|^mcp__",
        commandTemplate: '"{exe}" guard-codex "{marker}"',
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{command}","timeout":30,"statusMessage":"Checking eval write boundary"}]}',
      },
      {
        mode: "compat",
        matcher: "^Bash$|^apply_patch$|^Edit$|^Write$",
        commandTemplate: '"{exe}" guard-codex "{marker}"',
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{command}","timeout":30,"statusMessage":"Checking eval write boundary"}]}',
      },
    ],
  },
  // Ended in the middle of a command, Codex leaves these in a directory that is no repository.
  emptyLeftovers: [".git", ".aws"],
  proof: "real program",
  notes: [
    "Codex skips project hooks without a word unless the project is trusted (`codex exec --trust`, or trust_level in its config) and the run has `--dangerously-bypass-hook-trust` or the hook was trusted with /hooks.",
    "Keep `--sandbox workspace-write` as the second wall: input to a running shell fires no hook.",
  ],
};
