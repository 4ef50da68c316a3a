/**
 * What keeps plugins from working: one plugin's directory, or everything of a user.
 *
 * @module
 */
import { namedPermissions, probeIsolation } from "@bulkhead/sandbox";
import { assemble } from "./_assemble.ts";
import { searchPath } from "./_search_path.ts";
import { needsRepair } from "./_stage.ts";
import { messageOf, printable, quoteWhole, shown } from "./_text.ts";
import { loadConfig, type PluginsConfig } from "./config.ts";
import { discoverPlugins } from "./discover.ts";
import { installedPlugins, repairInstalls } from "./installed.ts";
import { type LoadedOutcome, loadPlugins } from "./load.ts";
import { readPlugin } from "./read.ts";
import { ToolRegistry } from "./tool.ts";
import { TrustStore } from "./trust.ts";

/** Where {@linkcode checkPlugin} looks. */
export interface CheckOptions {
  /** The Bulkhead home. */
  home: string;
  /** The workspace. */
  workspace: string;
}

/** What {@linkcode checkPlugin} found. */
export interface PluginCheck {
  /** The declared name. */
  name: string;
  /** The declared version. */
  version: string;
  /** The real path of the directory. */
  dir: string;
  /** The content hash. */
  hash: string;
  /** Everything it could run or reach, one printable line each. */
  lines: string[];
  /** The names its tools would be offered under. */
  tools: string[];
  /** What is wrong, one printable line each. */
  problems: string[];
}

/**
 * Checks one plugin as a load would, without trusting or running anything.
 *
 * Needs `--allow-read` of the directory and of the PATH.
 *
 * @param dir The directory of the plugin.
 * @param options The home and the workspace.
 * @returns What it is and what is wrong with it.
 * @throws {ManifestError} If the manifest cannot be used at all.
 *
 * @example A plugin with a schema that no model provider takes
 * ```ts
 * import { checkPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.writeTextFile(
 *   `${dir}/plugin.toml`,
 *   'name = "demo"\n[[tools]]\nname = "t"\ncommand = "sh"\nparams = { type = "strng" }\n',
 * );
 * const { problems } = await checkPlugin(dir, { home: dir, workspace: dir });
 * assertEquals(problems.length, 1);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function checkPlugin(
  dir: string,
  options: CheckOptions,
): Promise<PluginCheck> {
  return await namedPermissions("Checking a plugin", async () => {
    const info = await Deno.stat(dir).catch((error: unknown) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    if (!info?.isDirectory) {
      throw new Deno.errors.NotFound(
        `Cannot check ${quoteWhole(dir)}: ${
          info === undefined
            ? "there is no such directory"
            : "it is not a directory"
        }; name the directory that holds its plugin.toml`,
      );
    }
    const plugin = await readPlugin(dir);
    const warnings: string[] = [];
    const name = plugin.dir.split("/").at(-1) ?? plugin.dir;
    const [loaded] = assemble([{ found: { name, dir: plugin.dir }, plugin }], {
      home: options.home,
      workspace: options.workspace,
      sandbox: "off",
      workspaceAccess: "read",
      path: await searchPath(false, warnings),
      registry: new ToolRegistry(),
      warnings,
      // Whoever checks a plugin wants to know both.
      notices: warnings,
    });
    const { manifest } = plugin;
    if (
      manifest.tools.length + manifest.hooks.length === 0 &&
      manifest.native === undefined
    ) {
      warnings.push("it declares no tool, no hook and no native library");
    }
    return {
      name: manifest.name,
      version: manifest.version,
      dir: plugin.dir,
      hash: plugin.digest.hash,
      lines: plugin.lines,
      tools: loaded?.tools.map((tool) => tool.name) ?? [],
      problems: warnings.map(printable),
    };
  });
}

/** One thing that {@linkcode checkPlugins} looked at. */
export interface PluginFinding {
  /** In order, worth knowing, or to be mended. */
  level: "ok" | "note" | "problem";
  /** What was found, one printable line. */
  text: string;
  /** What mends it. */
  fix?: string;
}

/** Options of {@linkcode checkPlugins}. */
export interface DoctorOptions extends CheckOptions {
  /**
   * Put interrupted installs right.
   *
   * @default {false}
   */
  fix?: boolean;
}

