import { isolate, probeIsolation, run } from "@bulkhead/sandbox";
import { type BenchCase, ratio } from "./harness.ts";
import { fromFileUrl } from "@std/path";

const TRUE = "/bin/true";

/** A host starts thousands of programs: what counts is the code once it is compiled. */
const WARM = { rounds: 500, warmUp: 300 };

/** The command as Deno starts it by itself, without further options. */
function bare(argv: readonly string[]): Promise<Deno.CommandOutput> {
  return new Deno.Command(argv[0] ?? "", { args: argv.slice(1) }).output();
}

async function confined(): Promise<number | { skipped: string }> {
  const probe = await probeIsolation();
  if (probe.backend !== "bubblewrap") return { skipped: probe.detail };
  const policy = {};
  const { argv } = await isolate([TRUE], { policy, cwd: "/", env: {} });
  return await ratio(
    () => run([TRUE], { cwd: "/", isolation: { policy } }),
    () => bare(argv),
  );
}

/** Growth of our peak memory over a gigabyte of a child's output, in MiB. */
async function flood(): Promise<number> {
  const program = `
    import { run } from "${import.meta.resolve("@bulkhead/sandbox")}";
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(
      Deno.readTextFileSync("/proc/self/status"))[1]) / 1024;
    await run(["head", "-c", "1000000", "/dev/zero"]);
    const before = peak();
    await run(["head", "-c", "1000000000", "/dev/zero"]);
    console.log(peak() - before);`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, program);
  const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const output = await bare([
    Deno.execPath(),
    "run",
    `--config=${config}`,
    "--no-lock",
    "-A",
    file,
  ]);
  await Deno.remove(file);
  return Number(new TextDecoder().decode(output.stdout));
}

/** The ground floor's figures. */
export const benches: BenchCase[] = [
  {
    area: "sandbox",
    name: "run(true) / bare",
    bound: 1.75,
    keep: "at most",
    unit: "×",
    measure: () => ratio(() => run([TRUE]), () => bare([TRUE]), WARM),
  },
  {
    area: "sandbox",
    name: "run(true) in bubblewrap / the same bwrap line bare",
    bound: 1.15,
    keep: "at most",
    unit: "×",
    measure: confined,
  },
  {
    area: "sandbox",
    name: "1 GB of child output: growth of our peak",
    bound: 32,
    keep: "at most",
    unit: "MiB",
    measure: flood,
  },
];
