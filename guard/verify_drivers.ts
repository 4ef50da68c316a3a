/**
 * How each agent program is started for a run without a person, and what its tools are called.
 * Data.
 *
 * @module
 */

import type { ScriptCall } from "./scripted_model.ts";
import { shellQuote } from "./shim.ts";

/** How an agent program is started. */
export interface Driver {
  /** The oldest version whose hooks are known to hold, and why. */
  readonly oldest: readonly [version: string, why: string];
  /** Its arguments. */
  readonly args: readonly string[];
  /** Arguments without which its hooks do not run. */
  readonly hookArgs: readonly string[];
  /** The call that writes a file, where the model's neutral one does not fit. */
  write?(path: string): ScriptCall;
  /** The call that runs a command, where the model's neutral one does not fit. */
  shell?(command: string): ScriptCall;
  /** The call that runs a command in another directory. */
  workdir(command: string, directory: string): ScriptCall;
  /** The call that starts a subagent; `null` where there are none. */
  subagent?: ((prompt: string) => ScriptCall) | null;
  /** Arguments of a run that configures the program's model, before anything else. */
  configure?(origin: string): string[];
}

/** The programs that can be driven. */
export const DRIVERS: Readonly<Record<string, Driver>> = {
  "claude-code": {
    oldest: ["2.1.0", "hooks of older versions do not run in subagents"],
    args: [
      "-p",
      "--output-format",
      "stream-json",
      "--verbose",
      "--permission-mode",
      "bypassPermissions",
    ],
    hookArgs: [],
    workdir: (command, directory) => ({
      do: "shell",
      command: `cd ${shellQuote(directory)} && ${command}`,
    }),
  },
  codex: {
    oldest: ["0.155.0", "older versions hide the workdir of a call"],
    args: [
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
    ],
    hookArgs: ["--dangerously-bypass-hook-trust"],
    workdir: (command, directory) => ({
      tool: "exec_command",
      input: { cmd: command, workdir: directory },
    }),
  },
  opencode: {
    oldest: ["1.0.0", "plugins of older versions do not see subagents"],
    args: ["run", "--auto", "--format", "json"],
    hookArgs: [],
    workdir: (command, directory) => ({
      tool: "bash",
      input: { command, workdir: directory, description: "Write" },
    }),
  },
  pi: {
    oldest: ["0.50.0", "extensions of older versions were not tried"],
    args: ["-p", "--provider", "scripted", "--model", "m"],
    hookArgs: [],
    write: (path) => ({ tool: "write", input: { path, content: "written" } }),
    workdir: (command, directory) => ({
      do: "shell",
      command: `cd ${shellQuote(directory)} && ${command}`,
    }),
    subagent: null,
  },
  cline: {
    oldest: ["3.0.53", "older versions have another plugin interface"],
    args: ["--json", "--retries", "50", "-P", "openai-compatible", "-m", "m"],
    hookArgs: [],
    write: (path) => ({ tool: "editor", input: { path, new_text: "written" } }),
    shell: (command) => ({
      tool: "run_commands",
      input: { commands: [command] },
    }),
    workdir: (command, directory) => ({
      tool: "run_commands",
      input: { commands: [`cd ${shellQuote(directory)} && ${command}`] },
    }),
    subagent: (prompt) => ({
      tool: "spawn_agent",
      input: { systemPrompt: "Write what you are told", task: prompt },
    }),
    configure: (origin) => [
      "auth",
      "--provider",
      "openai-compatible",
      "--apikey",
      "scripted",
      "--modelid",
      "m",
      "--baseurl",
      `${origin}/v1`,
    ],
  },
};