/**
 * Looks at everything that plugins need: configuration, sandbox, stores, installs and each plugin.
 *
 * Needs `--allow-read`, `--allow-env` and `--allow-run`; `--allow-write` of the home to mend.
 *
 * @param options The places, and whether to mend.
 * @returns What was found.
 *
 * @example Plugins that are switched off
 * ```ts
 * import { checkPlugins } from "@bulkhead/plugins";
 * import { assert } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * const findings = await checkPlugins({ home, workspace: home });
 * assert(findings.some(({ level, text }) => level === "note" && text === "plugins are off"));
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function checkPlugins(
  options: DoctorOptions,
): Promise<PluginFinding[]> {
  return await namedPermissions("Looking at the plugins", async () => {
    const findings: PluginFinding[] = [];
    const config = await checkConfig(options, findings);
    await checkSandbox(config, findings);
    const modified = await checkStores(options, findings);
    if (config !== undefined) {
      await checkLoaded(config, options, modified, findings);
    }
    return findings;
  });
}

async function checkConfig(
  options: DoctorOptions,
  findings: PluginFinding[],
): Promise<PluginsConfig | undefined> {
  try {
    const { config, notices } = await loadConfig({
      home: options.home,
      workspace: options.workspace,
    });
    for (const text of notices) {
      findings.push({ level: "note", text: printable(text) });
    }
    if (config.enabled) findings.push({ level: "ok", text: "plugins are on" });
    else {
      findings.push({
        level: "note",
        text: "plugins are off",
        fix:
          `to switch them on, write [capabilities.plugins] enabled = true and [capabilities.trust] enabled = true into ${
            quoteWhole(`${options.home}/config.toml`)
          }`,
      });
    }
    return config;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    findings.push({
      level: "problem",
      text: messageOf(error),
      fix: `edit ${quoteWhole(`${options.home}/config.toml`)}`,
    });
    return undefined;
  }
}

async function checkSandbox(
  config: PluginsConfig | undefined,
  findings: PluginFinding[],
): Promise<void> {
  const level = config?.sandbox ?? "required";
  if (level === "off") {
    findings.push({
      level: "note",
      text: "the sandbox is off: plugins run with all of your rights",
      fix: 'set sandbox = "required" in config.toml',
    });
    return;
  }
  const { backend, detail, fix } = await probeIsolation();
  if (backend !== "none") {
    findings.push({ level: "ok", text: `sandbox: ${backend}` });
  } else {
    const text = level === "required"
      ? `no sandbox works here, so no tool can run: ${printable(detail)}`
      : `no sandbox works here, so tools run with all of your rights: ${
        printable(detail)
      }`;
    findings.push({
      level: level === "required" ? "problem" : "note",
      text,
      ...(fix === undefined ? {} : { fix }),
    });
  }
}

async function checkStores(
  options: DoctorOptions,
  findings: PluginFinding[],
): Promise<string[]> {
  const { home } = options;
  const store = new TrustStore(home);
  const { problem } = await store.read();
  if (problem !== undefined) {
    findings.push({
      level: "problem",
      text: printable(problem),
      fix: `${moveAside(store.path)}, then decide anew: bulkhead plugins trust`,
    });
  }
  if (await needsRepair(home)) {
    const repaired = options.fix ? await repairInstalls({ home }) : [];
    if (await needsRepair(home)) {
      findings.push({
        level: "problem",
        text: "an install was interrupted, or is at work",
        fix: "bulkhead plugins doctor --fix",
      });
    } else {findings.push({
        level: "ok",
        text: `an interrupted install was put right${
          repaired.map((line) => `: ${line}`).join("")
        }`,
      });}
  }
  const { plugins, problems } = await installedPlugins({ home });
  const lock = `${home}/plugins.lock.json`;
  for (const text of problems) {
    findings.push({
      level: "problem",
      text: printable(text),
      fix: `${
        moveAside(lock)
      }; plugins work without it, and "bulkhead plugins remove --force NAME" and "install SOURCE" enter one again`,
    });
  }
  const modified: string[] = [];
  for (const { name, dir, state, changes } of plugins) {
    const fix = `bulkhead plugins update ${name}`;
    if (state === "missing") {
      findings.push({
        level: "problem",
        text: `the directory of plugin "${name}" is gone`,
        fix,
      });
    }
    if (state === "modified") {
      modified.push(await Deno.realPath(dir));
      findings.push({
        level: "note",
        text: `plugin "${name}" is not what was installed${
          changes === undefined ? "" : `: ${changes.join(", ")}`
        }`,
        fix: `${fix} restores it`,
      });
    }
  }
  return modified;
}

function loadedText({ plugins, tools, hooks }: LoadedOutcome): string {
  const natives = plugins.filter(({ native }) => native !== undefined).length;
  const parts = [
    counted(tools.length, "tool"),
    counted(hooks.length, "hook"),
    ...(natives === 0
      ? []
      : [natives === 1 ? "1 native library" : `${natives} native libraries`]),
  ];
  return `${counted(plugins.length, "plugin")} loaded, with ${
    parts.join(", ")
  }`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** The command that takes a damaged file away and keeps it. */
function moveAside(path: string): string {
  return `mv ${shown(path)} ${shown(`${path}.damaged`)}`;
}

async function checkLoaded(
  config: PluginsConfig,
  options: DoctorOptions,
  modified: readonly string[],
  findings: PluginFinding[],
): Promise<void> {
  const { home, workspace } = options;
  const outcome = await loadPlugins({ config, home, workspace });
  if (outcome.status === "disabled") {
    const found = await discoverPlugins([`${home}/plugins`, ...config.dirs]);
    if (found.length > 0) {
      findings.push({
        level: "note",
        text: `${found.length} plugins are there and not loaded`,
      });
    }
    return;
  }
  for (const { name, dir, reason } of outcome.refused) {
    // What is to be restored is not to be trusted as it is; that was found before.
    if (modified.includes(dir)) continue;
    findings.push({
      level: "note",
      text: reason,
      fix: `bulkhead plugins trust ${name}`,
    });
  }
  for (const warning of outcome.warnings) {
    const text = printable(warning);
    // What is wrong with a store was found before.
    if (findings.every((finding) => finding.text !== text)) {
      findings.push({ level: "problem", text });
    }
  }
  if (outcome.status === "loaded") {
    for (const text of outcome.notices) {
      // What is missing of the sandbox was found before.
      if (/^(?:plugin `|login_path)/.test(text)) {
        findings.push({ level: "note", text: printable(text) });
      }
    }
    findings.push({ level: "ok", text: loadedText(outcome) });
  } else if (outcome.refused.length === 0) {
    findings.push({ level: "note", text: outcome.notice });
  }
}
