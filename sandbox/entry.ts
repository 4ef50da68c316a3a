import { requirePermissions } from "./permissions.ts";

/** How to start a Deno program of ours. */
export interface DenoEntry {
  /** The command line, the absolute path of the deno binary first. */
  argv: string[];
  /** Variables that the child needs on top of its environment. */
  env: Record<string, string>;
  /** Paths that an isolated child must be able to read. */
  readable: string[];
}

/** Options of {@linkcode denoEntry}. */
export interface DenoEntryOptions {
  /** The exact permission flags, for example `["--allow-read=/work"]`. */
  permissions: readonly string[];
  /** Arguments of the program. */
  args?: readonly string[];
  /**
   * Use our own configuration, which maps bare imports. A program that imports
   * nothing by a bare name can do without, and starts a little faster.
   *
   * @default {true}
   */
  config?: boolean;
  /** Further flags of `deno run`, for example `--v8-flags=…`. */
  flags?: readonly string[];
}

/** Variables that decide where a Deno child finds its cache and its certificates. */
const DENO_NAMES = ["XDG_CACHE_HOME", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/**
 * The command line of a Deno program of ours, so that neither the directory it is
 * started in nor the caller's environment decides what it runs: absolute binary,
 * our configuration or none, no prompt, no lock file, nothing fetched, an explicit
 * cache directory, and exactly the permissions given.
 *
 * Needs `--allow-env=DENO_DIR,XDG_CACHE_HOME,SSL_CERT_FILE,NODE_EXTRA_CA_CERTS,HOME`.
 *
 * @param module The program's module, usually `new URL("./x.ts", import.meta.url)`.
 * @param options Its permissions and arguments.
 * @returns Argv, environment additions and what must be readable.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { denoEntry } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const entry = denoEntry("file:///srv/tool.ts", { permissions: [], config: false });
 * assertEquals(entry.argv.slice(1), [
 *   "run", "--no-config", "--no-prompt", "--no-lock", "--cached-only", "/srv/tool.ts",
 * ]);
 * ```
 */
export function denoEntry(
  module: URL | string,
  options: DenoEntryOptions,
): DenoEntry {
  requirePermissions(
    "Starting a Deno child",
    ["DENO_DIR", ...DENO_NAMES, "HOME"].map((variable) => ({
      name: "env",
      variable,
    })),
  );
  const url = typeof module === "string" ? new URL(module) : module;
  const local = url.protocol === "file:";
  const config = local && options.config !== false
    ? `--config=${filePath(rootConfig())}`
    : "--no-config";
  const env: Record<string, string> = {};
  const cache = denoDir();
  if (cache) env.DENO_DIR = cache;
  for (const name of DENO_NAMES) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return {
    argv: [
      Deno.execPath(),
      "run",
      config,
      "--no-prompt",
      "--no-lock",
      "--cached-only",
      ...options.flags ?? [],
      ...options.permissions,
      local ? filePath(url) : url.href,
      ...options.args ?? [],
    ],
    env,
    readable: [
      Deno.execPath(),
      ...cache ? [cache] : [],
      ...local
        ? [
          filePath(options.config === false ? url : new URL(".", rootConfig())),
        ]
        : [],
    ],
  };
}

/** The workspace's configuration, which lies beside the members. */
function rootConfig(): URL {
  return new URL("../deno.json", import.meta.url);
}

/** Deno's cache directory, by Deno's own rule; nothing when no home is set. */
function denoDir(): string | undefined {
  const own = Deno.env.get("DENO_DIR");
  if (own) return own;
  const cache = Deno.env.get("XDG_CACHE_HOME");
  if (cache) return `${cache}/deno`;
  const home = Deno.env.get("HOME");
  if (!home) return undefined;
  return Deno.build.os === "darwin"
    ? `${home}/Library/Caches/deno`
    : `${home}/.cache/deno`;
}

/** A `file:` URL as a path. */
function filePath(url: URL): string {
  return decodeURIComponent(url.pathname).replace(/(.)\/$/, "$1");
}
