/**
 * What the user allows: `[capabilities.plugins]` and `[capabilities.trust]` of `config.toml`.
 *
 * A workspace's `.bulkhead.toml` has no say in either: both tables are cut out of it, visibly.
 *
 * @module
 */

import { namedPermissions, readTextCapped } from "@bulkhead/sandbox";
import {
  CONFIG_NAME,
  PROJECT_CONFIG_NAME,
  projectTable,
} from "./_project_config.ts";
import { didYouMean } from "./_did_you_mean.ts";
import { isRecord, messageOf, printable, quote, quoteWhole } from "./_text.ts";
import { readToml, tomlProblemText } from "./_toml.ts";
import { ConfigError } from "./errors.ts";

export { CONFIG_NAME, PROJECT_CONFIG_NAME } from "./_project_config.ts";

/** How plugins are isolated: `required` refuses to run without, `preferred` runs anyway, `off` never isolates. */
export type SandboxLevel = "required" | "preferred" | "off";

/** What happens to a plugin whose content is not known yet. */
export type TrustDefault = "ask" | "always" | "never";

/** The resolved configuration of plugins. */
export interface PluginsConfig {
  /** True when plugins are on. */
  enabled: boolean;
  /** The directories scanned after the home's own, absolute. */
  dirs: string[];
  /** How plugins are isolated. */
  sandbox: SandboxLevel;
  /**
   * True when programs are also looked up where the login shell's PATH says, which is asked for once. A host that was
   * not started from a terminal needs it.
   *
   * @default {false}
   */
  loginPath?: boolean;
  /** The gate of trust. */
  trust: TrustConfig;
}

/** The gate of trust. */
export interface TrustConfig {
  /** True when anything can be trusted at all. */
  enabled: boolean;
  /** What happens to unknown content; undefined for a text that is none of the three, which closes the gate. */
  default: TrustDefault | undefined;
}

/** What {@linkcode resolveConfig} makes of the layers. */
export interface ResolvedConfig {
  /** The configuration of plugins. */
  config: PluginsConfig;
  /** What people should see: what was cut out or not understood, one line each. */
  notices: string[];
  /** The user's whole table, for the other members. */
  user: Record<string, unknown>;
  /** The workspace's table without what it may not say, for the other members. */
  project: Record<string, unknown>;
}

/** The texts that {@linkcode resolveConfig} reads. */
export interface ConfigLayers {
  /** The Bulkhead home, which relative directories start from. */
  home: string;
  /** The user's home directory, for `~/`. */
  userHome?: string;
  /** The text of the user's `config.toml`. */
  user?: string;
  /** The text of the workspace's `.bulkhead.toml`. */
  project?: string;
}

/**
 * Parses a trust setting; only the exact lower-case words count.
 *
 * @param text The word.
 * @returns The setting, or `undefined` for any other text, which never opens the gate.
 *
 * @example A typing error does not trust
 * ```ts
 * import { parseTrustDefault } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseTrustDefault("always"), "always");
 * assertEquals(parseTrustDefault("Always"), undefined);
 * ```
 */
export function parseTrustDefault(text: string): TrustDefault | undefined {
  return text === "ask" || text === "always" || text === "never"
    ? text
    : undefined;
}

/**
 * True when nobody needs to be asked: trust is on and its default is `always`.
 *
 * @param config The gate of trust.
 * @returns Whether every content is trusted as it is found.
 *
 * @example Both switches are needed
 * ```ts
 * import { isTrusted } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(isTrusted({ enabled: true, default: "always" }), true);
 * assertEquals(isTrusted({ enabled: false, default: "always" }), false);
 * assertEquals(isTrusted({ enabled: true, default: "ask" }), false);
 * ```
 */
export function isTrusted(config: TrustConfig): boolean {
  return config.enabled && config.default === "always";
}

/**
 * The configuration of somebody who has written none: plugins off.
 *
 * @returns A fresh configuration.
 *
 * @example Plugins on, everything else as it is
 * ```ts
 * import { defaultConfig, type PluginsConfig } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const config: PluginsConfig = { ...defaultConfig(), enabled: true };
 * assertEquals(config.sandbox, "required");
 * ```
 */
