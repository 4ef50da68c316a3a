/**
 * `plugin.toml` as typed data: pure, total, and exact about what is wrong where.
 *
 * @module
 */

import { Fields, type KeyPath, type ManifestProblem } from "./_fields.ts";
import { type HookSpec, hookSpec } from "./_hook_spec.ts";
import { type ToolSpec, toolSpec } from "./_tool_spec.ts";
import { quote, quoteWhole } from "./_text.ts";
import { readToml } from "./_toml.ts";
import { TomlLines } from "./_toml_lines.ts";
import { ManifestError } from "./errors.ts";

export type { ManifestProblem } from "./_fields.ts";
export type { HookEvent, HookSpec } from "./_hook_spec.ts";
export type { Permissions, Program, ProgramSpec } from "./_program.ts";
export type { ToolSpec } from "./_tool_spec.ts";

/** The largest manifest that is read, in bytes. */
export const MANIFEST_MAX_BYTES: number = 256 * 1024;

/** A native library that a plugin brings. */
export interface NativeSpec {
  /** The library's path inside the plugin. */
  library: string;
  /** The line it stands on, counted from one. */
  line: number;
}

/** What a plugin declares. */
export interface PluginManifest {
  /** The plugin's name; the directory's name when none is declared. */
  name: string;
  /** The declared version, or `0.0.0`. */
  version: string;
  /** The tools, in the order of the manifest. */
  tools: ToolSpec[];
  /** The hooks, in the order of the manifest. */
  hooks: HookSpec[];
  /** The native library, which `@bulkhead/abi` loads. */
  native?: NativeSpec;
  /** What is wrong with single entries; the rest stands. */
  problems: ManifestProblem[];
}

/** Options of {@linkcode parseManifest}. */
export interface ParseManifestOptions {
  /** The name of the plugin's directory: the plugin's name when it declares none. */
  directory: string;
  /**
   * How messages name the file.
   *
   * @default {"plugin.toml"}
   */
  path?: string;
}

/**
 * Parses the text of a `plugin.toml`.
 *
 * A text that is not TOML and a value of the wrong type cost the whole manifest; everything else costs one entry,
 * which is left out and named in `problems`.
 *
 * @param text The text.
 * @param options The directory's name and how to name the file.
 * @returns What the plugin declares.
 * @throws {ManifestError} If the text is not TOML or a value has the wrong type.
 *
 * @example A manifest with one tool
 * ```ts
 * import { parseManifest } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const manifest = parseManifest(
 *   `
 * [[tools]]
 * name = "greet"
 * command = "python3"
 * args = ["\${PLUGIN_DIR}/greet.py"]
 * `,
 *   { directory: "demo" },
 * );
 * assertEquals(manifest.name, "demo");
 * assertEquals(manifest.version, "0.0.0");
 * assertEquals(manifest.tools[0]?.params, { type: "object" });
 * ```
 */
export function parseManifest(
  text: string,
  options: ParseManifestOptions,
): PluginManifest {
  const path = options.path ?? "plugin.toml";
  if (text.length > MANIFEST_MAX_BYTES) {
    throw new ManifestError(
      `it has more than ${MANIFEST_MAX_BYTES} bytes`,
      { path, line: 0, key: "" },
    );
  }
  const document = parseToml(text, path);
  let lines: TomlLines | undefined;
  const fields = new Fields(path, () => lines ??= new TomlLines(text));
  fields.unknownKeys(
    document,
    ["name", "version", "tools", "hooks", "native"],
    [],
  );
  const name = fields.string(document, "name", []);
  const version = fields.string(document, "version", []);
  const rawTools = fields.tables(document, "tools");
  const rawHooks = fields.tables(document, "hooks");
  const tools: ToolSpec[] = [];
  const names = new Set<string>();
  rawTools.forEach((table, index) => {
    const at: KeyPath = ["tools", index];
    const spec = toolSpec(fields, table, at);
    if (spec === undefined) return;
    if (names.has(spec.name)) {
      fields.note(
        [...at, "name"],
        `a tool named ${quote(spec.name)} stands above, tool left out`,
      );
      return;
    }
    names.add(spec.name);
    tools.push({ ...spec, line: lineOf(at) });
  });
  const hooks: HookSpec[] = [];
  rawHooks.forEach((table, index) => {
    const spec = hookSpec(fields, table, ["hooks", index]);
    if (spec !== undefined) {
      hooks.push({ ...spec, line: lineOf(["hooks", index]) });
    }
  });
  const library = nativeLibrary(fields, document);
  const [first, ...others] = fields.errors;
  if (first !== undefined) {
    const { path, line, key, reason } = first;
    throw new ManifestError(reason, { path, line, key }, others);
  }
  return {
    name: name === undefined || name.trim() === "" ? options.directory : name,
    version: version === undefined || version.trim() === "" ? "0.0.0" : version,
    tools,
    hooks,
    ...(library === undefined
      ? {}
      : { native: { library, line: lineOf(["native", "library"]) } }),
    problems: fields.problems,
  };

  function lineOf(at: KeyPath): number {
    return (lines ??= new TomlLines(text)).lineOf(at);
  }
}

/**
 * A problem as one line: the file, the line, the key and what is wrong.
 *
 * @param problem The problem.
 * @returns The line.
 *
 * @example An unknown key
 * ```ts
 * import { parseManifest, problemText } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const { problems } = parseManifest("colour = 1", { directory: "demo" });
 * assertEquals(problems.map(problemText), [
 *   '"plugin.toml" line 1: "colour": unknown key, ignored',
 * ]);
 * ```
 */
export function problemText(problem: ManifestProblem): string {
  return `${quoteWhole(problem.path)} line ${problem.line}: ${
    quote(problem.key)
  }: ${problem.message}`;
}

function parseToml(text: string, path: string): Record<string, unknown> {
  const read = readToml(text);
  if ("table" in read) return read.table;
  const { line, column, reason } = read.problem;
  throw new ManifestError(
    column === 0 ? reason : `column ${column}: ${reason}`,
    { path, line, key: "" },
  );
}

function nativeLibrary(
  fields: Fields,
  document: Record<string, unknown>,
): string | undefined {
  const table = fields.table(document, "native", []);
  if (table === undefined) return undefined;
  fields.unknownKeys(table, ["library"], ["native"]);
  const library = fields.string(table, "library", ["native"]);
  if (library === undefined || library.trim() === "") {
    fields.note(["native"], `"library" is missing, left out`);
    return undefined;
  }
  if (
    library.startsWith("/") || library.includes("\0") ||
    library.split("/").includes("..")
  ) {
    fields.note(
      ["native", "library"],
      `${quote(library)} is outside the plugin, left out`,
    );
    return undefined;
  }
  return library;
}
