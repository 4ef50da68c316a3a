import { type IsolationLevel, probeIsolation } from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";
import {
  type LoadedHook,
  type LoadedPlugin,
  loadPlugins,
  type PluginsConfig,
  registerPlugins,
  type ResolvedConfig,
  type Tool,
  ToolRegistry,
  type TrustPin,
  UnmetTrustError,
} from "@bulkhead/plugins";
import { parseTrustPin } from "@bulkhead/plugins/trust";
import { installDemoPlugin } from "./demo_plugin.ts";
import type { ReadLine } from "@bulkhead/worker/terminal";
import type { NativeTools, NativeToolsSetup } from "./native.ts";
import type { RunArguments } from "./options.ts";
import type { Places } from "./places.ts";
import { pluginDirs } from "./plugin_dirs.ts";
import { trustPrompt } from "./trust_prompt.ts";

/** The tools and hooks of a session, and what the user has configured. */
export interface SessionTools {
  /** The tools of trusted plugins. */
  registry: Pick<ToolRegistry, "get"> & Iterable<Tool>;
  /** The hooks of trusted plugins. */
  hooks: readonly LoadedHook[];
  /** What people should see, one line each. */
  notices: string[];
  /** Ends the native plugins. */
  close(): Promise<void>;
}

/**
 * Finds, hashes and loads the plugins of a session.
 *
 * @param args The command line.
 * @param places Where the session lives.
 * @param resolved The configuration.
 * @param io Asks about new plugins, where a person is there.
 * @param readLine Reads the answers.
 * @returns The tools.
 * @throws {TypeError} If a directory of `--plugin-dir` cannot hold plugins.
 * @throws {UnmetTrustError} If a pin lets nothing in, or the policy of a plugin that was trusted is not in force.
 */
export async function openTools(
  args: Pick<RunArguments, "trusted" | "isolation" | "pluginDirs" | "json">,
  places: Omit<Places, "dispose">,
  resolved: ResolvedConfig,
  io: CommandIo,
  readLine: ReadLine,
): Promise<SessionTools> {
  const { home, workspace } = places;
  const registry = new ToolRegistry();
  const notices: string[] = [];
  const pins: TrustPin[] = args.trusted.map(parseTrustPin);
  const dirs = await pluginDirs(args.pluginDirs);
  let level = args.isolation;
  if (places.claims !== undefined) {
    const { pin } = await installDemoPlugin(home);
    pins.push(pin);
    notices.push(
      `plugin "greeting" is trusted for this demo by its content ${
        pin.hash.slice(0, 19)
      }…`,
    );
    level ??= "preferred";
  }
  notices.push(...resolved.notices);
  const config: PluginsConfig = {
    ...resolved.config,
    dirs: [...resolved.config.dirs, ...dirs],
    ...level === undefined ? {} : { sandbox: level },
  };
  if (pins.length > 0 || dirs.length > 0) {
    // Naming a plugin on the command line is switching plugins on.
    config.enabled = true;
    config.trust = { ...config.trust, enabled: true };
  }
  const outcome = await loadPlugins({
    config,
    home,
    workspace,
    pins,
    ...io.canAsk && !args.json ? { trust: trustPrompt(io, readLine) } : {},
  });
  if (outcome.status !== "disabled" && outcome.unmet !== undefined) {
    throw new UnmetTrustError(outcome.unmet);
  }
  notices.push(...registerPlugins(outcome, registry));
  if (outcome.status === "blocked_pending_trust" && isClosed(config.trust)) {
    notices.push(
      `to be asked about plugins, write enabled = true and default = "ask" under [capabilities.trust] in ${
        JSON.stringify(`${home}/config.toml`)
      }, then: bulkhead plugins trust`,
    );
  }
  if (outcome.status !== "loaded") {
    return { registry, hooks: [], notices, close: nothingToClose };
  }
  const { plugins, hooks } = outcome;
  if (plugins.length > 0) {
    notices.push(...await isolationNotice(config.sandbox));
  }
  const setup = { workspace, isolation: config.sandbox };
  const native = await openNativeOf(plugins, registry, setup);
  return {
    registry,
    hooks,
    notices: [...notices, ...native.notices],
    close: native.close,
  };
}

/** Starts the libraries of native plugins; what does that is loaded only when there are some. */
async function openNativeOf(
  plugins: readonly LoadedPlugin[],
  registry: ToolRegistry,
  setup: NativeToolsSetup,
): Promise<NativeTools> {
  const native = plugins.filter((plugin) => plugin.native !== undefined);
  if (native.length === 0) return { notices: [], close: nothingToClose };
  const { openNative } = await import("./native.ts");
  return await openNative(native, registry, setup);
}

function nothingToClose(): Promise<void> {
  return Promise.resolve();
}

/** One line when plugins run with less confinement than there could be; without any, loading them has said so. */
async function isolationNotice(level: IsolationLevel): Promise<string[]> {
  if (level === "off") return [];
  const { backend, detail, fix } = await probeIsolation();
  if (backend !== "landlock") return [];
  return [
    `plugins run under Landlock, without a PID namespace: ${detail}${
      fix ? `; run: ${fix}` : ""
    }`,
  ];
}

/** Whether no plugin is let in, whatever was decided about it. */
function isClosed({ enabled, default: word }: PluginsConfig["trust"]): boolean {
  return !enabled || (word !== "ask" && word !== "always");
}
