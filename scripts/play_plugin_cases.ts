/**
 * Plays case files of plugins: `play_plugin_cases.ts CASES.jsonl ROOT [--isolation off|preferred|required]`.
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
}

/** Reads a case file: one JSON object a line. */
export async function readCases(path: string): Promise<JsonObject[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const value: Json = JSON.parse(line);
    if (isObject(value)) return [value];
    throw new TypeError(`line ${index + 1} of "${path}" is not an object`);
  });
}

/** Plays cases one after the other. */
export async function playCases(
  cases: readonly JsonObject[],
  options: PlayOptions,
): Promise<CaseVerdict[]> {
  const verdicts: CaseVerdict[] = [];
  for (const each of cases) {
    if (options.only && !options.only.test(String(each.id))) continue;
    const verdict = await playCase(each, options);
    verdicts.push(verdict);
    options.onVerdict?.(verdict);
  }
  return verdicts;
}

async function main(args: string[]): Promise<number> {
  const flags = parseArgs(args, { string: ["isolation", "only"] });
  const [cases, root] = flags._.map(String);
  const isolation = flags.isolation ?? "preferred";
  if (
    cases === undefined || root === undefined ||
    (isolation !== "off" && isolation !== "preferred" &&
      isolation !== "required")
  ) {
    write(
      Deno.stderr,
      "usage: play_plugin_cases.ts CASES.jsonl ROOT [--isolation off|preferred|required] [--only PATTERN]",
    );
    return 2;
  }
  const verdicts = await playCases(await readCases(cases), {
    root,
    isolation,
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

function write(
  to: { writeSync(bytes: Uint8Array): number },
  line: string,
): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
