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

/**
 * Cases at a time: they wait for their programs more than they work. The deadlines of the shared ones are not ours to
 * widen, so those play one by one.
 */
const JOBS = { plugins: 1, "plugins_own": 4 };

/** A set of cases. */
export type CaseSet = keyof typeof JOBS;

/** Which cases of a set, and on which system. */
export interface SetOptions {
  /** Only those whose course depends on the sandbox. */
  dependent?: boolean;
  /** PATH of the player. */
  path?: string;
}

/** Plays a set of cases and asserts that all pass. */
export async function playSet(
  set: CaseSet,
  isolation: "off" | "required",
  { dependent = false, path }: SetOptions = {},
): Promise<void> {
  const root = `${cases}${set}`;
  const lines = (await Deno.readTextFile(`${root}/cases.jsonl`)).trim()
    .split("\n").filter((line) => !dependent || dependsOnSandbox(line));
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await Deno.writeTextFile(file, lines.join("\n"));
    const { code, verdicts } = await runPlayer(
      [file, root, "--isolation", isolation, "--jobs", `${JOBS[set]}`],
      path,
    );
    assertEquals(verdicts.filter((verdict) => verdict.pass === false), []);
    assertEquals(code, 0);
    assertEquals(verdicts.filter((one) => one.pass).length, lines.length);
    assert(lines.length > 30);
  } finally {
    await Deno.remove(file);
  }
}

/**
 * Whether a case starts anything in the sandbox or speaks of it: a tool, a hook, Deno, which is asked for the imports
 * of a module when the plugin is loaded, or an expectation about the sandbox.
 */
function dependsOnSandbox(line: string): boolean {
  return /"op": ?"(?:call|fire|parallel)"|runtime|sandbox/i.test(line);
}

/** Plays a set of cases as on a system without bubblewrap. */
export async function playSetWithoutBubblewrap(
  set: CaseSet,
  options: Omit<SetOptions, "path"> = {},
): Promise<void> {
  const path = await pathWithout("bwrap");
  try {
    await playSet(set, "required", { ...options, path });
  } finally {
    await Deno.remove(path, { recursive: true });
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