export function defaultConfig(): PluginsConfig {
  return {
    enabled: false,
    dirs: [],
    sandbox: "required",
    trust: { enabled: false, default: "ask" },
  };
}

/**
 * Resolves the user's layer and the sanitised workspace layer.
 *
 * @param layers The texts.
 * @returns The configuration and what people should see.
 * @throws {ConfigError} If the user's file cannot be understood, or switches plugins on with trust off.
 *
 * @example A workspace cannot switch plugins on
 * ```ts
 * import { resolveConfig } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const { config, notices } = resolveConfig({
 *   home: "/home/me/.bulkhead",
 *   project: "[capabilities.plugins]\nenabled = true\n",
 * });
 * assertEquals(config.enabled, false);
 * assertEquals(notices.length, 1);
 * ```
 */
export function resolveConfig(layers: ConfigLayers): ResolvedConfig {
  const notices: string[] = [];
  const user = userTable(layers);
  const config = pluginsConfig(user, layers, notices);
  const project = projectTable(layers.project, notices);
  if (config.enabled && !config.trust.enabled) {
    throw new ConfigError(
      `Cannot resolve ${CONFIG_NAME}: [capabilities.plugins] enabled = true needs [capabilities.trust] enabled = true`,
    );
  }
  return { config, notices, user, project };
}

/** Where {@linkcode loadConfig} looks. */
export interface ConfigPlaces {
  /** The Bulkhead home. */
  home: string;
  /** The workspace; without one there is no project layer. */
  workspace?: string;
}

/**
 * Reads and resolves `config.toml` of the home and `.bulkhead.toml` of the workspace; a missing file is an empty one.
 *
 * @param places The home and the workspace.
 * @returns The configuration and what people should see.
 * @throws {ConfigError} If the user's file cannot be read or resolved.
 *
 * @example A home without a file
 * ```ts
 * import { loadConfig } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const { config, notices } = await loadConfig({ home: "/no/such/home" });
 * assertEquals([config.enabled, notices], [false, []]);
 * ```
 */
export async function loadConfig(
  places: ConfigPlaces,
): Promise<ResolvedConfig> {
  return await namedPermissions(
    "Reading the configuration",
    () => readConfig(places),
  );
}

async function readConfig(places: ConfigPlaces): Promise<ResolvedConfig> {
  const { home, workspace } = places;
  const userHome = Deno.env.get("HOME");
  const layers: ConfigLayers = {
    home,
    ...(userHome === undefined ? {} : { userHome }),
  };
  const userPath = `${home}/${CONFIG_NAME}`;
  try {
    const text = await readIfThere(userPath, USER_MAX_BYTES);
    if (text !== undefined) layers.user = text;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new ConfigError(
      `Cannot read ${quoteWhole(userPath)}: ${messageOf(error)}`,
      { cause: error },
    );
  }
  const notices: string[] = [];
  if (workspace !== undefined) {
    const projectPath = `${workspace}/${PROJECT_CONFIG_NAME}`;
    try {
      const text = await readIfThere(projectPath, PROJECT_MAX_BYTES);
      if (text !== undefined) layers.project = text;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      notices.push(`${PROJECT_CONFIG_NAME} ignored: ${messageOf(error)}`);
    }
  }
  const resolved = resolveFile(layers, userPath);
  return { ...resolved, notices: [...notices, ...resolved.notices] };
}

/** Resolves the layers; an error says which file to edit. */
function resolveFile(layers: ConfigLayers, path: string): ResolvedConfig {
  try {
    return resolveConfig(layers);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message, {
      cause: error,
      fix: `edit ${quoteWhole(path)}`,
    });
  }
}

const USER_MAX_BYTES = 64 * 1024;
const PROJECT_MAX_BYTES = 256 * 1024;

