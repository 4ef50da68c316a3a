/**
 * Codex's own program behind the launcher that npm installs.
 *
 * @module
 */

import { findExecutable } from "@bulkhead/sandbox";
import { isFile } from "./_programs.ts";

const TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/**
 * Finds Codex. The Node launcher is stepped over: killed, it leaves Codex and its commands running.
 *
 * @param command The command, or a path.
 * @param path The PATH.
 * @returns The program, or `undefined` when there is none.
 */
export async function findCodex(
  command: string,
  path: string,
): Promise<string | undefined> {
  const found = findExecutable(command, Deno.cwd(), path);
  if (found == null) return undefined;
  const real = await Deno.realPath(found);
  if (!real.endsWith("/bin/codex.js")) return real;
  const launcher = real.slice(0, -"/bin/codex.js".length);
  const arch = Deno.build.arch === "x86_64" ? "x64" : "arm64";
  const platform = `${Deno.build.os}-${arch}`;
  const triple = TRIPLES[platform];
  const inside = `vendor/${triple}/bin/codex`;
  const packages = [
    `${launcher}/node_modules/@openai/codex-${platform}`,
    `${launcher}/../codex-${platform}`,
    launcher,
  ];
  for (const root of packages) {
    if (await isFile(`${root}/${inside}`)) {
      return await Deno.realPath(`${root}/${inside}`);
    }
  }
  return real;
}
