import {
  loadNativePlugin,
  type NativePlugin,
  nativeTools,
} from "@bulkhead/abi";
import {
  type LoadedPlugin,
  textResult,
  type Tool,
  toolName,
  type ToolRegistry,
} from "@bulkhead/plugins";
import type { IsolationLevel } from "@bulkhead/sandbox";
import { describeFailure } from "@bulkhead/sandbox/command";

/** The native plugins of a session. */
export interface NativeTools {
  /** What people should see, one line each. */
  notices: string[];
  /** Ends their processes. */
  close(): Promise<void>;
}

/** What native plugins are started with. */
export interface NativeToolsSetup {
  /** The workspace: the working directory of calls. */
  workspace: string;
  /** How much confinement they need. */
  isolation: IsolationLevel;
}

/**
 * Starts the native libraries of trusted plugins and puts their tools into the
 * registry, under the same names and the same trust as every other plugin's.
 *
 * @param plugins Trusted plugins with a library.
 * @param registry Where the tools go.
 * @param setup The workspace and the confinement.
 * @returns What people should see, and the end.
 */
export async function openNative(
  plugins: readonly LoadedPlugin[],
  registry: ToolRegistry,
  setup: NativeToolsSetup,
): Promise<NativeTools> {
  const notices: string[] = [];
  const started: NativePlugin[] = [];
  // Side by side: one that hangs in its constructor costs the others no time.
  const opened = await Promise.allSettled(plugins.map(async (plugin) => {
    if (plugin.native === undefined) return undefined;
    await plugin.verify();
    return await start(plugin, plugin.native.library, setup);
  }));
  for (const [index, plugin] of plugins.entries()) {
    const result = opened[index];
    if (result?.status === "rejected") {
      const { message } = describeFailure(result.reason);
      notices.push(`warning: native plugin "${plugin.name}": ${message}`);
    }
    if (result?.status !== "fulfilled" || result.value === undefined) continue;
    const native = result.value;
    started.push(native);
    const note = (line: string) =>
      void notices.push(`warning: native plugin "${plugin.name}": ${line}`);
    native.registration.diagnostics.forEach(note);
    for (const tool of toolsOf(plugin, native, note)) {
      const { warning } = registry.add(tool);
      if (warning !== undefined) notices.push(`warning: ${warning}`);
    }
  }
  return {
    notices,
    close: async () => {
      await Promise.all(started.map((native) => native.close()));
    },
  };
}

async function start(
  plugin: LoadedPlugin,
  library: string,
  { workspace, isolation }: NativeToolsSetup,
): Promise<NativePlugin> {
  await Deno.mkdir(plugin.dataDir, { recursive: true, mode: 0o700 });
  return await loadNativePlugin(library, {
    name: plugin.name,
    isolation,
    permissions: { read: [plugin.dir, workspace], write: [plugin.dataDir] },
    env: {
      PLUGIN_DIR: plugin.dir,
      PLUGIN_DATA_DIR: plugin.dataDir,
      WORKSPACE_DIR: workspace,
    },
    cwd: workspace,
  });
}

/** The library's tools; a call after the plugin's content has changed is refused. */
function toolsOf(
  plugin: LoadedPlugin,
  native: NativePlugin,
  onNote: (line: string) => void,
): Tool[] {
  const tools = nativeTools(native, {
    wireName: (tool) => toolName({ plugin: plugin.name, tool }),
    version: plugin.version,
    hash: plugin.hash,
    dir: plugin.dir,
    onNote,
  });
  return tools.map((tool) => ({
    ...tool,
    async execute(args, context) {
      try {
        await plugin.verify();
      } catch (error) {
        return textResult(describeFailure(error).message, true);
      }
      return await tool.execute(args, context);
    },
  }));
}
