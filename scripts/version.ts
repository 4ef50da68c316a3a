// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/version.ts 0.2.0` sets one version everywhere: the six
 * packages and the one that `bulkhead --version` prints. `--check 0.2.0` fails when
 * any of them says something else.
 *
 * @module
 */

import { PACKAGES } from "./publish.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** Each file that holds the version, with the line that holds it. */
const PLACES: { file: string; pattern: RegExp }[] = [
  ...PACKAGES.map((folder) => ({
    file: `${folder}/deno.json`,
    pattern: /("version": ")([^"]+)(")/,
  })),
  { file: "cli/help.ts", pattern: /(VERSION = ")([^"]+)(")/ },
];

async function main(args: string[]): Promise<number> {
  const check = args.includes("--check");
  const version = args.find((arg) => !arg.startsWith("--"));
  if (!version || !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) {
    console.error("usage: version.ts [--check] MAJOR.MINOR.PATCH");
    return 2;
  }
  let wrong = 0;
  for (const { file, pattern } of PLACES) {
    const text = await Deno.readTextFile(ROOT + file);
    const found = pattern.exec(text)?.[2];
    if (found === undefined) throw new Error(`"${file}" holds no version`);
    if (found === version) continue;
    if (check) {
      console.error(`"${file}" says ${found}, not ${version}`);
      wrong++;
      continue;
    }
    await Deno.writeTextFile(
      ROOT + file,
      text.replace(pattern, `$1${version}$3`),
    );
    console.log(`${file}: ${found} -> ${version}`);
  }
  return wrong === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
