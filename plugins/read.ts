/**
 * A plugin as it lies on disk: hashed and parsed, nothing run, nothing decided.
 *
 * @module
 */

import { probeIsolation } from "@bulkhead/sandbox";
import { diffLines, disclose, isolationLine } from "./_disclosure.ts";
import type { SandboxLevel } from "./config.ts";
import {
  diffFiles,
  digestPlugin,
  fingerprints,
  MANIFEST_NAME,
  type PluginDigest,
} from "./digest.ts";
import { ManifestError } from "./errors.ts";
import {
  MANIFEST_MAX_BYTES,
  parseManifest,
  type PluginManifest,
  problemText,
} from "./manifest.ts";
import type { TrustQuestion, TrustRecord } from "./trust.ts";

/** A plugin as it lies on disk. */
export interface PluginOnDisk {
  /** The real path of the directory. */
  dir: string;
  /** What it declares. */
  manifest: PluginManifest;
  /** Its content. */
  digest: PluginDigest;
  /** Everything it can run or reach, one printable line each. */
  lines: string[];
}

/** Options of {@linkcode readPlugin}. */
export interface ReadPluginOptions {
  /**
   * The plugin's name when its manifest declares none.
   *
   * @default the last part of the directory's path
   */
  directory?: string;
}

/**
 * Hashes a plugin's directory and parses the very bytes of the manifest that were hashed.
 *
 * @param dir The directory.
 * @param options What to call a plugin without a name.
 * @returns The plugin.
 * @throws {ManifestError} If the manifest cannot be used.
 * @throws {TypeError} If the directory holds what a plugin cannot hold.
 *
 * @example Read a plugin
 * ```ts
 * import { readPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${dir}/plugin.toml`, 'name = "demo"\n[[tools]]\nname = "t"\ncommand = "date"\n');
 * const plugin = await readPlugin(dir);
 * assertEquals(plugin.manifest.name, "demo");
 * assertEquals(plugin.lines, ['tool "t" runs: date; default permissions']);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function readPlugin(
  dir: string,
  options: ReadPluginOptions = {},
): Promise<PluginOnDisk> {
  const path = `${dir}/${MANIFEST_NAME}`;
  const digest = await digestPlugin(dir);
  const directory = options.directory ??
    dir.replace(/\/+$/, "").split("/").at(-1) ?? dir;
  const bytes = digest.manifest;
  const place = { path, line: 0, key: "" };
  if (bytes === undefined) {
    const there = digest.files.some((file) => file.path === MANIFEST_NAME);
    throw new ManifestError(
      there
        ? `it is no file, or has more than ${MANIFEST_MAX_BYTES} bytes`
        : "there is no such file",
      place,
    );
  }
  if (bytes.length > MANIFEST_MAX_BYTES) {
    throw new ManifestError(
      `it has more than ${MANIFEST_MAX_BYTES} bytes`,
      place,
    );
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ManifestError("it is not UTF-8 text", place);
  }
  const manifest = parseManifest(text, { directory, path });
  return { dir: digest.dir, manifest, digest, lines: disclose(manifest) };
}

/** Options of {@linkcode questionFor}. */
export interface QuestionOptions {
  /** How plugins are isolated. */
  sandbox: SandboxLevel;
  /** What was decided about earlier content. */
  record?: TrustRecord;
}

/**
 * The question to put to a person before a plugin is trusted.
 *
 * @param plugin The plugin.
 * @param options The isolation that is configured and an earlier decision.
 * @returns The question.
 *
 * @example A plugin that is new
 * ```ts
 * import { questionFor, readPlugin, scaffoldPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const temp = await Deno.makeTempDir();
 * const { dir } = await scaffoldPlugin(`${temp}/demo`, { language: "shell" });
 * const question = await questionFor(await readPlugin(dir), { sandbox: "off" });
 * assertEquals(question.name, "demo");
 * assertEquals(question.change, undefined);
 * await Deno.remove(temp, { recursive: true });
 * ```
 */
export async function questionFor(
  plugin: PluginOnDisk,
  options: QuestionOptions,
): Promise<TrustQuestion> {
  const { manifest, digest } = plugin;
  const { record, sandbox } = options;
  const backend = sandbox === "off" ? "none" : (await probeIsolation()).backend;
  const question: TrustQuestion = {
    name: manifest.name,
    version: manifest.version,
    dir: plugin.dir,
    hash: digest.hash,
    lines: plugin.lines,
    problems: manifest.problems.map(problemText),
    sandbox: isolationLine(sandbox, backend),
  };
  if (
    record !== undefined && record.decision === "always" &&
    record.hash !== digest.hash
  ) {
    question.change = {
      hash: record.hash,
      time: record.time,
      files: diffFiles(record.files, fingerprints(digest)),
      lines: diffLines(record.lines, plugin.lines),
    };
  }
  return question;
}

/**
 * The record that remembers a decision about a plugin's present content.
 *
 * @param plugin The plugin.
 * @param decision What was decided.
 * @returns The record.
 *
 * @example Remember a yes
 * ```ts
 * import { readPlugin, recordFor, scaffoldPlugin, TrustStore } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * const { dir } = await scaffoldPlugin(`${home}/demo`, { language: "shell" });
 * const plugin = await readPlugin(dir);
 * const store = new TrustStore(home);
 * await store.set(plugin.dir, recordFor(plugin, "always"));
 * assertEquals((await store.get(plugin.dir))?.hash, plugin.digest.hash);
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export function recordFor(
  plugin: PluginOnDisk,
  decision: "always" | "never",
): TrustRecord {
  return {
    name: plugin.manifest.name,
    hash: plugin.digest.hash,
    decision,
    time: new Date().toISOString(),
    files: fingerprints(plugin.digest),
    lines: plugin.lines,
  };
}
