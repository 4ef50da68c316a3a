import { assertEquals } from "@std/assert";
import { decideCall } from "./explain.ts";

type Case = [tool: string, input: unknown];

function judges(expected: "allow" | "deny", cases: readonly Case[]): void {
  for (const [toolName, toolInput] of cases) {
    const { allow } = decideCall(
      { toolName, toolInput, cwd: "/work/env" },
      { active: true, allowedRoots: ["/work/env"] },
      { now: 0, home: "/home/me", paths: { readLink: () => undefined } },
    );
    assertEquals(
      allow ? "allow" : "deny",
      expected,
      `${toolName} ${JSON.stringify(toolInput)}`,
    );
  }
}

Deno.test("an argument's name says that it is written before the tool's verb does", () => {
  judges("deny", [
    ["mcp__pdf__merge", { input_paths: ["a.pdf"], output_path: "/srv/m.pdf" }],
    ["mcp__fs__zip_directory", { input: "a", target_zip_file: "/srv/a.zip" }],
    ["mcp__db__backup_database", { backup_path: "/srv/a.db" }],
    ["mcp__s3__download_file", { bucket: "b", key: "k", local_path: "/srv/a" }],
    ["mcp__tts__speak_to_file", { text: "hi", filename: "/srv/a.mp3" }],
    ["mcp__devtools__take_snapshot", { filePath: "/srv/a.md" }],
    ["mcp__chrome-devtools__performance_stop_trace", { filePath: "/srv/a" }],
    ["mcp__playwright__browser_snapshot", { filename: "/srv/a.md" }],
    ["mcp__playwright__browser_network_requests", { filename: "/srv/a" }],
  ]);
  judges("allow", [
    ["mcp__pdf__merge", { input_paths: ["/srv/a.pdf"], output_path: "m.pdf" }],
    ["mcp__zip__list_archive", { archive_path: "/srv/a.zip" }],
    ["mcp__s3__upload_file", { bucket: "b", local_path: "/srv/a" }],
    ["mcp__jira__add_attachment", { issueKey: "A-1", file_path: "/srv/a" }],
    ["mcp__x__convert_to_markdown", { uri: "file:///srv/a.pdf" }],
    ["mcp__playwright__browser_file_upload", { paths: ["/srv/a.png"] }],
  ]);
});

Deno.test("of a tool's words that read and write the first counts, unless an action says more", () => {
  judges("deny", [
    ["mcp__unity__manage_script", { action: "create", path: "/srv/a.cs" }],
    ["mcp__edit__search_and_replace", { path: "/srv/a", search: "a" }],
    ["mcp__fs__rmdir", { path: "/srv/d" }],
    ["mcp__fs__symlink", { target: "a", path: "/srv/link" }],
    ["mcp__git__git_push", { repo_path: "/srv/repo" }],
    ["mcp__git__git_merge", { path: "/srv/repo", branch: "x" }],
    ["mcp__x__apply", { path: "/srv/a", content: "x" }],
  ]);
  judges("allow", [
    ["mcp__unity__manage_script", { action: "read", path: "/srv/a.cs" }],
    ["mcp__x__list_exports", { path: "/srv/a" }],
    ["mcp__x__get_file_format", { path: "/srv/a" }],
    ["mcp__fs__symlink", { target: "/srv/a", path: "link" }],
    ["mcp__git__git_log", { repo_path: "/srv/repo" }],
    ["mcp__git__git_diff", { repo_path: "/srv/repo", target: "/srv/a" }],
    ["mcp__notion__create_page", { path: "/home/page", content: "x" }],
    ["mcp__mongodb__insert-many", { documents: [{ path: "/srv/x" }] }],
  ]);
});

Deno.test("a tool that runs something is read as a shell, whatever its argument is called", () => {
  judges("deny", [
    ["mcp__x__run_process", { command_line: "touch /srv/x", mode: "shell" }],
    ["mcp__x__run_process", { argv: ["touch", "/srv/x"] }],
    ["mcp__terminal__execute", { command: "touch", args: ["/srv/x"] }],
    ["mcp__cli__execute_command", {
      shell: "powershell",
      command: "Set-Content /srv/a x",
    }],
    ["mcp__jupyter__execute_cell", { cell_source: "open('/srv/a', 'w')" }],
    ["mcp__jupyter__execute_cell", { cell_source: "!touch /srv/a" }],
    ["mcp__jupyter__execute_cell", { code: "%%bash\ntouch /srv/a" }],
    ["write_bash", { sessionId: "1", input: "touch /srv/a" }],
    ["bash", { command: "touch a", workdir: "~" }],
    ["apply_patch", {
      command:
        "cd /srv && apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nE",
    }],
    ["batch", {
      tool_calls: [{ tool: "write", parameters: { filePath: "/srv/a" } }],
    }],
    ["batch", {
      tool_calls: [{ tool: "bash", parameters: { command: "touch /srv/a" } }],
    }],
  ]);
  judges("allow", [
    ["mcp__x__run_process", { argv: ["cat", "/srv/x"] }],
    ["mcp__terminal__execute", { command: "ls", args: ["/srv"] }],
    ["mcp__jupyter__execute_cell", { cell_source: "!ls /srv\nprint(1 > 0)" }],
    ["write_bash", { sessionId: "1", input: "ls /srv" }],
    ["SlashCommand", { command: "/commit > /srv/x" }],
    ["batch", {
      tool_calls: [{ tool: "read", parameters: { filePath: "/srv/a" } }],
    }],
  ]);
});

Deno.test("the guard's own files of every harness are kept", () => {
  judges("deny", [
    ["write_file", { file_path: ".gemini/settings.json", content: "{}" }],
    ["Write", { file_path: "/work/env/.cursor/hooks.json", content: "{}" }],
    ["edit", { path: ".github/hooks/bulkhead-guard.json", old_str: "a" }],
    ["editor", { path: ".cline/plugins/bulkhead-guard/index.js" }],
    ["write", { path: ".pi/extensions/bulkhead-guard.js", content: "" }],
  ]);
});
