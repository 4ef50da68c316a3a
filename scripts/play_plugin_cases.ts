/**
 * Plays case files of plugins: `play_plugin_cases.ts CASES.jsonl ROOT [--isolation off|preferred|required] [--jobs N]`.
 *
 * Prints one JSON line a case, `{id, pass, detail}`, and a closing count; exits 1 when a case fails.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { isObject, type Json, type JsonObject } from "./_plugin_case.ts";
import { type CaseVerdict, playCase } from "./_plugin_player.ts";

export type { CaseVerdict } from "./_plugin_player.ts";

/** Options of {@linkcode playCases}. */
export interface PlayOptions {
  /** The directory that holds each case's directory. */
  root: string;
  /** How plugins are isolated. */
  isolation: "off" | "preferred" | "required";
  /** Gets every verdict as it falls. */
  onVerdict?: (verdict: CaseVerdict) => void;
  /** Plays only the cases whose id matches. */
  only?: RegExp;
  /** How many cases play at a time; 1 by default. Those that need the process for themselves follow one by one. */
  jobs?: number;
}

/** Reads a case file: one JSON object a line. */
export async function readCases(path: string): Promise<JsonObject[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const place = `line ${index + 1} of "${path}"`;
    let value: Json;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw new TypeError(`${place} is not JSON: ${messageOf(error)}`);
    }
    if (isObject(value)) return [value];
    throw new TypeError(`${place} is not an object`);
  });
}

/** Plays cases; the verdicts come in the order in which they fall. */
async function playCases(
  cases: readonly JsonObject[],
  options: PlayOptions,
): Promise<CaseVerdict[]> {
  const { only, jobs = 1 } = options;
  const wanted = cases.filter(({ id }) => only?.test(String(id)) ?? true);
  const together = jobs > 1 ? wanted.filter((one) => !needsToBeAlone(one)) : [];
  const alone = jobs > 1 ? wanted.filter(needsToBeAlone) : wanted;
  const verdicts: CaseVerdict[] = [];
  const work = async (queue: JsonObject[]): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const verdict = await playCase(one, options);
      verdicts.push(verdict);
      options.onVerdict?.(verdict);
    }
  };
  await Promise.all(Array.from({ length: jobs }, () => work(together)));
  await work(alone);
  return verdicts;
}

/** Whether a case sets the environment of the process, or looks at its memory or its event loop. */
function needsToBeAlone(one: JsonObject): boolean {
  return /"hostEnv"|"\w*(?:[eE]ventLoop|[rR]ss)\w*"/.test(JSON.stringify(one));
}

async function main(args: string[]): Promise<number> {
  const unknown: string[] = [];
  const flags = parseArgs(args, {
    string: ["isolation", "only", "jobs"],
    unknown: (arg) => !arg.startsWith("-") || unknown.push(arg) === 0,
  });
  const [cases, root] = flags._.map(String);
  const isolation = flags.isolation ?? "preferred";
  const jobs = Number(flags.jobs ?? 1);
  if (
    cases === undefined || root === undefined || unknown.length > 0 ||
    !Number.isInteger(jobs) || jobs < 1 ||
    (isolation !== "off" && isolation !== "preferred" &&
      isolation !== "required")
  ) {
    write(
      Deno.stderr,
      "usage: play_plugin_cases.ts CASES.jsonl ROOT [--isolation off|preferred|required] [--only PATTERN] [--jobs N]",
    );
    return 2;
  }
  let read: JsonObject[];
  try {
    read = await readCases(cases);
  } catch (error) {
    write(Deno.stderr, `error: cannot read the cases: ${messageOf(error)}`);
    return 2;
  }
  const verdicts = await playCases(read, {
    root,
    isolation,
    jobs,
    ...(typeof flags.only === "string" ? { only: new RegExp(flags.only) } : {}),
    onVerdict: (verdict) => write(Deno.stdout, JSON.stringify(verdict)),
  });
  const failed = verdicts.filter((verdict) => !verdict.pass).length;
  write(
    Deno.stdout,
    JSON.stringify({
      type: "count",
      cases: verdicts.length,
      passed: verdicts.length - failed,
      failed,
    }),
  );
  return failed === 0 ? 0 : 1;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function write(
  to: { writeSync(bytes: Uint8Array): number },
  line: string,
): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
