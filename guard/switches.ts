/**
 * What switches hooks off behind the guard's back: the user's, the project's and the managed
 * settings of each harness.
 *
 * @module
 */

import { readTextCapped } from "@bulkhead/sandbox";
import { isInside } from "@bulkhead/sandbox/paths";
import { parse as parseJsonc } from "@std/jsonc";
import { parse as parseToml } from "smol-toml";

/** Most bytes of a settings file. */
const MAX_SETTINGS_BYTES = 4 * 1024 * 1024;

/** The variables that decide where settings lie and whether hooks run. */
export const SWITCH_VARIABLES: readonly string[] = [
  "HOME",
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "GEMINI_CLI_TRUST_WORKSPACE",
  "OPENCODE_PURE",
  "OPENCODE_DISABLE_PROJECT_CONFIG",
];

/** Something that keeps a staged hook from running. */
export interface HookSwitch {
  /** The file or variable. */
  readonly source: string;
  /** What it says, and what to do. */
  readonly problem: string;
  /** `off` when no hook runs; `needs` when the run must be started in a certain way. */
  readonly effect: "off" | "needs";
}

/** Where settings are looked for. */
export interface SwitchPlaces {
  /** The workspace. */
  readonly root: string;
  /** The user's home directory. */
  readonly userHome?: string;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory of managed settings, instead of the system's; for tests. */
  readonly managedDir?: string;
}

/** Finds what keeps a harness's staged hook from running. */
export async function findSwitches(
  label: string,
  places: SwitchPlaces,
): Promise<HookSwitch[]> {
  switch (label) {
    case "claude-code":
      return await claudeSwitches(places);
    case "codex":
      return await codexSwitches(places);
    case "opencode":
      return opencodeSwitches(places);
    case "gemini":
      return await geminiSwitches(places);
    default:
      return [];
  }
}

/** Managed settings win, then the workspace's own, local before shared, then the user's. */
async function claudeSwitches(places: SwitchPlaces): Promise<HookSwitch[]> {
  const managed = places.managedDir ??
    (Deno.build.os === "darwin"
      ? "/Library/Application Support/ClaudeCode"
      : "/etc/claude-code");
  const config = places.env.CLAUDE_CONFIG_DIR ??
    (places.userHome === undefined ? undefined : `${places.userHome}/.claude`);
  const managedFiles = [
    ...await jsonFilesOf(`${managed}/managed-settings.d`),
    `${managed}/managed-settings.json`,
  ];
  const found: HookSwitch[] = [];
  for (const source of managedFiles) {
    const settings = await readSettings(source);
    if (settings?.get("allowManagedHooksOnly") === true) {
      found.push({
        source,
        effect: "off",
        problem: "allowManagedHooksOnly: no hook of a workspace runs",
      });
    }
  }
  const order = [
    ...managedFiles,
    `${places.root}/.claude/settings.local.json`,
    `${places.root}/.claude/settings.json`,
    ...config === undefined ? [] : [`${config}/settings.json`],
  ];
  for (const source of order) {
    const value = (await readSettings(source))?.get("disableAllHooks");
    if (typeof value !== "boolean") continue;
    if (value) {
      found.push({
        source,
        effect: "off",
        problem: managedFiles.includes(source)
          ? "disableAllHooks: no hook runs, and a workspace cannot change that"
          : "disableAllHooks: no hook runs; arm again, which sets it to false in the workspace",
      });
    }
    break; // the first that says anything decides
  }
  return found;
}

/** Codex skips the hooks of a project it does not trust without a word. */
async function codexSwitches(places: SwitchPlaces): Promise<HookSwitch[]> {
  const home = places.env.CODEX_HOME ??
    (places.userHome === undefined ? undefined : `${places.userHome}/.codex`);
  const managed = places.managedDir ?? "/etc/codex";
  const found: HookSwitch[] = [];
  const requirements = `${managed}/requirements.toml`;
  if (
    (await readToml(requirements))?.get("allow_managed_hooks_only") === true
  ) {
    found.push({
      source: requirements,
      effect: "off",
      problem: "allow_managed_hooks_only: no hook of a workspace runs",
    });
  }
  if (home === undefined) return found;
  const source = `${home}/config.toml`;
  const config = await readToml(source);
  const features = asTable(config?.get("features"));
  if (
    features?.get("hooks") === false || features?.get("codex_hooks") === false
  ) {
    found.push({ source, effect: "off", problem: "the feature hooks is off" });
  }
  const project = asTable(asTable(config?.get("projects"))?.get(places.root));
  if (project?.get("trust_level") !== "trusted") {
    found.push({
      source,
      effect: "needs",
      problem:
        `"${places.root}" is not a trusted project: start with \`codex exec --trust\` or set its trust_level`,
    });
  }
  const state = asTable(asTable(config?.get("hooks"))?.get("state"));
  const trusted = [...state?.keys() ?? []].some((key) =>
    key.startsWith(`${places.root}/.codex/hooks.json`)
  );
  if (!trusted) {
    found.push({
      source,
      effect: "needs",
      problem:
        "the hook is not trusted yet: start with `--dangerously-bypass-hook-trust`, or trust it with /hooks",
    });
  }
  return found;
}