async function readIfThere(
  path: string,
  maxBytes: number,
): Promise<string | undefined> {
  try {
    return await readTextCapped(path, maxBytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function userTable(layers: ConfigLayers): Record<string, unknown> {
  if (layers.user === undefined) return {};
  const read = readToml(layers.user);
  if ("table" in read) return read.table;
  throw new ConfigError(
    `Cannot resolve ${CONFIG_NAME}: ${tomlProblemText(read.problem)}`,
  );
}

function pluginsConfig(
  user: Record<string, unknown>,
  layers: ConfigLayers,
  notices: string[],
): PluginsConfig {
  const config = defaultConfig();
  const capabilities = tableAt(user, "capabilities", "capabilities");
  const plugins = tableAt(capabilities, "plugins", "capabilities.plugins");
  const trust = tableAt(capabilities, "trust", "capabilities.trust");
  config.enabled = booleanAt(plugins, "enabled", "capabilities.plugins");
  config.trust.enabled = booleanAt(trust, "enabled", "capabilities.trust");
  if (plugins.dirs !== undefined) {
    const { dirs } = plugins;
    if (!Array.isArray(dirs)) wrong("capabilities.plugins.dirs", "a list");
    for (const dir of dirs) {
      if (typeof dir !== "string" || dir === "" || dir.includes("\0")) {
        wrong("capabilities.plugins.dirs", "a list of directories");
      }
      config.dirs.push(absoluteDir(dir, layers));
    }
  }
  if (plugins.sandbox !== undefined) {
    const { sandbox } = plugins;
    if (
      sandbox !== "required" && sandbox !== "preferred" && sandbox !== "off"
    ) {
      wrong("capabilities.plugins.sandbox", '"required", "preferred" or "off"');
    }
    config.sandbox = sandbox;
  }
  if (booleanAt(plugins, "login_path", "capabilities.plugins")) {
    config.loginPath = true;
  }
  if (trust.default !== undefined) {
    const word = trust.default;
    if (typeof word !== "string") wrong("capabilities.trust.default", "a text");
    config.trust.default = parseTrustDefault(word);
    if (config.trust.default === undefined) {
      notices.push(
        `${CONFIG_NAME}: capabilities.trust.default = ${
          quote(word)
        } is none of "ask", "always", "never": no plugin is trusted`,
      );
    }
  }
  unknownKeys(user, "", TABLES, notices);
  unknownKeys(capabilities, "capabilities", CAPABILITIES, notices);
  unknownKeys(plugins, "capabilities.plugins", PLUGIN_KEYS, notices);
  unknownKeys(trust, "capabilities.trust", TRUST_KEYS, notices);
  return config;
}

/** Every table of the file; those of others are read where they count. */
const TABLES = ["capabilities", "guard", "worker"];
const CAPABILITIES = ["plugins", "trust"];
const PLUGIN_KEYS = ["enabled", "dirs", "sandbox", "login_path"];
const TRUST_KEYS = ["enabled", "default"];

function unknownKeys(
  table: Record<string, unknown>,
  name: string,
  known: readonly string[],
  notices: string[],
): void {
  for (const key of Object.keys(table)) {
    if (!known.includes(key)) {
      const path = name === "" ? key : `${name}.${key}`;
      notices.push(
        `${CONFIG_NAME}: unknown key ${printable(path)}, ignored${
          didYouMean(key, known)
        }`,
      );
    }
  }
}

function absoluteDir(dir: string, layers: ConfigLayers): string {
  if (dir === "~" || dir.startsWith("~/")) {
    if (layers.userHome === undefined) {
      throw new ConfigError(
        `Cannot resolve ${CONFIG_NAME}: ${quote(dir)} needs HOME to be set`,
      );
    }
    return `${layers.userHome}${dir.slice(1)}`;
  }
  return dir.startsWith("/") ? dir : `${layers.home}/${dir}`;
}

function tableAt(
  table: Record<string, unknown>,
  key: string,
  name: string,
): Record<string, unknown> {
  const value = table[key];
  if (value === undefined) return {};
  if (!isRecord(value)) wrong(name, "a table");
  return value;
}

function booleanAt(
  table: Record<string, unknown>,
  key: string,
  name: string,
): boolean {
  const value = table[key];
  if (value === undefined) return false;
  if (typeof value !== "boolean") wrong(`${name}.${key}`, "true or false");
  return value;
}

function wrong(key: string, wanted: string): never {
  throw new ConfigError(
    `Cannot resolve ${CONFIG_NAME}: ${key} must be ${wanted}`,
  );
}
