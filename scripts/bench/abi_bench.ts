import { loadNativePlugin, type NativePlugin } from "@bulkhead/abi";
import { build, canRun } from "../../tests/_abi.ts";
import { type BenchCase, median, percentile, time } from "./harness.ts";
import { fromFileUrl } from "@std/path";

type Measure = number | { skipped: string };

const SKIPPED = { skipped: "gcc and bubblewrap are needed" };

/** Measures with a plugin that is loaded for it, unless none can be built here. */
async function withPlugin(
  name: string,
  measure: (plugin: NativePlugin) => Promise<number>,
): Promise<Measure> {
  if (!await canRun()) return SKIPPED;
  await using plugin = await loadNativePlugin(await build(name));
  return await measure(plugin);
}

const WARM_UP = 500;
const BATCHES = 40;
const CALLS = 100;
/** Between two batches, so that they do not all meet the machine in one mood. */
const PAUSE_MS = 50;

/**
 * The median of each batch, the batch at the first quarter of them. A nonblocking call goes to a thread and back; where
 * the kernel puts that thread, and who else wants the core, triples its price from one batch to the next, for four
 * bare calls of libc just the same. A quarter of the batches meets the machine undisturbed on any day.
 */
function quiet(batches: readonly (readonly number[])[]): number {
  return percentile(batches.map(median), 0.25);
}

/** Time of a call, in microseconds. */
async function callTime(plugin: NativePlugin): Promise<number> {
  for (let i = 0; i < WARM_UP; i++) await plugin.callTool("nop");
  const batches: number[][] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const times: number[] = [];
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    for (let i = 0; i < CALLS; i++) {
      times.push(await time(() => plugin.callTool("nop")) * 1_000);
    }
    batches.push(times);
  }
  return quiet(batches);
}

interface InProcess {
  /** Of each batch, the times of our calls in microseconds. */
  readonly ours: number[][];
  /** Of each batch, the times of four nonblocking calls of libc. */
  readonly bare: number[][];
}

let measured: Promise<InProcess | undefined> | undefined;

/** The same inside a process, in one that ends with it, and the bare calls in turns with ours; measured once. */
function inProcess(): Promise<InProcess | undefined> {
  return measured ??= measureInProcess();
}

async function measureInProcess(): Promise<InProcess | undefined> {
  if (!await canRun()) return undefined;
  const program = `
    import { loadNativePlugin } from "${import.meta.resolve("@bulkhead/abi")}";
    const plugin = await loadNativePlugin(${
    JSON.stringify(await build("trivial"))
  }, { mode: "process" });
    const { abs } = Deno.dlopen(Deno.build.os === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
      abs: { parameters: ["i32"], result: "i32", nonblocking: true },
    }).symbols;
    const ours = [], bare = [];
    for (let batch = -${WARM_UP / CALLS}; batch < ${BATCHES}; batch++) {
      const mine = [], theirs = [];
      await new Promise((resolve) => setTimeout(resolve, ${PAUSE_MS}));
      for (let i = 0; i < ${CALLS}; i++) {
        const a = performance.now();
        await plugin.callTool("nop");
        const b = performance.now();
        for (let k = 0; k < 4; k++) await abs(-1);
        const c = performance.now();
        mine.push((b - a) * 1000);
        theirs.push((c - b) * 1000);
      }
      if (batch >= 0) { ours.push(mine); bare.push(theirs); }
    }
    console.log(JSON.stringify({ ours, bare }));
    Deno.exit(0);`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, program);
  const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", `--config=${config}`, "--no-lock", "-A", file],
  }).output();
  await Deno.remove(file);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** One figure of the calls in a process, or why there is none. */
async function inProcessFigure(
  figure: (times: InProcess) => number,
): Promise<Measure> {
  const times = await inProcess();
  return times === undefined ? SKIPPED : figure(times);
}

/** Batch by batch ours over bare, so that both met the same machine. */
function batchRatio({ ours, bare }: InProcess): number {
  return median(
    ours.map((times, i) => median(times) / median(bare[i] ?? [])),
  );
}

