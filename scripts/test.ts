// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno task test` and, with `--all`, `deno task test:all`: the test files in as many
 * processes as there are cores.
 *
 * Processes rather than `--parallel`, whose threads share one environment and one
 * working directory: tests here set both. The first process's output is shown as it
 * comes, the others' when they are done.
 *
 * @module
 */

const ROOT = new URL("..", import.meta.url).pathname;

/** Never tests; `--ignore` replaces what the configuration excludes. */
const NOT_TESTS = [
  "tests/fixtures",
  "docs/reference",
  ".cache",
  "vendor",
];

/** What only the whole run plays: real programs, browser, fuzz, faults, matrices of processes. */
const WHOLE_ONLY = [
  "**/*_slow_test.ts",
  "**/*_permissions_test.ts",
  "**/*_faults_test.ts",
  "**/*_kill_test.ts",
  "tests/abi_rust_test.ts",
];

interface Counts {
  passed: number;
  failed: number;
}

async function shard(
  index: number,
  count: number,
  ignore: readonly string[],
  rest: readonly string[],
): Promise<Counts & { success: boolean; output: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-A",
      "--doc",
      `--shard=${index + 1}/${count}`,
      `--ignore=${ignore.join(",")}`,
      ...rest,
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      if (index === 0) Deno.stdout.writeSync(new TextEncoder().encode(text));
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const { success } = await child.status;
  return { success, output, ...counts(output) };
}

/** Reads the runner's own closing line. */
function counts(output: string): Counts {
  // deno-lint-ignore no-control-regex -- colours are control sequences
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
  const line = plain.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
  return {
    passed: Number(/(\d+) passed/.exec(line)?.[1] ?? 0),
    failed: Number(/(\d+) failed/.exec(line)?.[1] ?? 0),
  };
}

async function main(args: string[]): Promise<number> {
  const all = args.includes("--all");
  const rest = args.filter((arg) => arg !== "--all");
  const ignore = all ? NOT_TESTS : [...NOT_TESTS, ...WHOLE_ONLY];
  const count = Math.max(1, Math.min(navigator.hardwareConcurrency, 4));
  const shards = await Promise.all(
    Array.from({ length: count }, (_, at) => shard(at, count, ignore, rest)),
  );
  for (const { output } of shards.slice(1)) console.log(output);
  const sum = (key: keyof Counts): number =>
    shards.reduce((total, one) => total + one[key], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  return shards.every(({ success }) => success) ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
