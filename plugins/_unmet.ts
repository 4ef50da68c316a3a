import { blocksOnError } from "./_disclosure.ts";
import { printable, quote, quoteWhole } from "./_text.ts";
import type { UnmetTrust } from "./errors.ts";
import type { PluginOnDisk } from "./read.ts";
import type { TrustPin, TrustRecord } from "./trust.ts";

/** What one load has found and decided. */
export interface Decided {
  /** What the caller trusts by name and content. */
  pins: readonly TrustPin[];
  /** The directories that were scanned. */
  dirs: readonly string[];
  /** The plugins that could be read. */
  found: readonly PluginOnDisk[];
  /** The directories of plugins that could not. */
  unreadable: readonly string[];
  /** The plugins that are loaded. */
  trusted: readonly PluginOnDisk[];
  /** The decisions as they are now, by real path. */
  records: ReadonlyMap<string, TrustRecord>;
  /** Why the decisions cannot be known. */
  storeProblem?: string | undefined;
}

/** What somebody relies on and this load does not give. */
export async function unmetTrust(decided: Decided): Promise<UnmetTrust[]> {
  const places = decided.dirs.map((dir) => quoteWhole(dir)).join(", ");
  return [
    ...unmetPins(decided.pins, decided.trusted, decided.found, places),
    ...await unmetPolicies(decided),
  ];
}

/**
 * Pins that let nothing in. Several pins of one name are alternatives: one of them has to fit.
 *
 * @param pins The pins.
 * @param accepted The plugins that may run.
 * @param found The plugins that are there.
 * @param places Where they were looked for, as a message names it.
 * @returns One entry for each name.
 */
export function unmetPins(
  pins: readonly TrustPin[],
  accepted: readonly PluginOnDisk[],
  found: readonly PluginOnDisk[],
  places: string,
): UnmetTrust[] {
  return [...new Set(pins.map((pin) => pin.name))].flatMap((name) => {
    const hashes = pins.filter((pin) => pin.name === name)
      .map((pin) => pin.hash);
    const fits = (plugin: PluginOnDisk): boolean =>
      plugin.manifest.name === name && hashes.includes(plugin.digest.hash);
    if (accepted.some(fits)) return [];
    const start = `Cannot honour --trust-plugin ${
      quoteWhole(`${name}=${hashes.join(" or ")}`)
    }: `;
    const there = found.find((plugin) => plugin.manifest.name === name);
    if (there === undefined) {
      return [{
        kind: "pin",
        plugin: name,
        reason:
          `${start}there is no plugin of this name that can be read in ${places}`,
        fix: '"bulkhead plugins list" shows what is there',
      }];
    }
    return [{
      kind: "pin",
      plugin: name,
      reason: start +
        (found.some(fits)
          ? "this very content was refused for good"
          : `the content of the plugin is ${there.digest.hash}`),
      fix: `look at it with "bulkhead plugins check ${
        printable(there.dir)
      }", then pin what is there or decide with "bulkhead plugins trust ${
        printable(name)
      }"`,
    }];
  });
}

/** Pins while the gate is closed for all plugins. */
export function closedPins(pins: readonly TrustPin[]): UnmetTrust[] {
  return pins.map(({ name, hash }) => ({
    kind: "pin",
    plugin: name,
    reason: `Cannot honour --trust-plugin ${
      quoteWhole(`${name}=${hash}`)
    }: [capabilities.trust] lets no plugin in`,
    fix: 'set enabled = true and default = "ask" under [capabilities.trust]',
  }));
}

/** Trusted plugins that were to block on failure and are not loaded: without them more would be allowed than was agreed. */
async function unmetPolicies(decided: Decided): Promise<UnmetTrust[]> {
  const { records, trusted, found, storeProblem } = decided;
  const loaded = new Set(trusted.map((plugin) => plugin.dir));
  if (storeProblem !== undefined) {
    return found.filter((plugin) =>
      !loaded.has(plugin.dir) && blocksOnError(plugin.lines)
    ).map(({ manifest: { name } }) => ({
      kind: "policy",
      plugin: name,
      reason: `The policy of plugin ${
        quote(name)
      } may not be in force: it has hooks with on_error = "block", and whether it was trusted cannot be known: ${storeProblem}`,
      fix: "bulkhead plugins doctor",
    }));
  }
  const policies = [...records].filter(([dir, record]) =>
    record.decision === "always" && !loaded.has(dir) &&
    blocksOnError(record.lines)
  );
  // Looking at the disk once more is for the rare case.
  if (policies.length === 0) return [];
  const roots = await realPaths(decided.dirs);
  const unreadable = await realPaths(decided.unreadable);
  return policies.flatMap(([dir, { name, hash }]) => {
    const plugin = found.find((each) => each.dir === dir);
    const what = plugin !== undefined
      ? plugin.digest.hash === hash
        ? "it is not loaded"
        : `its content changed to ${plugin.digest.hash} since it was trusted`
      : unreadable.includes(dir)
      ? "it can no longer be read"
      : roots.includes(dir.slice(0, dir.lastIndexOf("/")))
      ? "it is no longer there, or another one stands in its place"
      : undefined;
    if (what === undefined) return [];
    const shown = printable(name);
    return [{
      kind: "policy",
      plugin: name,
      reason: `The policy of plugin ${quote(name)} (${
        printable(dir)
      }) is not in force: it was trusted with hooks that have on_error = "block", and ${what}`,
      fix:
        `"bulkhead plugins trust ${shown}" decides about what is there now, "bulkhead plugins update ${shown}" restores an installed one, "bulkhead plugins untrust ${shown}" does without it`,
    }];
  });
}

async function realPaths(paths: readonly string[]): Promise<string[]> {
  return await Promise.all(
    paths.map((path) =>
      Deno.realPath(path).catch((error) => {
        if (error instanceof Deno.errors.NotCapable) throw error;
        return path;
      })
    ),
  );
}
