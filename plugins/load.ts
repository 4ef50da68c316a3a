/**
 * From configured directories to tools and hooks, through every gate.
 *
 * @module
 */

import { namedPermissions, probeIsolation } from "@bulkhead/sandbox";
import { assemble, type LoadedPlugin } from "./_assemble.ts";
import { Gate, type Refusal } from "./_gate.ts";
import { refusedLines } from "./_refused.ts";
import { searchPath } from "./_search_path.ts";
import { closedPins, unmetTrust } from "./_unmet.ts";
import { messageOf, printable, quote, quoteWhole } from "./_text.ts";
import type { PluginsConfig, SandboxLevel } from "./config.ts";
import { type DiscoveredPlugin, discoverPlugins } from "./discover.ts";
import type { LoadedHook } from "./hooks.ts";
import { MANIFEST_NAME } from "./digest.ts";
import type { UnmetTrust } from "./errors.ts";
import { type PluginOnDisk, readPlugin } from "./read.ts";
import { type Tool, ToolRegistry } from "./tool.ts";
import type { TrustHandler, TrustPin } from "./trust.ts";

export type { LoadedNative, LoadedPlugin } from "./_assemble.ts";

/** What {@linkcode loadPlugins} needs to know. */
export interface LoadOptions {
  /** The resolved configuration. */
  config: PluginsConfig;
  /** The Bulkhead home. */
  home: string;
  /** The workspace: the working directory of tools and hooks. */
  workspace: string;
  /** Answers the question of trust; without one nothing new is trusted. */
  trust?: TrustHandler;
  /**
   * Plugins that are trusted by name and content.
   *
   * @default {[]}
   */
  pins?: readonly TrustPin[];
  /**
   * Names that no tool may take.
   *
   * @default {[]}
   */
  reserved?: readonly string[];
  /**
   * The directories to scan.
   *
   * @default the home's `plugins`, then the configured ones
   */
  scanDirs?: readonly string[];
  /**
   * What a command without `permissions` may do to the workspace.
   *
   * @default {"read"}
   */
  workspaceAccess?: "read" | "write";
}

/** A plugin that was found and is not trusted. */
export interface RefusedPlugin {
  /** The declared name. */
  name: string;
  /** The real path of the directory. */
  dir: string;
  /** The content hash. */
  hash: string;
  /** Nobody has decided, the content changed since somebody did, or it was refused for good. */
  cause: "undecided" | "changed" | "refused";
  /** Why, and what to do, in one printable line. */
  reason: string;
}

/** Plugins are switched off: nothing was read. */
export interface DisabledOutcome {
  /** What happened. */
  status: "disabled";
}

/** Plugins are on and none may be loaded. */
export interface BlockedOutcome {
  /** What happened. */
  status: "blocked_pending_trust";
  /** The line that people should see. */
  notice: string;
  /** The plugins that wait for a decision; empty when the gate is closed for all. */
  refused: RefusedPlugin[];
  /** What is relied on and not in force; absent when there is nothing. While there is any, nothing should begin. */
  unmet?: UnmetTrust[];
  /** What else people should see, one line each. */
  warnings: string[];
}

/** Plugins are loaded. */
export interface LoadedOutcome {
  /** What happened. */
  status: "loaded";
  /** The plugins, sorted by directory name. */
  plugins: LoadedPlugin[];
  /** The tools of all plugins. */
  tools: Tool[];
  /** The hooks of all plugins, in the order of plugins and manifests. */
  hooks: LoadedHook[];
  /** The plugins that were not loaded because they are not trusted. */
  refused: RefusedPlugin[];
  /** What is relied on and not in force; absent when there is nothing. While there is any, nothing should begin. */
  unmet?: UnmetTrust[];
  /** What else people should see, one line each. */
  warnings: string[];
  /** What is missing on this system: isolation that is not in force, programs that are not on PATH, one line each. */
  notices: string[];
}

