/**
 * Writes a new plugin.
 *
 * @module
 */

import { namedPermissions } from "@bulkhead/sandbox";
import { cTemplate } from "./templates/c.ts";
import { rustTemplate } from "./templates/rust.ts";

/** The languages there is a template for. */
export type PluginLanguage = "c" | "rust";

/**
 * The files of a new plugin.
 *
 * @param name The plugin's name: lower case letters, digits, `_` and `-`.
 * @param language Its language.
 * @returns Path and text of each file.
 *
 * @example A plugin in C
 * ```ts
 * import { scaffoldPlugin } from "@bulkhead/abi";
 * import { assert } from "@std/assert";
 *
 * assert("src/plugin.c" in scaffoldPlugin("weather", "c"));
 * ```
 */
export function scaffoldPlugin(
  name: string,
  language: PluginLanguage,
): Record<string, string> {
  if (!/^[a-z][a-z0-9_-]{0,40}$/.test(name)) {
    throw new TypeError(
      `Cannot create plugin "${name}": a name starts with a lower case letter, then letters, digits, "_" or "-"`,
    );
  }
  const crate = name.replaceAll("-", "_");
  return language === "c" ? cTemplate(name, crate) : rustTemplate(name, crate);
}

/**
 * Writes the files of a new plugin into a directory that does not exist yet.
 *
 * Needs `--allow-write` of it.
 *
 * @param dir The directory; its last part is the plugin's name.
 * @param language The language.
 * @returns The written files, relative to the directory.
 *
 * @example A plugin in C
 * ```ts
 * import { writeScaffold } from "@bulkhead/abi";
 * import { assert } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * const files = await writeScaffold(`${dir}/counter`, "c");
 * assert(files.includes("src/plugin.c"));
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function writeScaffold(
  dir: string,
  language: PluginLanguage,
): Promise<string[]> {
  const name = dir.replace(/\/+$/, "").split("/").at(-1) ?? "";
  if (/^\.{0,2}$/.test(name)) {
    throw new TypeError(
      `Cannot create a plugin in "${dir}": name a directory that does not exist yet, after the plugin`,
    );
  }
  const files = scaffoldPlugin(name, language);
  await namedPermissions("Creating a plugin", () => write(dir, name, files));
  return Object.keys(files);
}

async function write(
  dir: string,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const above = dir.replace(/\/*[^/]+\/*$/, "");
  if (above !== "") await Deno.mkdir(above, { recursive: true });
  try {
    await Deno.mkdir(dir);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Deno.errors.AlreadyExists(
      `Cannot create plugin "${name}": "${dir}" exists already`,
    );
  }
  for (const [path, text] of Object.entries(files)) {
    const parent = path.split("/").slice(0, -1).join("/");
    if (parent !== "") {
      await Deno.mkdir(`${dir}/${parent}`, { recursive: true });
    }
    await Deno.writeTextFile(`${dir}/${path}`, text);
  }
}
