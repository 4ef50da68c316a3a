/**
 * Names on the wire: `plugin__<plugin>__<tool>`, never longer or stranger than every provider accepts.
 *
 * @module
 */

/** The longest name that every model provider accepts. */
export const TOOL_NAME_MAX = 64;

/** The longest name that still fits when a client adds its own prefix. */
export const SERVED_NAME_MAX = 48;

/** Options of {@linkcode toolName}. */
export interface ToolNameOptions {
  /**
   * The longest name allowed.
   *
   * @default {64}
   */
  max?: number;
}

/**
 * The name under which a tool is offered: `plugin__<plugin>__<tool>`.
 *
 * When that would be too long, hold other characters than `[a-zA-Z0-9_-]`, or could also be read as another pair of
 * names, the tail is cut and `_<8 hex>` of both names follows: the same pair always gets the same name.
 *
 * @param source The declared names.
 * @param options The longest name allowed.
 * @returns The name.
 *
 * @example Plain names stay, others get a suffix
 * ```ts
 * import { toolName } from "@bulkhead/plugins";
 * import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
 *
 * assertEquals(toolName({ plugin: "git", tool: "log" }), "plugin__git__log");
 * assertMatch(toolName({ plugin: "my plugin", tool: "log" }), /^plugin__my_plugin__log_[0-9a-f]{8}$/);
 * assertNotEquals(toolName({ plugin: "a__b", tool: "c" }), toolName({ plugin: "a", tool: "b__c" }));
 * ```
 */
export function toolName(
  source: { readonly plugin: string; readonly tool: string },
  options: ToolNameOptions = {},
): string {
  const max = options.max ?? TOOL_NAME_MAX;
  const { plugin, tool } = source;
  const plain = `plugin__${plugin}__${tool}`;
  if (plain.length <= max && isPlain(plugin) && isPlain(tool)) return plain;
  const suffix = `_${hash32(JSON.stringify([plugin, tool]))}`;
  return `${sanitised(plain).slice(0, max - suffix.length)}${suffix}`;
}

/**
 * A directory name for a plugin: its name when that is plain, else a sanitised one with a stable suffix. It is never
 * empty, never starts with a dot or a dash and holds no separator.
 *
 * @param plugin The declared name.
 * @returns The directory name.
 *
 * @example A name that would leave the directory
 * ```ts
 * import { pluginDirName } from "@bulkhead/plugins";
 * import { assertEquals, assertMatch } from "@std/assert";
 *
 * assertEquals(pluginDirName("weather"), "weather");
 * assertMatch(pluginDirName("../evil"), /^_+evil_[0-9a-f]{8}$/);
 * ```
 */
export function pluginDirName(plugin: string): string {
  if (/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/.test(plugin)) return plugin;
  return `${sanitised(plugin).replace(/^-/, "_").slice(0, 55)}_${
    hash32(JSON.stringify(plugin))
  }`;
}

/** Plain names cannot be confused: no doubled underscore inside, none at an end. */
function isPlain(name: string): boolean {
  return /^[a-zA-Z0-9-](?:_?[a-zA-Z0-9-])*$/.test(name);
}

function sanitised(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/gu, "_");
}

/** FNV-1a over UTF-16 code units, 32 bits, as eight hex digits. */
function hash32(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >> 8), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