/** What {@linkcode loadPlugins} did. */
export type LoadOutcome = DisabledOutcome | BlockedOutcome | LoadedOutcome;

/** The line for a closed gate. */
export const BLOCKED_NOTICE =
  '[capabilities.plugins] is enabled but this workspace is not trusted ([capabilities.trust] default must be "always") — no plugin was loaded';

/**
 * Finds, hashes, parses and gates plugins. Nothing of a plugin runs here.
 *
 * Needs `--allow-read` of the scanned directories and the home, `--allow-write` of the home when a decision is
 * remembered; calling the tools needs `--allow-run` and `--allow-env` too.
 *
 * @param options The configuration, the places and who answers questions.
 * @returns What was loaded, or why nothing was.
 *
 * @example Off by default
 * ```ts
 * import { defaultConfig, loadPlugins } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const outcome = await loadPlugins({
 *   config: defaultConfig(),
 *   home: "/home/me/.bulkhead",
 *   workspace: "/work",
 * });
 * assertEquals(outcome, { status: "disabled" });
 * ```
 */
export async function loadPlugins(options: LoadOptions): Promise<LoadOutcome> {
  return await namedPermissions("Loading plugins", () => load(options));
}

async function load(options: LoadOptions): Promise<LoadOutcome> {
  const { config } = options;
  if (!config.enabled) return { status: "disabled" };
  const { trust } = config;
  const { pins = [] } = options;
  const dirs = options.scanDirs ??
    [`${options.home}/plugins`, ...config.dirs];
  if (
    !trust.enabled || (trust.default !== "ask" && trust.default !== "always")
  ) {
    const unmet = pins.length === 0 ? [] : closedPins(pins);
    return blocked([], unmet, []);
  }
  const warnings: string[] = [];
  const discovered = await discoverPlugins(dirs);
  const found = await readAll(discovered, warnings);
  const gate = new Gate(options, warnings);
  const trusted: { found: DiscoveredPlugin; plugin: PluginOnDisk }[] = [];
  const refused: RefusedPlugin[] = [];
  for (const item of found) {
    const why = await gate.refusal(item.plugin);
    if (why === undefined) trusted.push(item);
    else refused.push(refusal(item.plugin, why));
  }
  const readable = new Set(found.map((item) => item.found));
  const unmet = await unmetTrust({
    pins,
    dirs,
    found: found.map((item) => item.plugin),
    unreadable: discovered.filter((item) => !readable.has(item))
      .map((item) => item.dir),
    trusted: trusted.map((item) => item.plugin),
    records: await gate.records(),
    storeProblem: gate.storeProblem,
  });
  const nobodyAsked = trust.default === "ask" && options.trust === undefined;
  if (trusted.length === 0 && (refused.length > 0 || nobodyAsked)) {
    const outcome = blocked(refused, unmet, warnings);
    // Nothing waits for trust where nothing is.
    if (refused.length === 0) outcome.notice = noneNotice(dirs, warnings);
    return outcome;
  }
  const registry = new ToolRegistry({ reserved: options.reserved ?? [] });
  const notices: string[] = [];
  const plugins = assemble(trusted, {
    home: options.home,
    workspace: await Deno.realPath(options.workspace),
    sandbox: config.sandbox,
    workspaceAccess: options.workspaceAccess ?? "read",
    path: trusted.length === 0
      ? undefined
      : await searchPath(config.loginPath ?? false, notices),
    registry,
    warnings,
    notices,
  });
  if (plugins.length > 0) {
    notices.push(...await isolationNotices(config.sandbox));
  }
  return {
    status: "loaded",
    plugins,
    tools: registry.list(),
    hooks: plugins.flatMap((plugin) => plugin.hooks),
    refused,
    ...unmet.length === 0 ? {} : { unmet },
    warnings,
    notices,
  };
}

