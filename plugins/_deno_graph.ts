import { denoEntry, inheritedEnvironment, run } from "@bulkhead/sandbox";
import { isInside } from "@bulkhead/sandbox/paths";
import { isRecord, quote, quoteWhole } from "./_text.ts";

const checked = new Map<string, Promise<string | undefined>>();

/** Graphs of plugins that are long gone need not stay in memory. */
const MAX_CACHED = 1000;

/**
 * Checks that every module a TypeScript tool imports lies inside the plugin. Deno reads static imports, text and JSON
 * ones included, without any read permission, and nothing outside is covered by the plugin's hash.
 *
 * @param module The absolute path of the module.
 * @param plugin The plugin's real directory and its content hash, by which the answer is remembered.
 * @returns What is wrong, or `undefined`.
 */
export function graphProblem(
  module: string,
  plugin: { dir: string; hash: string },
): Promise<string | undefined> {
  const key = `${plugin.hash}\0${plugin.dir}\0${module}`;
  let answer = checked.get(key);
  if (answer === undefined) {
    if (checked.size >= MAX_CACHED) checked.clear();
    answer = inspect(module, plugin.dir);
    checked.set(key, answer);
    // What failed for a passing reason is tried again.
    answer.catch(() => checked.delete(key));
  }
  return answer;
}

async function inspect(
  module: string,
  dir: string,
): Promise<string | undefined> {
  const entry = denoEntry(fileUrl(module), { permissions: [], config: false });
  const argv = [
    entry.argv[0] ?? "deno",
    "info",
    "--json",
    "--no-config",
    "--no-lock",
    "--no-remote",
    "--no-npm",
    // As a path, "%" and its like in it would be taken for escapes.
    fileUrl(module),
  ];
  const result = await run(argv, {
    cwd: dir,
    env: { ...inheritedEnvironment(), ...entry.env, ...DENO_CHILD_ENV },
    timeoutMs: 20_000,
    maxBytes: 32 * 1024 * 1024,
  });
  if (!result.success || result.truncated.stdout) {
    const reason = result.timedOut
      ? "it took too long"
      : (result.stderr.trim().split("\n")[0] ?? "");
    throw new TypeError(
      `Cannot check the imports of ${quoteWhole(module)}: ${reason}`,
    );
  }
  const graph: unknown = JSON.parse(result.stdout);
  for (const specifier of specifiers(graph)) {
    const problem = specifierProblem(specifier, dir);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Variables for Deno children of plugins: plain text, and no package.json from around the module. */
export const DENO_CHILD_ENV: Readonly<Record<string, string>> = {
  NO_COLOR: "1",
  DENO_NO_PACKAGE_JSON: "1",
  DENO_NO_UPDATE_CHECK: "1",
};

/** A path as a `file:` URL. */
export function fileUrl(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Every specifier that the graph holds, resolved. */
function* specifiers(graph: unknown): Generator<string> {
  if (!isRecord(graph)) return;
  if (isRecord(graph.redirects)) {
    for (const target of Object.values(graph.redirects)) {
      if (typeof target === "string") yield target;
    }
  }
  if (!Array.isArray(graph.modules)) return;
  for (const module of graph.modules) {
    if (!isRecord(module)) continue;
    if (typeof module.specifier === "string") yield module.specifier;
    if (!Array.isArray(module.dependencies)) continue;
    for (const dependency of module.dependencies) {
      if (!isRecord(dependency)) continue;
      for (const side of [dependency.code, dependency.type]) {
        if (isRecord(side) && typeof side.specifier === "string") {
          yield side.specifier;
        }
      }
    }
  }
}

function specifierProblem(specifier: string, dir: string): string | undefined {
  if (specifier.startsWith("node:") || specifier.startsWith("data:")) {
    return undefined;
  }
  if (specifier.startsWith("file:")) {
    let path: string;
    try {
      path = decodeURIComponent(new URL(specifier).pathname);
    } catch {
      return `imports ${quote(specifier)}, which is not a path`;
    }
    return isInside(path, dir)
      ? undefined
      : `imports ${quoteWhole(path)}, which is outside the plugin`;
  }
  return `imports ${
    quote(specifier)
  }, but a plugin can only import its own files and node: modules`;
}
