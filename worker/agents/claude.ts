/**
 * Claude Code behind the driver interface: the argv, the settings and the environment it is started with.
 *
 * @module
 */

import type { AgentStart } from "./driver.ts";
import { StreamJsonDriver } from "./stream_json.ts";

/** Options of {@linkcode claudeDriver}. */
export interface ClaudeOptions {
  /**
   * The program and what stands before our arguments.
   *
   * @default {["claude"]}
   */
  readonly command?: readonly string[];
  /**
   * Whose settings the agent reads. `""` reads none, which also loses the user's key helper, model and environment.
   *
   * @default {"user"}
   */
  readonly settingSources?: "user" | "";
  /** Variables on top of the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after ours. */
  readonly extraArgs?: readonly string[];
  /**
   * How long the agent may take until its gate is confirmed.
   *
   * @default {30000}
   */
  readonly readyMs?: number;
}

/** The name under which the host's tools are served to the agent. */
export const TOOL_SERVER = "bulkhead";

/**
 * The calls that must be asked even when the channel to us is dead: then the agent refuses them by itself.
 * `mcp__bulkhead` is our whole server.
 */
export const ASK_RULES: readonly string[] = [
  "Bash",
  "Write",
  "Edit",
  "NotebookEdit",
  `mcp__${TOOL_SERVER}`,
];

/**
 * Claude Code's argv for one start. It is built whole each time: `--session-id` and `--resume` exclude each other.
 *
 * @param start What to start.
 * @param options The program and its settings.
 * @returns The program and its arguments.
 *
 * @example A new session
 * ```ts
 * import { claudeArgv } from "@bulkhead/worker";
 * import { assert } from "@std/assert";
 *
 * const argv = claudeArgv({ cwd: "/work", sessionId: "0b54…" });
 * assert(argv.includes("--verbose") && argv.includes("--session-id"));
 * ```
 */
export function claudeArgv(
  start: Pick<AgentStart, "cwd" | "sessionId" | "resume" | "model" | "tools">,
  options: ClaudeOptions = {},
): string[] {
  if (start.resume !== undefined && start.sessionId !== undefined) {
    throw new TypeError(
      "Cannot start Claude Code: a session is either resumed or new, not both",
    );
  }
  const argv = [
    ...(options.command ?? ["claude"]),
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--replay-user-messages",
    "--permission-prompt-tool",
    "stdio",
    "--setting-sources",
    options.settingSources ?? "user",
    "--strict-mcp-config",
    "--settings",
    JSON.stringify({ disableAllHooks: false, permissions: { ask: ASK_RULES } }),
  ];
  if (start.tools !== undefined) {
    const server = { type: "sdk", name: TOOL_SERVER };
    argv.push(
      "--mcp-config",
      JSON.stringify({ mcpServers: { [TOOL_SERVER]: server } }),
    );
  }
  if (start.model !== undefined) argv.push("--model", start.model);
  if (start.resume !== undefined) argv.push("--resume", start.resume);
  else if (start.sessionId !== undefined) {
    argv.push("--session-id", start.sessionId);
  }
  argv.push(...(options.extraArgs ?? []));
  return argv;
}

/**
 * A driver for one Claude Code process, or for one that behaves like it.
 *
 * @param options The program and its settings.
 * @returns The driver; `start` it once.
 */
export function claudeDriver(options: ClaudeOptions = {}): StreamJsonDriver {
  return new StreamJsonDriver({
    name: "claude",
    argv: (start) => claudeArgv(start, options),
    env: { DISABLE_AUTOUPDATER: "1", ...options.env },
    serverName: TOOL_SERVER,
    // Told to end, it may be gone before its shells are.
    watchdog: true,
    install: "npm install -g @anthropic-ai/claude-code",
    ...(options.readyMs === undefined ? {} : { readyMs: options.readyMs }),
  });
}