/** A sandbox that is missing is told once a session, not at the first call. */
async function isolationNotices(sandbox: SandboxLevel): Promise<string[]> {
  if (sandbox === "off") {
    return [
      'plugins run with all of your rights: sandbox = "off" in [capabilities.plugins]',
    ];
  }
  const grants = [
    { name: "run" },
    { name: "read" },
    { name: "env", variable: "PATH" },
  ] as const;
  // Looking needs to run something; without these grants nothing of a plugin runs either.
  for (const grant of grants) {
    const { state } = await Deno.permissions.query(grant);
    if (state !== "granted") return [];
  }
  const { backend, detail, fix } = await probeIsolation();
  if (backend !== "none") return [];
  return [
    sandbox === "required"
      ? `nothing of a plugin can run: a sandbox is required and ${detail}; run: ${fix}`
      : `plugins run with all of your rights: ${detail}; run: ${fix}`,
  ];
}

/**
 * Puts the loaded tools into a host's registry.
 *
 * @param outcome What was loaded.
 * @param registry The host's registry.
 * @returns What people should see on stderr, one line each, `warning: ` in front; nothing when plugins are off.
 *
 * @example Plugins are off
 * ```ts
 * import { registerPlugins, ToolRegistry } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const registry = new ToolRegistry();
 * assertEquals(registerPlugins({ status: "disabled" }, registry), []);
 * assertEquals(registry.size, 0);
 * ```
 */
export function registerPlugins(
  outcome: LoadOutcome,
  registry: ToolRegistry,
): string[] {
  if (outcome.status === "disabled") return [];
  const lines = [
    // Where single plugins wait, their line says what is to be done.
    ...(outcome.status === "blocked_pending_trust" &&
        outcome.refused.length === 0
      ? [outcome.notice]
      : []),
    ...(outcome.status === "loaded" ? outcome.notices : []),
    ...refusedLines(outcome.refused),
    ...outcome.warnings,
  ];
  if (outcome.status === "loaded") {
    for (const tool of outcome.tools) {
      const { warning } = registry.add(tool);
      if (warning !== undefined) lines.push(warning);
    }
  }
  return lines.map((line) => `warning: ${line}`);
}

function blocked(
  refused: RefusedPlugin[],
  unmet: UnmetTrust[],
  warnings: string[],
): BlockedOutcome {
  return {
    status: "blocked_pending_trust",
    notice: BLOCKED_NOTICE,
    refused,
    ...unmet.length === 0 ? {} : { unmet },
    warnings,
  };
}

function noneNotice(
  dirs: readonly string[],
  warnings: readonly string[],
): string {
  const places = dirs.map((dir) => quoteWhole(dir)).join(", ");
  return `[capabilities.plugins] is enabled and ${
    warnings.length > 0 ? "no plugin can be read" : "there is no plugin"
  } in ${places}`;
}

/** Plugins that are read at the same time. */
const PARALLEL = 8;

async function readAll(
  found: readonly DiscoveredPlugin[],
  warnings: string[],
): Promise<{ found: DiscoveredPlugin; plugin: PluginOnDisk }[]> {
  const results: (PluginOnDisk | string)[] = new Array(found.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < found.length; index = next++) {
      const item = found[index];
      if (item === undefined) return;
      try {
        results[index] = await readPlugin(item.dir, { directory: item.name });
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        results[index] = `plugin \`${printable(item.name)}\` (${
          printable(`${item.dir}/${MANIFEST_NAME}`)
        }): ${messageOf(error)}`;
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return found.flatMap((item, index) => {
    const result = results[index];
    if (typeof result === "string") warnings.push(result);
    return typeof result === "object" ? [{ found: item, plugin: result }] : [];
  });
}

function refusal(
  plugin: PluginOnDisk,
  { reason, cause }: Refusal,
): RefusedPlugin {
  const { name } = plugin.manifest;
  return {
    name,
    dir: plugin.dir,
    hash: plugin.digest.hash,
    cause,
    reason: `plugin ${quote(name)} (${
      printable(plugin.dir)
    }) not loaded: ${reason}`,
  };
}