/** The same over the start of an empty Deno program, taken in turns. */
async function startRatio(): Promise<Measure> {
  if (!await canRun()) return SKIPPED;
  const library = await build("trivial");
  const empty = await Deno.makeTempFile({ suffix: ".ts" });
  const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const ours: number[] = [];
  const bare: number[] = [];
  for (let i = -3; i < 20; i++) {
    let plugin: NativePlugin | undefined;
    const a = await time(async () => plugin = await loadNativePlugin(library));
    await plugin?.close();
    const b = await time(() =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", `--config=${config}`, "--no-lock", empty],
      }).output()
    );
    if (i < 0) continue;
    ours.push(a);
    bare.push(b);
  }
  await Deno.remove(empty);
  return median(ours) / median(bare);
}

/** Median time from nothing to a registered plugin in its own process, in milliseconds. */
async function loadTime(name: string, rounds: number): Promise<Measure> {
  if (!await canRun()) return SKIPPED;
  const library = await build(name);
  const times: number[] = [];
  for (let i = -2; i < rounds; i++) {
    let plugin: NativePlugin | undefined;
    const ms = await time(async () => plugin = await loadNativePlugin(library));
    if (i >= 0) times.push(ms);
    await plugin?.close();
  }
  return median(times);
}

/** Strings and handles that 10 000 calls leave behind, by both sides' count. */
async function leftOver(plugin: NativePlugin): Promise<number> {
  for (let i = 0; i < 10_000; i++) await plugin.callTool("probe_echo", TEXT);
  const { liveHandles, stringsFreed, stringsReceived } = await plugin.stats();
  const { content: [part] } = await plugin.callTool("probe_stats");
  const counts = JSON.parse(part?.type === "text" ? part.text : "{}");
  return liveHandles + stringsReceived - stringsFreed + counts.live_strings +
    counts.live_handles + counts.host_strings_seen - counts.host_strings_freed;
}

/** Growth of the child over 10 000 calls after its warm-up, in MiB. */
async function growth(plugin: NativePlugin): Promise<number> {
  for (let i = 0; i < 5_000; i++) await plugin.callTool("nop", TEXT);
  const before = await plugin.stats();
  for (let i = 0; i < 10_000; i++) await plugin.callTool("nop", TEXT);
  return ((await plugin.stats()).rssBytes - before.rssBytes) / 2 ** 20;
}

const TEXT = { text: "x".repeat(1_000) };

/**
 * The figures of native plugins. Those in time are for an idle machine and get wide margins; the ratios are what holds
 * anywhere.
 */
export const benches: BenchCase[] = [
  {
    area: "abi",
    name: "a call in this process / its four native calls bare",
    bound: 1.8,
    keep: "at most",
    unit: "×",
    measure: () => inProcessFigure(batchRatio),
  },
  {
    area: "abi",
    name: "a trivial call in this process, p50 of a quiet batch",
    bound: 60,
    keep: "at most",
    unit: "µs",
    noise: 4,
    measure: () => inProcessFigure(({ ours }) => quiet(ours)),
  },
  {
    area: "abi",
    name: "a trivial call, isolated, p50 of a quiet batch",
    bound: 200,
    keep: "at most",
    unit: "µs",
    noise: 4,
    measure: () => withPlugin("trivial", callTime),
  },
  {
    area: "abi",
    name: "child start to registered / an empty deno run",
    bound: 4,
    keep: "at most",
    unit: "×",
    noise: 0.2,
    measure: startRatio,
  },
  {
    area: "abi",
    name: "child start to registered",
    bound: 80,
    keep: "at most",
    unit: "ms",
    noise: 4,
    measure: () => loadTime("trivial", 15),
  },
  {
    area: "abi",
    name: "1001 tools, 200 commands, 740 handlers, isolated",
    bound: 300,
    keep: "at most",
    unit: "ms",
    noise: 4,
    measure: () => loadTime("many", 7),
  },
  {
    area: "abi",
    name: "live strings and handles after 10 000 calls",
    bound: 0,
    keep: "at most",
    unit: "",
    measure: () => withPlugin("01_ok", leftOver),
  },
  {
    area: "abi",
    name: "growth of the child over 10 000 calls with 1 KB",
    bound: 16,
    keep: "at most",
    unit: "MiB",
    noise: 0.5,
    measure: () => withPlugin("trivial", growth),
  },
];

if (import.meta.main) {
  for (const bench of benches) {
    const figure = await bench.measure();
    const text = typeof figure === "number"
      ? `${Math.round(figure * 100) / 100} ${bench.unit}`
      : figure.skipped;
    Deno.stdout.writeSync(
      new TextEncoder().encode(
        `${bench.name}: ${text} (${bench.keep} ${bench.bound})\n`,
      ),
    );
  }
}
