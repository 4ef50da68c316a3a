// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/publish.ts [--dry-run]`: publishes all six packages, those
 * that others depend on first. A named root publishes only itself, so each folder
 * gets a command of its own.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** From the ground floor up, the umbrella last. */
export const PACKAGES = ["sandbox", "plugins", "guard", "worker", "abi", "."];

async function publish(folder: string, dryRun: boolean): Promise<boolean> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "publish",
      ...dryRun ? ["--dry-run", "--allow-dirty"] : [],
    ],
    cwd: `${ROOT}${folder}`,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "inherit",
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stderr);
  if (!success || !dryRun) console.error(said.trim());
  const files = said.match(/^ {3}\S.*\(/gm)?.length ?? 0;
  const name = folder === "." ? "bulkhead" : folder;
  console.log(
    `${success ? "ok" : "FAILED"} @bulkhead/${name} (${files} files)`,
  );
  return success;
}

if (import.meta.main) {
  const dryRun = Deno.args.includes("--dry-run");
  for (const folder of PACKAGES) {
    if (!await publish(folder, dryRun)) Deno.exit(1);
  }
}
