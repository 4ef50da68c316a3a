import type { PluginPaths } from "./_arguments.ts";
import type { SearchPath } from "./_search_path.ts";
import { messageOf, quote } from "./_text.ts";
import type { SandboxLevel } from "./config.ts";
import { digestPlugin } from "./digest.ts";
import { UntrustedError } from "./errors.ts";
import type { PluginOnDisk } from "./read.ts";

/** What the programs of one loaded plugin share. */
export interface PluginHost {
  /** The declared name. */
  readonly name: string;
  /** The real path of the directory. */
  readonly dir: string;
  /** The Bulkhead home. */
  readonly home: string;
  /** The plugin's own writable directory. */
  readonly dataDir: string;
  /** The real path of the workspace. */
  readonly workspace: string;
  /** The trusted content. */
  readonly hash: string;
  /** What the directory holds. */
  readonly paths: PluginPaths;
  /** The files that can be started, and the links, which may lead to one. */
  readonly startable: ReadonlySet<string>;
  /** How programs are isolated. */
  readonly sandbox: SandboxLevel;
  /** What a command without `permissions` may do to the workspace. */
  readonly workspaceAccess: "read" | "write";
  /** The PATH of programs; undefined when this process may not know it. */
  readonly path: SearchPath | undefined;
  /** Throws when the content is no longer the trusted one; the answer changes when somebody has touched it. */
  verify(): Promise<string>;
  /** The error for content that was touched while something of it ran. */
  touched(): Error;
}

/** Where a plugin runs and how. */
export interface HostOptions {
  /** The Bulkhead home. */
  home: string;
  /** The real path of the workspace. */
  workspace: string;
  /** How programs are isolated. */
  sandbox: SandboxLevel;
  /** What a command without `permissions` may do to the workspace. */
  workspaceAccess: "read" | "write";
  /** The PATH of programs; undefined when this process may not know it. */
  path: SearchPath | undefined;
}

/** The host of a plugin that passed every gate. */
export function hostOf(
  plugin: PluginOnDisk,
  dataDir: string,
  options: HostOptions,
): PluginHost {
  const { name } = plugin.manifest;
  let { digest } = plugin;
  return {
    name,
    dir: plugin.dir,
    home: options.home,
    dataDir,
    workspace: options.workspace,
    hash: digest.hash,
    paths: new Map(
      digest.files.map((file) => [file.path, file.kind !== "directory"]),
    ),
    startable: new Set(
      digest.files.filter((file) => file.executable || file.kind === "link")
        .map((file) => file.path),
    ),
    sandbox: options.sandbox,
    workspaceAccess: options.workspaceAccess,
    path: options.path,
    touched: () =>
      new UntrustedError(
        `plugin ${
          quote(name)
        } was changed while it ran, so its answer does not count`,
        { plugin: name, trusted: digest.hash, found: "" },
      ),
    async verify(): Promise<string> {
      if (await digest.isUnchanged()) return digest.stamp;
      const trusted = digest.hash;
      let found = "";
      let reason = "";
      try {
        const now = await digestPlugin(plugin.dir);
        if (now.hash === trusted) {
          digest = now;
          return digest.stamp;
        }
        found = now.hash;
        reason = `its content changed from ${trusted} to ${found}`;
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        reason = messageOf(error);
      }
      throw new UntrustedError(
        `plugin ${
          quote(name)
        } is not the one that was trusted: ${reason}; load it again to decide anew`,
        { plugin: name, trusted, found },
      );
    },
  };
}
