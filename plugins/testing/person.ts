/**
 * A person at the command line, for one test.
 *
 * @module
 */
import type { PluginsIo } from "../cli.ts";

/** A person at a terminal who types these lines. */
export function person(
  lines: string[],
): { io: PluginsIo; out: () => string; err: () => string } {
  let out = "";
  let err = "";
  const stdin = new Blob([lines.map((line) => `${line}\n`).join("")]).stream();
  return {
    io: {
      stdin,
      out: (text) => void (out += text),
      err: (text) => void (err += text),
      isTerminal: true,
      canAsk: true,
      color: true,
    },
    out: () => out,
    err: () => err,
  };
}

/** A home with plugins switched on, and the flags that name it. */
export async function withHome(
  body: (dir: string, flags: string[]) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  await Deno.mkdir(`${dir}/home`);
  await Deno.writeTextFile(
    `${dir}/home/config.toml`,
    '[capabilities.plugins]\nenabled = true\nsandbox = "off"\n[capabilities.trust]\nenabled = true\n',
  );
  try {
    await body(dir, ["--home", `${dir}/home`, "--workspace", dir]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
