import { hotParts } from "./tools.ts";
import type { HarnessDescriptor } from "./types.ts";

/** Every tool of Claude Code that writes or runs something. */
const MATCHER =
  "^(Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor|PowerShell|mcp__.*)$";

/** Claude Code. Key order in the templates is an on-disk contract. */
export const claudeCode: HarnessDescriptor = {
  ...hotParts("claude-code"),
  title: "Claude Code",
  program: "claude",
  configDirs: [".claude"],
  guard: {
    engine: "json-hooks",
    hooksFile: ".claude/settings.local.json",
    event: "PreToolUse",
    // Without it a repository's or the user's settings switch every hook off, without a word.
    switches: '{"disableAllHooks":false}',
    forms: [
      {
        mode: "current",
        since: "2.1.295",
        matcher: MATCHER,
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{exe}","args":["guard","{marker}"],"timeout":30,"onFailure":"block"}]}',
      },
      {
        mode: "current",
        since: "2.1.139",
        matcher: MATCHER,
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{exe}","args":["guard","{marker}"],"timeout":30}]}',
      },
      {
        mode: "current",
        matcher: MATCHER,
        commandTemplate: '"{exe}" guard "{marker}"',
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{command}","timeout":30}]}',
      },
      {
        mode: "compat",
        matcher: "Write|Edit|MultiEdit|NotebookEdit|Bash",
        commandTemplate: '"{exe}" guard "{marker}"',
        hookEntry:
          '{"matcher":"{matcher}","hooks":[{"type":"command","command":"{command}"}]}',
      },
    ],
  },
  proof: "real program",
  notes: [
    "Start claude in this directory: settings of parent directories are not read.",
    "`--setting-sources user`, `--bare` and `--safe-mode` leave the hook out.",
  ],
};
