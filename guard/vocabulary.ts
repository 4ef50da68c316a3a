/**
 * Which tool names write, patch, run a shell or only read, in every harness. Data: a harness
 * descriptor may add names, see {@linkcode MarkerTools}.
 *
 * @module
 */
import type { MarkerTools } from "./marker.ts";

/** What a tool does, as far as the guard is concerned. */
export type ToolKind =
  /** Writes the file it names. */
  | "write"
  /** Applies a patch body. */
  | "patch"
  /** Runs a shell command. */
  | "shell"
  /** Runs a PowerShell command. */
  | "powershell"
  /** Only reads. */
  | "read"
  /** Not named by any vocabulary: judged by the words in its name. */
  | "other";

/** The built-in vocabularies, by harness. */
export const VOCABULARIES: Readonly<Record<string, Readonly<MarkerTools>>> = {
  "claude-code": {
    write: ["Write", "Edit", "MultiEdit", "NotebookEdit"],
    shell: ["Bash", "Monitor"],
    read: [
      "Read",
      "Glob",
      "Grep",
      "LS",
      "NotebookRead",
      "WebFetch",
      "WebSearch",
      "TodoWrite",
      "SlashCommand",
    ],
  },
  codex: {
    write: ["Edit", "Write", "file_change"],
    patch: ["apply_patch"],
    shell: [
      "Bash",
      "command_execution",
      "shell",
      "exec_command",
      "local_shell",
      "unified_exec",
    ],
    read: ["update_plan", "view_image", "web_search"],
  },
  opencode: {
    write: ["edit", "write", "multiedit"],
    patch: ["apply_patch", "patch"],
    shell: ["bash"],
    read: ["read", "grep", "glob", "list", "webfetch", "todowrite", "todoread"],
  },
  gemini: {
    write: ["write_file", "replace", "edit"],
    shell: ["run_shell_command"],
    read: [
      "read_file",
      "read_many_files",
      "list_directory",
      "glob",
      "search_file_content",
    ],
  },
  cline: {
    write: ["editor", "write_to_file", "replace_in_file", "new_rule"],
    patch: ["apply_patch"],
    shell: ["run_commands", "execute_command"],
    read: ["read_files", "read_file", "list_files", "search_files"],
  },
  cursor: {
    write: [
      "Write",
      "Delete",
      "Edit",
      "EditNotebook",
      "edit_file",
      "edit_notebook",
      "delete_file",
      "reapply",
      "search_replace",
    ],
    patch: ["ApplyPatch", "applyPatch"],
    shell: ["Shell", "run_terminal_cmd"],
    read: [
      "Read",
      "Grep",
      "codebase_search",
      "list_dir",
      "grep_search",
      "file_search",
    ],
  },
  copilot: {
    write: ["create", "edit", "str_replace", "insert"],
    patch: ["apply_patch"],
    shell: ["bash"],
    read: ["view", "grep", "glob"],
  },
  pi: {
    write: ["write", "edit"],
    shell: ["bash"],
    read: ["read", "grep", "find", "ls"],
  },
};

const POWERSHELL = new Set(["PowerShell", "powershell", "pwsh", "Powershell"]);

/** Editors whose `command` argument says whether they read. */
const EDITORS = new Set(["str_replace_editor", "str_replace_based_edit_tool"]);

const BUILT_IN = collect(Object.values(VOCABULARIES));

function collect(
  lists: Iterable<Readonly<MarkerTools>>,
): Map<string, ToolKind> {
  const kinds = new Map<string, ToolKind>();
  // Later kinds win: a name that reads in one harness and writes in another counts as writing.
  for (const kind of ["read", "write", "patch", "shell"] as const) {
    for (const list of lists) {
      for (const name of list[kind] ?? []) kinds.set(name, kind);
    }
  }
  return kinds;
}

/**
 * What a tool does.
 *
 * @param name The tool name as the harness spells it.
 * @param extra Names that user layers add; they may add kinds of writing, never take one away.
 * @returns The kind.
 *
 * @example
 * ```ts
 * import { toolKind } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(toolKind("NotebookEdit"), "write");
 * assertEquals(toolKind("exec", { shell: ["exec"] }), "shell");
 * ```
 */
export function toolKind(name: string, extra?: MarkerTools): ToolKind {
  if (POWERSHELL.has(name)) return "powershell";
  if (EDITORS.has(name)) return "write";
  const known = BUILT_IN.get(name);
  if (known !== undefined && known !== "read") return known;
  if (extra !== undefined) {
    for (const kind of ["shell", "patch", "write", "read"] as const) {
      if (extra[kind]?.includes(name)) return kind;
    }
  }
  return known ?? "other";
}

/** The guard's own files below a root, used when the marker does not list them. */
export const OWN_FILES: readonly string[] = [
  ...".claude .agents .opencode .gemini .cline .cursor .github .pi".split(" ")
    .flatMap((dir) => [
      `${dir}/skills/.slow-powers-eval-guard.json`,
      `${dir}/skills/.slow-powers-eval-guard-manifest.json`,
    ]),
  ".claude/settings.local.json",
  ".codex/hooks.json",
  ".opencode/plugins/slow-powers-eval-guard.js",
  ".cline/plugins/slow-powers-eval-guard",
  ".cline/plugins/bulkhead-guard",
  ".cursor/hooks.json",
  ".gemini/settings.json",
  ".github/hooks/bulkhead-guard.json",
  ".pi/extensions/bulkhead-guard.js",
  ".eval-magic-outputs/guard-denials.jsonl",
];
