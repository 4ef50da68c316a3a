import type { IsolationPolicy } from "@bulkhead/sandbox";
import {
  isInside,
  joinPath,
  normalizePath,
  resolveTarget,
} from "@bulkhead/sandbox/paths";
import { expand, type Placeholders } from "./_placeholders.ts";
import type { PluginHost } from "./_plugin_host.ts";
import type { ProgramSpec } from "./_program.ts";
import { quote, quoteWhole } from "./_text.ts";

/** A policy under construction. */
export interface PluginPolicy extends IsolationPolicy {
  /** What may be read. */
  read: string[];
  /** What may be read and written. */
  write: string[];
  /** The hosts that may be reached. */
  net: string[];
}

/**
 * What a program may reach: its permissions, or the default of a program without any.
 *
 * @throws {TypeError} If a path cannot be granted.
 */
export function grantedPolicy(
  host: PluginHost,
  spec: ProgramSpec,
  values: Placeholders,
): PluginPolicy {
  const { permissions, program } = spec;
  if (permissions === undefined) {
    const workspace = program.kind === "deno" ? [] : [host.workspace];
    return host.workspaceAccess === "write" &&
        !holdsOwnFiles(host.workspace, host)
      ? { read: [host.dir], write: [host.dataDir, ...workspace], net: [] }
      : { read: [host.dir, ...workspace], write: [host.dataDir], net: [] };
  }
  const write = [
    host.dataDir,
    ...permissions.write.map((path) => writablePath(path, host, values)),
  ];
  // What lies in a writable directory is granted with it. By itself it must not be granted: the plugin could have put
  // a link there, which would then be followed out of the directory.
  const covered = (path: string): boolean =>
    write.some((root) => root !== path && isInside(path, root));
  return {
    read: [
      host.dir,
      ...permissions.read.map((path) => grantedPath(path, host, values)).filter(
        (path) => !covered(path),
      ),
    ],
    write: write.filter((path) => !covered(path)),
    net: permissions.net,
  };
}

/**
 * A path of the manifest as an absolute one. A link in the workspace or the plugin must not widen it.
 *
 * @throws {TypeError} If it does.
 */
export function grantedPath(
  raw: string,
  host: PluginHost,
  values: Placeholders,
): string {
  const path = normalizePath(joinPath(host.dir, expand(raw, values)));
  for (const root of [host.workspace, host.dir, host.dataDir]) {
    if (!isInside(path, root)) continue;
    const real = resolveTarget(path, root);
    if (isInside(real, root)) return real;
    throw new TypeError(
      `Cannot grant ${quote(raw)}: ${
        quoteWhole(path)
      } is or holds a link that leads outside ${quoteWhole(root)}`,
    );
  }
  return path;
}

/**
 * A path of the manifest that may be written. What decides about trust and isolation never is: a plugin that could
 * write it would decide for itself.
 *
 * @throws {TypeError} If it cannot be granted.
 */
export function writablePath(
  raw: string,
  host: PluginHost,
  values: Placeholders,
): string {
  const path = grantedPath(raw, host, values);
  if (!holdsOwnFiles(path, host)) return path;
  throw new TypeError(
    `Cannot grant writing to ${
      quote(raw)
    }: Bulkhead's own files lie there, in ${quoteWhole(host.home)}`,
  );
}

/** What of the home only Bulkhead itself writes. */
const OWN_FILES = [
  "config.toml",
  "trust.json",
  "trust.json.lock",
  "plugins",
  "plugins.lock",
  "plugins.lock.json",
  "data",
  "bin",
  "workers",
];

function holdsOwnFiles(path: string, host: PluginHost): boolean {
  if (isInside(path, host.dataDir)) return false;
  const home = resolveTarget(host.home, "/");
  const real = resolveTarget(path, "/");
  return isInside(home, real) ||
    OWN_FILES.some((name) => isInside(real, `${home}/${name}`));
}
