/**
 * What callers of this package catch.
 *
 * @module
 */

import { printable, quoteWhole } from "./_text.ts";

/** Where a problem of a manifest stands. */
export interface ManifestPlace {
  /** The file, as it was named by the caller. */
  path: string;
  /** The line, counted from one; 0 when the file as a whole cannot be used. */
  line: number;
  /** The key, such as `tools[0].command`; empty when the text is not TOML. */
  key: string;
}

/**
 * A `plugin.toml` that cannot be used at all.
 *
 * @example Where it is wrong
 * ```ts
 * import { ManifestError, parseManifest } from "@bulkhead/plugins";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const text = 'name = "demo"\n[[tools]]\nname = "t"\ncommand = 5\n';
 * const error = assertThrows(
 *   () => parseManifest(text, { directory: "demo" }),
 *   ManifestError,
 * );
 * assertEquals([error.line, error.key], [4, "tools[0].command"]);
 * ```
 */
export class ManifestError extends SyntaxError implements ManifestPlace {
  /** The file, as it was named by the caller. */
  readonly path: string;
  /** The line, counted from one; 0 when the file as a whole cannot be used. */
  readonly line: number;
  /** The key, such as `tools[0].command`; empty when the text is not TOML. */
  readonly key: string;
  /** What is wrong, without the place. */
  readonly reason: string;
  /** What else costs the whole manifest, further down. */
  readonly others: readonly ManifestError[];

  /**
   * Creates the error.
   *
   * @param message What is wrong.
   * @param place Where it is wrong.
   * @param others What else is.
   */
  constructor(
    message: string,
    place: ManifestPlace,
    others: readonly ManifestError[] = [],
  ) {
    super(
      place.line === 0
        ? `reading ${quoteWhole(place.path)}: ${message}`
        : `parsing manifest: line ${place.line}: ${message}`,
    );
    this.name = "ManifestError";
    this.path = place.path;
    this.line = place.line;
    this.key = place.key;
    this.reason = message;
    this.others = others;
  }
}

/**
 * A configuration that cannot be resolved.
 *
 * @example What to do about it
 * ```ts
 * import { ConfigError } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new ConfigError("dirs must be a list", { fix: "edit config.toml" });
 * assertEquals(error.fix, "edit config.toml");
 * ```
 */
export class ConfigError extends TypeError {
  /** What to do about it, when the file is known. */
  readonly fix?: string;

  /**
   * Creates the error.
   *
   * @param message What is wrong and where.
   * @param options The cause, and what to do.
   */
  constructor(message: string, options?: ErrorOptions & { fix?: string }) {
    super(message, options);
    this.name = "ConfigError";
    if (options?.fix !== undefined) this.fix = options.fix;
  }
}

/** Something that is relied on and that a load does not give. */
export interface UnmetTrust {
  /** A pin that lets nothing in, or the blocking hooks of a plugin that was trusted and is not loaded. */
  kind: "pin" | "policy";
  /** The name of the plugin. */
  plugin: string;
  /** What is not in force and why, in one printable line. */
  reason: string;
  /** What to do about it. */
  fix: string;
}

/**
 * A load that does not give what is relied on: nothing should begin with it.
 *
 * @example What to do about it
 * ```ts
 * import { UnmetTrustError } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new UnmetTrustError([{
 *   kind: "pin",
 *   plugin: "demo",
 *   reason: "there is no such plugin",
 *   fix: "bulkhead plugins list",
 * }]);
 * assertEquals([error.message, error.fix], ["there is no such plugin", "bulkhead plugins list"]);
 * ```
 */
export class UnmetTrustError extends Error {
  /** Everything that is not in force. */
  readonly unmet: readonly UnmetTrust[];
  /** What to do about the first. */
  readonly fix: string;

  /**
   * Creates the error.
   *
   * @param unmet What is not in force; the message tells the first and how many more there are.
   */
  constructor(unmet: readonly UnmetTrust[]) {
    const more = unmet.length > 1 ? ` (and ${unmet.length - 1} more)` : "";
    super(`${unmet[0]?.reason ?? "nothing is missing"}${more}`);
    this.name = "UnmetTrustError";
    this.unmet = unmet;
    this.fix = unmet[0]?.fix ?? "";
  }
}

/**
 * A plugin whose content is not the content that was trusted.
 *
 * @example The two hashes
 * ```ts
 * import { UntrustedError } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new UntrustedError("plugin \"demo\" is not the one that was trusted", {
 *   plugin: "demo",
 *   trusted: "sha256:00",
 *   found: "sha256:11",
 * });
 * assertEquals([error.trusted, error.found], ["sha256:00", "sha256:11"]);
 * ```
 */
export class UntrustedError extends Error {
  /** The declared name of the plugin. */
  readonly plugin: string;
  /** The hash that was trusted, or the empty string. */
  readonly trusted: string;
  /** The hash that was found, or the empty string when the directory could not be hashed. */
  readonly found: string;

  /**
   * Creates the error.
   *
   * @param message What is wrong and what to do.
   * @param plugin The plugin and both hashes.
   */
  constructor(
    message: string,
    plugin: { plugin: string; trusted: string; found: string },
  ) {
    super(printable(message));
    this.name = "UntrustedError";
    this.plugin = plugin.plugin;
    this.trusted = plugin.trusted;
    this.found = plugin.found;
  }
}
