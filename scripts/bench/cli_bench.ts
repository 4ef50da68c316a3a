/**
 * What the command line itself costs: how much later an agent says its first word
 * under `bulkhead run` than by itself, and how long the help takes. Both as multiples
 * of an empty `deno run`, which a slow machine slows alike.
 *
 * @module
 */
import { readLines, startProcess } from "@bulkhead/sandbox";
import { scriptedCommand } from "@bulkhead/worker";
import { type BenchCase, median, time } from "./harness.ts";
import { fromFileUrl } from "@std/path";

const ROUNDS = 15;

/**
 * The 60 ms that a driver may add to an agent's start, where an empty `deno run` takes
 * 16.5, and as much again for loading some 150 modules before there is a driver.
 */
const SHARE_BOUND = 7.2;

const CLI = fromFileUrl(new URL("../../cli/main.ts", import.meta.url));
const DENO = [Deno.execPath(), "run", "-A"];
const SCRIPT = { schema: 1, turns: [{ steps: [{ say: "hello" }] }] };

/** The first line of a turn, in the agent's own words and in ours. */
const FIRST_FRAME = /"subtype":"init"/;

/** From the start of a program to a line of its output. */
async function untilLine(
  argv: readonly string[],
  wanted: RegExp,
  { cwd, env, says }: {
    cwd: string;
    env: Record<string, string>;
    says: readonly unknown[];
  },
): Promise<number> {
  const started = performance.now();
  await using child = await startProcess(argv, { cwd, env, stderr: "null" });
  const writer = child.stdin.getWriter();
  const lines = says.map((line) => JSON.stringify(line) + "\n").join("");
  await writer.write(new TextEncoder().encode(lines));
  for await (const line of readLines(child.stdout)) {
    if (wanted.test(new TextDecoder().decode(line.bytes))) break;
  }
  const took = performance.now() - started;
  await child.end({ eofMs: 5000 });
  return took;
}

async function inTempDir<T>(fn: (dir: string) => Promise<T>): Promise<T> {
  const dir = await Deno.makeTempDir({ prefix: "bh" });
  try {
    return await fn(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function emptyProgram(dir: string): Promise<() => Promise<number>> {
  const file = `${dir}/empty.ts`;
  await Deno.writeTextFile(file, "");
  return () =>
    time(() =>
      new Deno.Command(Deno.execPath(), { args: ["run", "-A", file] }).output()
    );
}

/** Ours, the agent by itself and an empty program in turns. */
function firstFrame(): Promise<number> {
  return inTempDir(async (dir) => {
    const script = `${dir}/script.json`;
    await Deno.writeTextFile(script, JSON.stringify(SCRIPT));
    await Deno.mkdir(`${dir}/ws`);
    const empty = await emptyProgram(dir);
    const bare = scriptedCommand({ cwd: `${dir}/ws` }, { script });
    const host = [
      ...DENO,
      CLI,
      "run",
      "--agent",
      "scripted",
      "--script",
      script,
      "--cwd",
      `${dir}/ws`,
      "--home",
      `${dir}/home`,
      "--json",
    ];
    const env = { ...Deno.env.toObject(), FNO_CLAIMS_ROOT: dir };
    const initialize = {
      type: "control_request",
      "request_id": "1",
      request: { subtype: "initialize" },
    };
    const turn = { type: "user", message: { role: "user", content: "hi" } };
    const ours: number[] = [];
    const theirs: number[] = [];
    const nothing: number[] = [];
    for (let round = -2; round < ROUNDS; round++) {
      const a = await untilLine(host, FIRST_FRAME, {
        cwd: dir,
        env,
        says: [],
      });
      const b = await untilLine(bare.argv, FIRST_FRAME, {
        cwd: `${dir}/ws`,
        env: { ...env, ...bare.env },
        says: [initialize, turn],
      });
      const c = await empty();
      if (round < 0) continue;
      ours.push(a);
      theirs.push(b);
      nothing.push(c);
    }
    return (median(ours) - median(theirs)) / median(nothing);
  });
}

function help(): Promise<number> {
  return inTempDir(async (dir) => {
    const empty = await emptyProgram(dir);
    const ours: number[] = [];
    const nothing: number[] = [];
    for (let round = -2; round < ROUNDS; round++) {
      const a = await time(() =>
        new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", CLI, "--help"],
        }).output()
      );
      const b = await empty();
      if (round < 0) continue;
      ours.push(a);
      nothing.push(b);
    }
    return median(ours) / median(nothing);
  });
}

/** The figures of the command line. */
export const benches: BenchCase[] = [
  {
    area: "cli",
    name: "run's share of the time to the first frame / empty deno run",
    bound: SHARE_BOUND,
    keep: "at most",
    unit: "×",
    // A difference of two starts, over a third.
    noise: 0.3,
    measure: firstFrame,
  },
  {
    area: "cli",
    name: "bulkhead --help / an empty deno run",
    bound: 3,
    keep: "at most",
    unit: "×",
    noise: 0.2,
    measure: help,
  },
];