/** Variables that leave project plugins out. */
function opencodeSwitches(places: SwitchPlaces): HookSwitch[] {
  return ["OPENCODE_PURE", "OPENCODE_DISABLE_PROJECT_CONFIG"].flatMap((name) =>
    ["1", "true"].includes(places.env[name] ?? "")
      ? [{
        source: `$${name}`,
        effect: "off" as const,
        problem: "plugins of a workspace are not loaded; unset it",
      }]
      : []
  );
}

/** Hooks can be switched off as a whole, or one by its name. */
async function geminiSwitches(places: SwitchPlaces): Promise<HookSwitch[]> {
  const found: HookSwitch[] = [];
  const files = [
    `${places.root}/.gemini/settings.json`,
    ...places.userHome === undefined
      ? []
      : [`${places.userHome}/.gemini/settings.json`],
  ];
  for (const source of files) {
    const settings = await readSettings(source);
    const hooks = asTable(settings?.get("hooks"));
    const config = asTable(settings?.get("hooksConfig"));
    const tools = asTable(settings?.get("tools"));
    const disabled = [config?.get("disabled"), hooks?.get("disabled")].some((
      list,
    ) => Array.isArray(list) && list.includes("bulkhead-guard"));
    if (
      disabled || config?.get("enabled") === false ||
      hooks?.get("enabled") === false || tools?.get("enableHooks") === false
    ) {
      found.push({
        source,
        effect: "off",
        problem: "hooks are disabled there",
      });
    }
  }
  found.push(...await geminiTrust(places));
  return found;
}

/** A folder that is not trusted runs none of its hooks, and `--skip-trust` does not say so. */
async function geminiTrust(places: SwitchPlaces): Promise<HookSwitch[]> {
  if (places.env.GEMINI_CLI_TRUST_WORKSPACE === "true") return [];
  if (places.userHome === undefined) return [];
  const source = `${places.userHome}/.gemini/trustedFolders.json`;
  const folders = await readSettings(source);
  const trusted = [...folders ?? []].some(([folder, trust]) =>
    (trust === "TRUST_FOLDER" && isInside(places.root, folder)) ||
    (trust === "TRUST_PARENT" &&
      isInside(places.root, folder.replace(/\/[^/]*$/, "")))
  );
  return trusted ? [] : [{
    source,
    effect: "needs",
    problem:
      `"${places.root}" is not a trusted folder: trust it in Gemini, or set GEMINI_CLI_TRUST_WORKSPACE=true; with --skip-trust no hook of it runs`,
  }];
}

/** Settings that people write by hand, comments and all; `undefined` when there are none. */
async function readSettings(
  path: string,
): Promise<Map<string, unknown> | undefined> {
  return await readTable(path, parseJsonc);
}

/** A TOML file; `undefined` when there is none. */
async function readToml(
  path: string,
): Promise<Map<string, unknown> | undefined> {
  return await readTable(path, parseToml);
}

/** A file's table; a missing or damaged file has none, as for the harness itself. */
async function readTable(
  path: string,
  parse: (text: string) => unknown,
): Promise<Map<string, unknown> | undefined> {
  try {
    return asTable(parse(await readTextCapped(path, MAX_SETTINGS_BYTES)));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}

/** The JSON files of a directory, the last first, because the last wins. */
async function jsonFilesOf(directory: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(directory)) {
      if (entry.name.endsWith(".json")) names.push(entry.name);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
  return names.sort().reverse().map((name) => `${directory}/${name}`);
}

/** Narrows to a table. */
function asTable(value: unknown): Map<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : undefined;
}
