/**
 * New plugins that work at once: a manifest and one small tool in Python, shell or TypeScript.
 *
 * @module
 */
import { namedPermissions } from "@bulkhead/sandbox";
import { quote } from "./_text.ts";

/** The languages a new plugin can be written in. */
export type ScaffoldLanguage = "python" | "shell" | "deno";

/** The languages, in the order they are shown. */
export const SCAFFOLD_LANGUAGES: readonly ScaffoldLanguage[] = [
  "python",
  "shell",
  "deno",
];

/** Options of {@linkcode scaffoldPlugin}. */
export interface ScaffoldOptions {
  /**
   * The language of the tool.
   *
   * @default {"python"}
   */
  language?: ScaffoldLanguage;
  /**
   * The name of the plugin.
   *
   * @default the name of the directory
   */
  name?: string;
}

/** What {@linkcode scaffoldPlugin} made. */
export interface Scaffold {
  /** The name of the plugin. */
  name: string;
  /** The directory. */
  dir: string;
  /** The files, relative to the directory. */
  files: string[];
  /** The name of its one tool, as the manifest declares it. */
  tool: string;
}

/** The names that need no change anywhere they are shown or sent. */
const PLUGIN_NAME = /^[a-z0-9][a-z0-9_-]{0,40}$/;

/**
 * Writes a new plugin with one tool, `greet`, that greets somebody.
 *
 * Needs `--allow-read` and `--allow-write` of the directory.
 *
 * @param dir The directory to make; it may exist when it is empty.
 * @param options The language and the name.
 * @returns What was made.
 * @throws {TypeError} When the name is no plugin name.
 * @throws {Deno.errors.AlreadyExists} When the directory holds something.
 *
 * @example A plugin in Python
 * ```ts
 * import { parseManifest, scaffoldPlugin } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const parent = await Deno.makeTempDir();
 * const { dir, files } = await scaffoldPlugin(`${parent}/demo`, { language: "python" });
 * assertEquals(files, ["plugin.toml", "greet.py"]);
 * const manifest = parseManifest(await Deno.readTextFile(`${dir}/plugin.toml`), { directory: "demo" });
 * assertEquals(manifest.problems, []);
 * await Deno.remove(parent, { recursive: true });
 * ```
 */
export async function scaffoldPlugin(
  dir: string,
  options: ScaffoldOptions = {},
): Promise<Scaffold> {
  const language = options.language ?? "python";
  const name = options.name ?? dir.replace(/\/+$/, "").split("/").at(-1) ?? "";
  if (!PLUGIN_NAME.test(name)) {
    throw new TypeError(
      `Cannot create plugin ${
        quote(name)
      }: a name is a-z, 0-9, "_" and "-", at most 41 characters`,
    );
  }
  const files = templates(name)[language];
  return await namedPermissions(`Creating the plugin "${name}"`, async () => {
    await Deno.mkdir(dir, { recursive: true });
    for await (const entry of Deno.readDir(dir)) {
      throw new Deno.errors.AlreadyExists(
        `Cannot create a plugin in ${quote(dir)}: it holds ${
          quote(entry.name)
        }; name a directory that is empty or does not exist yet`,
      );
    }
    for (const file of files) {
      await Deno.writeTextFile(`${dir}/${file.path}`, file.text, {
        createNew: true,
        mode: file.executable ? 0o755 : 0o644,
      });
    }
    return { name, dir, files: files.map((file) => file.path), tool: "greet" };
  });
}

interface TemplateFile {
  path: string;
  text: string;
  executable: boolean;
}

function templates(name: string): Record<ScaffoldLanguage, TemplateFile[]> {
  return {
    python: [
      manifest(name, 'command = "python3"\nargs = ["${PLUGIN_DIR}/greet.py"]'),
      { path: "greet.py", text: PYTHON, executable: false },
    ],
    shell: [
      manifest(name, 'command = "./greet.sh"'),
      { path: "greet.sh", text: SHELL, executable: true },
    ],
    deno: [
      manifest(name, 'runtime = "deno"\nmodule = "greet.ts"'),
      { path: "greet.ts", text: TYPESCRIPT, executable: false },
    ],
  };
}

function manifest(name: string, program: string): TemplateFile {
  const text = `name = "${name}"
version = "0.1.0"

[[tools]]
name = "greet"
description = "Greets somebody"
${program}
timeout_ms = 10000
# What the tool may touch besides its own directory, read only, and its data directory; without it, the workspace, read only:
# permissions = { read = [], write = ["\${WORKSPACE_DIR}"], net = ["api.example.org"] }  # one host opens the whole network
# Names of environment variables the tool needs:
# env = ["EXAMPLE_API_KEY"]
annotations = { readOnlyHint = true }

[tools.params]
type = "object"
required = ["name"]
additionalProperties = false

[tools.params.properties.name]
type = "string"
description = "Whom to greet"
`;
  return { path: "plugin.toml", text, executable: false };
}

const PYTHON =
  `"""The arguments come as JSON on stdin; what is printed goes to the model."""

import json
import sys

arguments = json.load(sys.stdin)
print(f"Hello, {arguments['name']}!")
`;

const SHELL = `#!/bin/sh
# The arguments come as JSON on stdin; what is printed goes to the model.
# This takes one plain string out of the JSON; use jq for more than that.
set -eu
name=$(sed -n 's/.*"name"[[:space:]]*:[[:space:]]*"\\([^"\\\\]*\\)".*/\\1/p')
printf 'Hello, %s!\\n' "$name"
`;

const TYPESCRIPT =
  `// The arguments come as JSON on stdin; what is printed goes to the model.
const { name } = await new Response(Deno.stdin.readable).json();
console.log(\`Hello, \${name}!\`);
`;
