/**
 * A home, a workspace and plugins for one test.
 *
 * @module
 */

import { assert } from "@std/assert";
import {
  defaultConfig,
  type LoadedOutcome,
  type LoadOptions,
  type LoadOutcome,
  loadPlugins,
  type SandboxLevel,
  type Tool,
} from "@bulkhead/plugins";

/** Files of a plugin: path to text, or to text and mode. */
export type Files = Record<string, string | { text: string; mode: number }>;

/** A home, a workspace and plugins. */
export class World implements AsyncDisposable {
  readonly root: string;
  sandbox: SandboxLevel = "preferred";
  loginPath = false;

  private constructor(root: string) {
    this.root = root;
  }

  /** Makes an empty world. */
  static async create(): Promise<World> {
    const world = new World(await Deno.realPath(await Deno.makeTempDir()));
    await Deno.mkdir(world.plugins, { recursive: true });
    await Deno.mkdir(world.workspace);
    await Deno.mkdir(world.temp);
    return world;
  }

  get home(): string {
    return `${this.root}/home`;
  }
  get plugins(): string {
    return `${this.home}/plugins`;
  }
  get workspace(): string {
    return `${this.root}/ws`;
  }
  get temp(): string {
    return `${this.root}/tmp`;
  }

  /** Writes a plugin and answers with its directory. */
  async plugin(
    name: string,
    manifest: string,
    files: Files = {},
  ): Promise<string> {
    const dir = `${this.plugins}/${name}`;
    await writeFiles(dir, { "plugin.toml": manifest, ...files });
    return dir;
  }

  /** Loads with everything trusted unless told otherwise. */
  async outcome(
    options: Partial<LoadOptions> & { ask?: boolean } = {},
  ): Promise<LoadOutcome> {
    const { ask, ...rest } = options;
    const config = defaultConfig();
    config.enabled = true;
    config.sandbox = this.sandbox;
    config.loginPath = this.loginPath;
    config.trust = { enabled: true, default: ask ? "ask" : "always" };
    return await loadPlugins({
      config,
      home: this.home,
      workspace: this.workspace,
      ...rest,
    });
  }

  /** Loads and expects plugins to be loaded. */
  async load(
    options: Partial<LoadOptions> & { ask?: boolean } = {},
  ): Promise<LoadedOutcome> {
    const outcome = await this.outcome(options);
    assert(outcome.status === "loaded", `plugins are ${outcome.status}`);
    return outcome;
  }

  /** Loads and picks a tool. */
  async tool(
    name: string,
    options: Partial<LoadOptions> = {},
  ): Promise<Tool> {
    const outcome = await this.load(options);
    const tool = outcome.tools.find((each) => each.name === name);
    assert(tool !== undefined, `no ${name}: ${outcome.warnings.join("; ")}`);
    return tool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Writes files below a directory. */
export async function writeFiles(dir: string, files: Files): Promise<void> {
  for (const [path, held] of Object.entries(files)) {
    const file = typeof held === "string" ? { text: held, mode: 0o644 } : held;
    const target = `${dir}/${path}`;
    await Deno.mkdir(target.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(target, file.text);
    await Deno.chmod(target, file.mode);
  }
}

/** A script that its owner may execute. */
export function script(body: string): { text: string; mode: number } {
  return { text: `#!/bin/sh\n${body}\n`, mode: 0o755 };
}

/** Whether something is there. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}
