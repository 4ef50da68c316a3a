/**
 * What Codex gets with every start and resume of a thread: our hook and its trust, our tools, the sandbox, and the
 * user's own servers switched off. Nothing of it is written to a file.
 *
 * @module
 */

import { encodeHex } from "./_hex.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";

/** The name under which the host's tools are served. */
const CODEX_TOOL_SERVER = "bulkhead";

/** Where Codex keeps the state of a hook that came with the session. */
const HOOK_KEY = "/<session-flags>/config.toml:pre_tool_use:0:0";

/** How long our hook may take, in seconds: a person may have to answer. */
export const HOOK_TIMEOUT_S: number = 24 * 60 * 60;

/** A program that Codex starts. */
export interface CodexCommand {
  /** The program and its arguments. */
  readonly argv: readonly string[];
  /** Variables that it needs. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a thread's config is made of. */
export interface CodexConfigOptions {
  /** The workspace. */
  readonly cwd: string;
  /** The hook. */
  readonly hook: CodexCommand;
  /** The hash under which the hook is trusted. */
  readonly trustedHash: string;
  /** The server of the host's tools. */
  readonly tools?: CodexCommand;
  /** Names of the user's own servers, which are switched off. */
  readonly disable?: readonly string[];
}

/**
 * A command line for a shell.
 *
 * @param argv The program and its arguments.
 * @returns The line, every word quoted.
 */
export function shellLine(argv: readonly string[]): string {
  return argv.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
  ).join(" ");
}

function hookOf(command: string): JsonObject {
  return { type: "command", command, timeout: HOOK_TIMEOUT_S };
}

/**
 * The hash that Codex computes over a hook. The formula is not documented: what `hooks/list` says afterwards decides.
 *
 * @param command The hook's command line.
 * @returns The hash.
 */
export async function hookHash(command: string): Promise<string> {
  // Keys sorted at every level, as Codex does it.
  const text = JSON.stringify({
    event_name: "pre_tool_use",
    hooks: [{
      async: false,
      command,
      timeout: HOOK_TIMEOUT_S,
      type: "command",
    }],
  });
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(text),
  );
  return `sha256:${encodeHex(new Uint8Array(digest))}`;
}

/**
 * The `config` of `thread/start` and `thread/resume`.
 *
 * @param options Workspace, hook, tools.
 * @returns The object.
 */
export function codexConfig(options: CodexConfigOptions): JsonObject {
  const servers: Record<string, JsonObject> = {};
  for (const name of options.disable ?? []) {
    // An entry without a command is not valid, even a disabled one.
    servers[name] = { command: "/bin/false", enabled: false };
  }
  if (options.tools !== undefined) {
    const [command, ...args] = options.tools.argv;
    servers[CODEX_TOOL_SERVER] = {
      command,
      args,
      env: options.tools.env,
      default_tools_approval_mode: "approve",
    };
  }
  return {
    // Otherwise Codex writes that it trusts the workspace into the user's own config.
    projects: { [options.cwd]: { trust_level: "untrusted" } },
    sandbox_workspace_write: {
      exclude_slash_tmp: true,
      exclude_tmpdir_env_var: true,
    },
    features: { hooks: true },
    hooks: {
      PreToolUse: [{ hooks: [hookOf(shellLine(options.hook.argv))] }],
      state: { [HOOK_KEY]: { trusted_hash: options.trustedHash } },
    },
    mcp_servers: servers,
  };
}

/** How Codex sees our hook. */
export interface HookStanding {
  /** True when it will run. */
  readonly trusted: boolean;
  /** The hash that Codex computed; `undefined` when it does not know the hook at all. */
  readonly currentHash?: string;
  /** What was found, in words. */
  readonly detail: string;
}

/**
 * Finds our hook in the answer to `hooks/list`.
 *
 * @param answer The answer.
 * @param command The hook's command line.
 * @returns How it stands.
 */
export function hookStanding(
  answer: JsonObject,
  command: string,
): HookStanding {
  const entries = Array.isArray(answer.data) ? answer.data : [];
  for (const entry of entries.filter(isJsonObject)) {
    const hooks = Array.isArray(entry.hooks) ? entry.hooks : [];
    for (const hook of hooks.filter(isJsonObject)) {
      if (hook.key !== HOOK_KEY && hook.command !== command) continue;
      const trusted = hook.trustStatus === "trusted" &&
        hook.enabled !== false && hook.command === command &&
        hook.source === "sessionFlags";
      return {
        trusted,
        ...(typeof hook.currentHash === "string"
          ? { currentHash: hook.currentHash }
          : {}),
        detail:
          `the hook is ${hook.trustStatus}, enabled: ${hook.enabled}, source: ${hook.source}`,
      };
    }
  }
  return { trusted: false, detail: "the hook is not listed" };
}

/**
 * The names of the user's own MCP servers.
 *
 * @param answer The answer to `config/read`.
 * @returns The names.
 */
export function serverNames(answer: JsonObject): string[] {
  const config = isJsonObject(answer.config) ? answer.config : {};
  const servers = config.mcp_servers ?? config.mcpServers;
  return isJsonObject(servers) ? Object.keys(servers) : [];
}
