/**
 * OpenCode's own program behind the launcher that npm installs.
 *
 * @module
 */

import { findExecutable } from "@bulkhead/sandbox";
import { isFile } from "./_programs.ts";

/**
 * Finds OpenCode. The Node launcher is stepped over: signals do not reach what it starts.
 *
 * @param command The command, or a path.
 * @param path The PATH.
 * @returns The program, or `undefined` when there is none.
 */
export async function findOpenCode(
  command: string,
  path: string,
): Promise<string | undefined> {
  const found = findExecutable(command, Deno.cwd(), path);
  if (found == null) return undefined;
  const real = await Deno.realPath(found);
  if (!/\/opencode-ai\/bin\/opencode(?:\.js)?$/.test(real)) return real;
  const launcher = real.replace(/\/bin\/opencode(?:\.js)?$/, "");
  const arch = Deno.build.arch === "x86_64" ? "x64" : "arm64";
  const platform = `${Deno.build.os}-${arch}`;
  for (
    const variant of [platform, `${platform}-baseline`, `${platform}-musl`]
  ) {
    for (const root of [`${launcher}/node_modules`, `${launcher}/..`]) {
      const program = `${root}/opencode-${variant}/bin/opencode`;
      if (await isFile(program)) return await Deno.realPath(program);
    }
  }
  return real;
}
