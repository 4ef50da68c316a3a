// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno task test` and, with `--all`, `deno task test:all`: the tests in one
 * process more than there are cores, since most of them wait more than they work.
 *
 * Processes rather than `--parallel`, whose threads share one environment and one
 * working directory: tests here set both. Each member with its documentation is one
 * job, what is left outside `tests/` another; of `tests/` each slow file is one, the
 * others go a few at a time. What a job printed is shown when it is done; on a
 * terminal only what is missing or has failed. Types are checked by `deno task
 * check`, once for all.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** The members, the longest first. */
const MEMBERS = ["worker", "plugins", "guard", "sandbox", "abi"];

/** Not in the job of what is left; `--ignore` replaces what the configuration excludes. */
const ELSEWHERE = [...MEMBERS, "tests", "docs/reference", ".cache", "vendor"];

/**
 * What only the whole run plays, in `tests/`: real programs, browser, fuzz, faults,
 * matrices of processes, and what builds libraries or starts many processes.
 */
const WHOLE_ONLY =
  /_(?:slow|permissions|faults|kill|killed)_test\.ts$|^abi_(?:rust|plugins|contract|served)|^plugins_(?:cli|host_symptoms)|^doctor|^run_(?:hooks|trust)/;

/** Other test files that share one process. */
const BATCH = 6;

/** How a job ended. */
interface Outcome {
  success: boolean;
  passed: number;
  failed: number;
  /** The tests that failed, or the job when it did not come to its tests. */
  failures: string[];
}

interface Job {
  name: string;
  args: string[];
}

/** What is to be run, the longest first. */
async function jobs(all: boolean): Promise<Job[]> {
  const slow: string[] = [];
  const others: string[] = [];
  for await (const { name } of Deno.readDir(`${ROOT}tests`)) {
    if (!name.endsWith("_test.ts")) continue;
    const file = `tests/${name}`;
    if (!WHOLE_ONLY.test(name)) others.push(file);
    else if (all) slow.push(file);
  }
  others.sort();
  const batches = Array.from(
    { length: Math.ceil(others.length / BATCH) },
    (_, at) => others.slice(at * BATCH, (at + 1) * BATCH),
  );
  return [
    ...slow.sort().map((file) => ({ name: file, args: [file] })),
    ...MEMBERS.map((member) => ({ name: member, args: ["--doc", member] })),
    {
      name: "umbrella and documentation",
      args: ["--doc", `--ignore=${ELSEWHERE.join(",")}`],
    },
    ...batches.map((args) => ({ name: args.join(" "), args })),
  ];
}

async function play(job: Job, rest: readonly string[]): Promise<Outcome> {
  const start = performance.now();
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", ...job.args, ...rest],
    cwd: ROOT,
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  const output = decode(stderr) + decode(stdout);
  show(output, success);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${success ? "ok" : "FAILED"} ${job.name} (${seconds} s)`);
  return { success, ...counts(output, job.name, success) };
}

const missing = new Set<string>();

/** A log gets everything, a person what there is to do. */
function show(output: string, success: boolean): void {
  if (!success || !Deno.stdout.isTerminal()) {
    console.log(output.trim());
    return;
  }
  for (const line of output.match(/^skipped: .*$/gm) ?? []) {
    if (!missing.has(line)) console.log(line);
    missing.add(line);
  }
}

/** Reads the runner's own closing lines. */
function counts(
  output: string,
  job: string,
  success: boolean,
): Omit<Outcome, "success"> {
  // deno-lint-ignore no-control-regex -- colours are control sequences
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
  const line = plain.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
  const passed = Number(/(\d+) passed/.exec(line)?.[1] ?? 0);
  const failed = Number(/(\d+) failed/.exec(line)?.[1] ?? 0);
  const failures = (plain.split(/^ *FAILURES *$/m)[1] ?? "")
    .match(/^.+ => \.\/\S+$|^\.\/\S+ \(uncaught error\)$/gm) ?? [];
  // A file that does not even start has failed, although no test of it did.
  return success || failures.length > 0
    ? { passed, failed, failures }
    : { passed, failed: Math.max(failed, 1), failures: [job] };
}

async function main(args: string[]): Promise<number> {
  const all = args.includes("--all");
  const rest = args.filter((arg) => arg !== "--all");
  const queue = await jobs(all);
  const results: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      results.push(await play(job, rest));
    }
  };
  const processes = Math.min(navigator.hardwareConcurrency, 4) + 1;
  await Promise.all(Array.from({ length: processes }, work));
  const sum = (key: "passed" | "failed"): number =>
    results.reduce((total, one) => total + one[key], 0);
  for (const { failures } of results) {
    for (const failure of failures) console.log(`FAILED ${failure}`);
  }
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  return results.every((one) => one.success) ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
