// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/fetch_npm_harnesses.ts`: installs the agent programs that come as npm
 * packages with dependencies (pi, Cline, Gemini CLI) for the slow tests, without running any
 * install script of theirs.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

/** The packages, each at the version whose behaviour the tests describe. */
const NPM_HARNESSES: readonly string[] = [
  "@mariozechner/pi-coding-agent@0.73.1",
  "cline@3.0.65",
  "@google/gemini-cli@0.61.0",
];

/** The command that installs them. */
export const NPM_FETCH_COMMAND = "deno run -A scripts/fetch_npm_harnesses.ts";

/** Where they are installed. */
export const NPM_HARNESS_DIR: string = decodeURIComponent(
  fromFileUrl(new URL("../.cache/npm-harnesses", import.meta.url)),
);

/** The file that says which packages are complete. */
const DONE = `${NPM_HARNESS_DIR}/installed.json`;

if (import.meta.main) {
  const wanted = JSON.stringify(NPM_HARNESSES);
  const present = await Deno.readTextFile(DONE).catch(() => "");
  if (present !== wanted) {
    await Deno.mkdir(NPM_HARNESS_DIR, { recursive: true });
    const { success } = await new Deno.Command("npm", {
      args: [
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--prefix",
        NPM_HARNESS_DIR,
        ...NPM_HARNESSES,
      ],
    }).output();
    if (!success) {
      console.error(`Cannot install ${NPM_HARNESSES.join(", ")}: npm failed`);
      Deno.exit(1);
    }
    await Deno.writeTextFile(DONE, wanted);
  }
  console.log(`ok ${NPM_HARNESSES.join(", ")}`);
}
