// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/doc_lint.ts`: `deno doc --lint` over every entry point that a
 * package exports. The command wants files, so they are read from the packages'
 * own `exports`.
 *
 * @module
 */

import { PACKAGES } from "./publish.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

async function entryPoints(folder: string): Promise<string[]> {
  const text = await Deno.readTextFile(`${ROOT}${folder}/deno.json`);
  const { exports }: { exports: Record<string, string> } = JSON.parse(text);
  return Object.values(exports).filter((file) => file.endsWith(".ts"))
    .map((file) => `${folder}/${file.slice(2)}`.replace(/^\.\//, ""));
}

if (import.meta.main) {
  const files = (await Promise.all(PACKAGES.map(entryPoints))).flat();
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--lint", ...files],
    cwd: ROOT,
    stdout: "null",
    stderr: "inherit",
  }).output();
  console.log(`${success ? "ok" : "FAILED"} ${files.length} entry points`);
  if (!success) Deno.exit(1);
}
