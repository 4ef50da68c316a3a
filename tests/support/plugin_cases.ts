/**
 * Plays case files of plugins in a process of its own, since cases change their environment.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";

const cases = fromFileUrl(new URL("../fixtures/cases/", import.meta.url));
const player = fromFileUrl(
  new URL("../../scripts/play_plugin_cases.ts", import.meta.url),
);

/** Plays a set of cases and asserts that all pass. */
export async function playSet(
  set: string,
  isolation: "off" | "required",
  path?: string,
): Promise<void> {
  const root = `${cases}${set}`;
  const { code, verdicts } = await runPlayer(
    [`${root}/cases.jsonl`, root, "--isolation", isolation],
    path,
  );
  assertEquals(verdicts.filter((verdict) => verdict.pass === false), []);
  assertEquals(code, 0);
  assert(verdicts.length > 30);
}

/** Plays a set of cases as on a system without bubblewrap. */
export async function playSetWithoutBubblewrap(set: string): Promise<void> {
  const shadow = await pathWithout("bwrap");
  try {
    await playSet(set, "required", shadow);
  } finally {
    await Deno.remove(shadow, { recursive: true });
  }
}

/** One line of the player. */
export interface Verdict {
  /** The case. */
  id?: string;
  /** Whether it passed. */
  pass?: boolean;
}

/** Runs the player and reads its lines. */
export async function runPlayer(
  args: string[],
  path?: string,
): Promise<{ code: number; verdicts: Verdict[] }> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", player, ...args],
    ...(path === undefined ? {} : { env: { PATH: path } }),
  }).output();
  const text = new TextDecoder().decode(output.stdout).trim();
  assert(text !== "", new TextDecoder().decode(output.stderr));
  const verdicts = text.split("\n").map((line): Verdict => JSON.parse(line));
  return { code: output.code, verdicts };
}

/** A directory with links to everything on PATH but one program. */
export async function pathWithout(program: string): Promise<string> {
  const shadow = await Deno.makeTempDir();
  for (const dir of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      for await (const entry of Deno.readDir(dir)) {
        if (entry.name === program) continue;
        await Deno.symlink(`${dir}/${entry.name}`, `${shadow}/${entry.name}`)
          .catch(() => undefined);
      }
    } catch {
      // A directory that is not there.
    }
  }
  return shadow;
}
