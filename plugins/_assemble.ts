import { commandLine } from "./_disclosure.ts";
import { hostOf, type HostOptions, type PluginHost } from "./_plugin_host.ts";
import { PluginProgram } from "./_plugin_run.ts";
import { printable, quote } from "./_text.ts";
import { MANIFEST_NAME } from "./digest.ts";
import type { DiscoveredPlugin } from "./discover.ts";
import type { LoadedHook } from "./hooks.ts";
import type { PluginManifest, ToolSpec } from "./manifest.ts";
import { pluginDirName, toolName } from "./names.ts";
import { createPluginTool } from "./plugin_tool.ts";
import type { PluginOnDisk } from "./read.ts";
import { ArgumentValidator, checkSchema } from "./schema.ts";
import type { Tool, ToolRegistry } from "./tool.ts";

/** The native library of a loaded plugin. */
export interface LoadedNative {
  /** The absolute path of the library, inside the plugin's real directory. */
  library: string;
}

/** A plugin that passed every gate. */
export interface LoadedPlugin {
  /** The declared name. */
  readonly name: string;
  /** The declared version. */
  readonly version: string;
  /** The real path of the directory. */
  readonly dir: string;
  /** The trusted content. */
  readonly hash: string;
  /** The plugin's own writable directory; made when something runs. */
  readonly dataDir: string;
  /** Its tools that are offered. */
  readonly tools: readonly Tool[];
  /** Its hooks, those that never fire included. */
  readonly hooks: readonly LoadedHook[];
  /** Its native library; `@bulkhead/abi` loads it. */
  readonly native?: LoadedNative;
  /**
   * Checks that the content is still the trusted one; call it before anything of the plugin runs.
   *
   * @throws {UntrustedError} If it is not.
   */
  verify(): Promise<void>;
}

/** Where loaded plugins go and what they run in. */
export interface AssembleOptions extends HostOptions {
  registry: ToolRegistry;
  /** What is wrong with the plugins. */
  warnings: string[];
  /** What is missing around them. */
  notices: string[];
}

/** Makes tools and hooks of trusted plugins. */
export function assemble(
  items: readonly { found: DiscoveredPlugin; plugin: PluginOnDisk }[],
  options: AssembleOptions,
): LoadedPlugin[] {
  const dataNames = new Set<string>();
  // The plugin that lives in the directory of its name owns the data of that name.
  for (const { found, plugin } of items) {
    if (found.name === plugin.manifest.name) dataNames.add(found.name);
  }
  return items.map(({ found, plugin }) => {
    const { name } = plugin.manifest;
    const owns = found.name === name || !dataNames.has(name);
    dataNames.add(name);
    const dataName = pluginDirName(owns ? name : `${name}@${found.name}`);
    const host = hostOf(plugin, `${options.home}/data/${dataName}`, options);
    return loadedPlugin(found, plugin, host, options);
  });
}

function loadedPlugin(
  found: DiscoveredPlugin,
  plugin: PluginOnDisk,
  host: PluginHost,
  options: AssembleOptions,
): LoadedPlugin {
  const { manifest } = plugin;
  const place = `plugin \`${printable(found.name)}\` (${
    printable(`${found.dir}/${MANIFEST_NAME}`)
  })`;
  const warn = (line: number, message: string): void => {
    options.warnings.push(`${place}: line ${line}: ${message}`);
  };
  const tell = (line: number, what: string, program: PluginProgram): void => {
    const { note, notHere } = program;
    if (note !== undefined) warn(line, `${what} will fail: ${note}`);
    if (notHere !== undefined) {
      options.notices.push(`${place}: line ${line}: ${what}: ${notHere}`);
    }
  };
  for (const problem of manifest.problems) {
    warn(problem.line, `${quote(problem.key)}: ${problem.message}`);
  }
  const tools: Tool[] = [];
  for (const spec of manifest.tools) {
    const made = loadedTool(spec, plugin, host, warn);
    if (made === undefined) continue;
    const { tool } = made;
    tell(spec.line, toolLabel(spec, manifest), made.program);
    const { added, warning } = options.registry.add(tool);
    if (added) tools.push(tool);
    else if (warning !== undefined) warn(spec.line, warning);
  }
  const hooks: LoadedHook[] = [];
  for (const spec of manifest.hooks) {
    const program = PluginProgram.prepare(host, spec);
    const label = `hook on ${quote(spec.event)}`;
    if (typeof program === "string") {
      warn(spec.line, `${label} left out: ${program}`);
      continue;
    }
    tell(spec.line, label, program);
    hooks.push({
      plugin: manifest.name,
      event: spec.event,
      ...(spec.fires === undefined ? {} : { fires: spec.fires }),
      matcher: spec.matcher,
      onError: spec.onError,
      timeoutMs: spec.timeoutMs,
      command: commandLine(spec),
      program,
    });
  }
  const native = loadedNative(plugin, host, warn);
  return {
    name: manifest.name,
    version: manifest.version,
    dir: host.dir,
    hash: host.hash,
    dataDir: host.dataDir,
    tools,
    hooks,
    ...(native === undefined ? {} : { native }),
    verify: async () => {
      await host.verify();
    },
  };
}

function loadedTool(
  spec: ToolSpec,
  plugin: PluginOnDisk,
  host: PluginHost,
  warn: (line: number, message: string) => void,
): { tool: Tool; program: PluginProgram } | undefined {
  const { manifest } = plugin;
  const label = toolLabel(spec, manifest);
  const schema = checkSchema(spec.params);
  if ("problem" in schema) {
    warn(spec.line, `${label} left out: params: ${schema.problem}`);
    return undefined;
  }
  const program = PluginProgram.prepare(host, spec);
  if (typeof program === "string") {
    warn(spec.line, `${label} left out: ${program}`);
    return undefined;
  }
  for (const note of schema.notes) warn(spec.line, `${label}: params: ${note}`);
  const name = toolName({ plugin: manifest.name, tool: spec.name });
  if (name !== `plugin__${manifest.name}__${spec.name}`) {
    warn(spec.line, `${label} is offered as "${name}"`);
  }
  const tool = createPluginTool({
    tool: {
      name,
      ...(spec.annotations?.title === undefined
        ? {}
        : { title: spec.annotations.title }),
      description: spec.description,
      inputSchema: schema.wire,
      ...(spec.annotations === undefined
        ? {}
        : { annotations: spec.annotations }),
      source: {
        plugin: manifest.name,
        tool: spec.name,
        version: manifest.version,
        hash: host.hash,
        dir: host.dir,
      },
    },
    program,
    validator: new ArgumentValidator(spec.params),
    timeoutMs: spec.timeoutMs,
    workspace: host.workspace,
  });
  return { tool, program };
}

function toolLabel(spec: ToolSpec, manifest: PluginManifest): string {
  return `tool ${quote(spec.name)} of plugin ${quote(manifest.name)}`;
}

function loadedNative(
  plugin: PluginOnDisk,
  host: PluginHost,
  warn: (line: number, message: string) => void,
): LoadedNative | undefined {
  const { native } = plugin.manifest;
  if (native === undefined) return undefined;
  const path = native.library.replace(/^(?:\.\/)+/, "");
  if (host.paths.get(path) === true) {
    return { library: `${host.dir}/${path}` };
  }
  warn(
    native.line,
    `native library ${
      quote(native.library)
    } is not a file of the plugin, left out`,
  );
  return undefined;
}
