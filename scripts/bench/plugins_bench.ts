import {
  defaultConfig,
  digestPlugin,
  type LoadedOutcome,
  loadPlugins,
  type SandboxLevel,
  type Tool,
} from "@bulkhead/plugins";
import { isolate, probeIsolation } from "@bulkhead/sandbox";
import { createHash } from "node:crypto";
import { type BenchCase, median, ratio, time } from "./harness.ts";

/** A host calls tools all day: what counts is the code once it is compiled. */
const WARM = { rounds: 500, warmUp: 300 };

const INPUT = new TextEncoder().encode('{"text":"hello"}');

/** What a host would do without us: start, write, close, wait. */
async function bare(argv: readonly string[]): Promise<void> {
  const child = new Deno.Command(argv[0] ?? "", {
    args: argv.slice(1),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(INPUT);
  await writer.close();
  await child.output();
}

interface World extends AsyncDisposable {
  home: string;
  workspace: string;
  load(sandbox: SandboxLevel): Promise<LoadedOutcome>;
}

/** A home with plugins of four files each. */
async function makeWorld(plugins: number): Promise<World> {
  const home = await Deno.makeTempDir();
  const workspace = await Deno.makeTempDir();
  for (let index = 0; index < plugins; index++) {
    const dir = `${home}/plugins/p${index}`;
    await Deno.mkdir(dir, { recursive: true });
    await Deno.writeTextFile(
      `${dir}/plugin.toml`,
      `[[tools]]
name = "t"
command = "cat"
params = { type = "object", properties = { text = { type = "string" } } }

[[hooks]]
event = "stop"
command = "./h.sh"
`,
    );
    for (const name of ["h.sh", "lib.py", "README.md"]) {
      await Deno.writeTextFile(`${dir}/${name}`, "x".repeat(2000));
    }
  }
  // Fresh files are hashed again at every look until the clock has moved on.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  return {
    home,
    workspace,
    async load(sandbox): Promise<LoadedOutcome> {
      const config = defaultConfig();
      config.enabled = true;
      config.trust = { enabled: true, default: "always" };
      config.sandbox = sandbox;
      const outcome = await loadPlugins({ config, home, workspace });
      if (outcome.status === "loaded") return outcome;
      throw new Error(`plugins are ${outcome.status}`);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Deno.remove(home, { recursive: true });
      await Deno.remove(workspace, { recursive: true });
    },
  };
}

function firstTool(outcome: LoadedOutcome): Tool {
  const [tool] = outcome.tools;
  if (tool === undefined) throw new Error("no tool was loaded");
  return tool;
}

async function call(): Promise<number> {
  await using world = await makeWorld(1);
  const tool = firstTool(await world.load("off"));
  return await ratio(
    () => tool.execute({ text: "hello" }),
    () => bare(["cat"]),
    WARM,
  );
}

async function confinedCall(): Promise<number | { skipped: string }> {
  const probe = await probeIsolation();
  if (probe.backend !== "bubblewrap") return { skipped: probe.detail };
  await using world = await makeWorld(1);
  const outcome = await world.load("required");
  const tool = firstTool(outcome);
  const [plugin] = outcome.plugins;
  const { argv } = await isolate(["cat"], {
    policy: {
      read: [plugin?.dir ?? "", world.workspace],
      write: [plugin?.dataDir ?? ""],
    },
    cwd: world.workspace,
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "" },
  });
  return await ratio(
    () => tool.execute({ text: "hello" }),
    () => bare(argv),
    { rounds: 100 },
  );
}

async function load(): Promise<number> {
  await using world = await makeWorld(200);
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    times.push(await time(() => world.load("off")));
  }
  return median(times);
}

async function hash(files: number): Promise<number> {
  const dir = await Deno.makeTempDir();
  const total = 100 * 1024 * 1024;
  const block = crypto.getRandomValues(new Uint8Array(65_536));
  try {
    for (let index = 0; index < files; index++) {
      using file = await Deno.open(`${dir}/f${index}`, {
        write: true,
        create: true,
      });
      for (let at = 0; at < total / files; at += block.length) {
        await file.write(block);
      }
    }
    return await ratio(() => digestPlugin(dir), () => stream(dir, files), {
      rounds: 9,
      warmUp: 1,
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** One streaming SHA-256 over the same bytes. */
async function stream(dir: string, files: number): Promise<void> {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(256 * 1024);
  for (let index = 0; index < files; index++) {
    using file = await Deno.open(`${dir}/f${index}`);
    for (;;) {
      const read = await file.read(buffer);
      if (read === null) break;
      hash.update(buffer.subarray(0, read));
    }
  }
  hash.digest("hex");
}

/** Peak memory after 10 000 calls over the peak after the first 2 000. */
async function memory(): Promise<number> {
  await using world = await makeWorld(1);
  const tool = firstTool(await world.load("off"));
  const calls = async (count: number): Promise<number> => {
    let peak = 0;
    for (let done = 0; done < count; done += 4) {
      await Promise.all(
        Array.from({ length: 4 }, () => tool.execute({ text: "hello" })),
      );
      peak = Math.max(peak, Deno.memoryUsage().rss);
    }
    return peak;
  };
  const before = await calls(2000);
  return await calls(8000) / before;
}

/** The figures of plugins. */
export const benches: BenchCase[] = [
  {
    area: "plugins",
    name: "tool call with trust re-check / bare spawn with stdin",
    bound: 1.6,
    keep: "at most",
    unit: "×",
    measure: call,
  },
  {
    area: "plugins",
    name: "tool call in bubblewrap / the same bwrap line bare",
    bound: 1.15,
    keep: "at most",
    unit: "×",
    measure: confinedCall,
  },
  {
    area: "plugins",
    name: "load of 200 trusted plugins of 4 files",
    bound: 250,
    keep: "at most",
    unit: "ms",
    measure: load,
  },
  {
    area: "plugins",
    name: "hash of 100 MB in one file / one streaming SHA-256",
    bound: 1.2,
    keep: "at most",
    unit: "×",
    measure: () => hash(1),
  },
  {
    area: "plugins",
    name: "hash of 100 MB in 400 files / one streaming SHA-256",
    bound: 1.2,
    keep: "at most",
    unit: "×",
    measure: () => hash(400),
  },
  {
    area: "plugins",
    name: "peak memory of 10 000 calls / of the first 2 000",
    bound: 1.05,
    keep: "at most",
    unit: "×",
    noise: 0.02,
    measure: memory,
  },
];
