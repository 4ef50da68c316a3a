import { loadNativePlugin, type NativePlugin } from "@bulkhead/abi";
import { build, canRun } from "../../tests/_abi.ts";
import { type BenchCase, median, time } from "./harness.ts";

type Measure = number | { skipped: string };

/** Measures with a plugin that is loaded for it, unless none can be built here. */
async function withPlugin(
  name: string,
  measure: (plugin: NativePlugin) => Promise<number>,
): Promise<Measure> {
  if (!await canRun()) return { skipped: "gcc and bubblewrap are needed" };
  await using plugin = await loadNativePlugin(await build(name));
  return await measure(plugin);
}

/** Median time of a call, in microseconds. */
async function callTime(plugin: NativePlugin): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 3_500; i++) {
    const ms = await time(() => plugin.callTool("nop"));
    if (i >= 500) times.push(ms * 1_000);
  }
  return median(times);
}

/** The same inside a process, in one that ends with it; `bare` are four nonblocking calls of libc. */
async function inProcess(what: "call" | "ratio"): Promise<Measure> {
  if (!await canRun()) return { skipped: "gcc and bubblewrap are needed" };
  const program = `
    import { loadNativePlugin } from "${import.meta.resolve("@bulkhead/abi")}";
    const plugin = await loadNativePlugin(${
    JSON.stringify(await build("trivial"))
  }, { mode: "process" });
    const { abs } = Deno.dlopen(Deno.build.os === "darwin" ? "libSystem.B.dylib" : "libc.so.6", {
      abs: { parameters: ["i32"], result: "i32", nonblocking: true },
    }).symbols;
    const ours = [], bare = [];
    for (let i = 0; i < 4500; i++) {
      const a = performance.now();
      await plugin.callTool("nop");
      const b = performance.now();
      for (let k = 0; k < 4; k++) await abs(-1);
      const c = performance.now();
      if (i >= 500) { ours.push((b - a) * 1000); bare.push((c - b) * 1000); }
    }
    const median = (list) => list.sort((x, y) => x - y)[list.length >> 1];
    console.log(${
    what === "call" ? "median(ours)" : "median(ours) / median(bare)"
  });
    Deno.exit(0);`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, program);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", `--config=${config}`, "--no-lock", "-A", file],
  }).output();
  await Deno.remove(file);
  return Number(new TextDecoder().decode(stdout));
}

/** The same over the start of an empty Deno program, taken in turns. */
async function startRatio(): Promise<Measure> {
  if (!await canRun()) return { skipped: "gcc and bubblewrap are needed" };
  const library = await build("trivial");
  const empty = await Deno.makeTempFile({ suffix: ".ts" });
  const config = new URL("../../deno.json", import.meta.url).pathname;
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
  if (!await canRun()) return { skipped: "gcc and bubblewrap are needed" };
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
    measure: () => inProcess("ratio"),
  },
  {
    area: "abi",
    name: "a trivial call in this process, p50",
    bound: 60,
    keep: "at most",
    unit: "µs",
    noise: 4,
    measure: () => inProcess("call"),
  },
  {
    area: "abi",
    name: "a trivial call, isolated, p50",
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
