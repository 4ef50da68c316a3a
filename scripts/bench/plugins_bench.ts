/** Figures of plugins: calls, loads, hashes, and the served tool. @module */

import {
  defaultConfig,
  digestPlugin,
  loadPlugins,
  type PluginsConfig,
  type SandboxLevel,
  type Tool,
} from "@bulkhead/plugins";
import { isolate, probeIsolation } from "@bulkhead/sandbox";
import { createHash } from "node:crypto";
import { type BenchCase, median, ratio, time } from "./harness.ts";

/** Runs a measurement in a directory of its own. */
async function inTemp<T>(measure: (dir: string) => Promise<T>): Promise<T> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    return await measure(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function config(sandbox: SandboxLevel): PluginsConfig {
  return {
    ...defaultConfig(),
    enabled: true,
    sandbox,
    trust: { enabled: true, default: "always" },
  };
}

const MANIFEST =
  '[[tools]]\nname = "cat"\ncommand = "cat"\nparams = { type = "object" }\n';
const INPUT = '{"name":"Ada"}';

/** A plugin of one tool that gives its input back. */
async function catTool(dir: string, sandbox: SandboxLevel): Promise<Tool> {
  await Deno.mkdir(`${dir}/plugins/p`, { recursive: true });
  await Deno.writeTextFile(`${dir}/plugins/p/plugin.toml`, MANIFEST);
  await Deno.mkdir(`${dir}/ws`);
  // Older than the clock's grain, as an installed plugin is: a fresh one is hashed again at every call.
  const past = new Date(Date.now() - 60_000);
  await Deno.utime(`${dir}/plugins/p/plugin.toml`, past, past);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const outcome = await loadPlugins({
    config: config(sandbox),
    home: dir,
    workspace: `${dir}/ws`,
  });
  const [tool] = outcome.status === "loaded" ? outcome.tools : [];
  if (tool === undefined) {
    throw new Error(`nothing was loaded: ${JSON.stringify(outcome)}`);
  }
  return tool;
}

async function ours(tool: Tool): Promise<void> {
  const result = await tool.execute({ name: "Ada" });
  if (result.isError) throw new Error(JSON.stringify(result.content));
}

/** A spawn without any care, its input written, its output read. */
async function bare(argv: readonly string[]): Promise<void> {
  const [command = "", ...args] = argv;
  const child = new Deno.Command(command, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(INPUT));
  await writer.close();
  const { success } = await child.output();
  if (!success) throw new Error(`${argv.join(" ")} failed`);
}

/** Every figure of plugins. */
export const benches: BenchCase[] = [
  {
    area: "plugins",
    name: "tool call with trust re-check / bare spawn with stdin",
    bound: 1.6,
    keep: "at most",
    unit: "×",
    measure: () =>
      inTemp(async (dir) => {
        const tool = await catTool(dir, "off");
        return await ratio(() => ours(tool), () => bare(["/bin/cat"]));
      }),
  },
  {
    area: "plugins",
    name: "tool call in bwrap / the same bwrap argv bare",
    bound: 1.15,
    keep: "at most",
    unit: "×",
    measure: () =>
      inTemp(async (dir) => {
        if ((await probeIsolation()).backend !== "bubblewrap") {
          return { skipped: "no bubblewrap: apt-get install bubblewrap" };
        }
        const tool = await catTool(dir, "required");
        await Deno.mkdir(`${dir}/data/p`, { recursive: true });
        const { argv } = await isolate(["/bin/cat"], {
          policy: {
            read: [`${dir}/plugins/p`, `${dir}/ws`],
            write: [`${dir}/data/p`],
          },
          cwd: `${dir}/ws`,
          env: { PATH: "/usr/bin:/bin" },
        });
        return await ratio(() => ours(tool), () => bare(argv));
      }),
  },
  {
    area: "plugins",
    name: "load of 200 trusted plugins of 4 files each",
    bound: 250,
    keep: "at most",
    unit: "ms",
    measure: () =>
      inTemp(async (dir) => {
        await Deno.mkdir(`${dir}/ws`);
        for (let index = 0; index < 200; index++) {
          const plugin = `${dir}/plugins/p${index}`;
          await Deno.mkdir(plugin, { recursive: true });
          await Deno.writeTextFile(`${plugin}/plugin.toml`, MANIFEST);
          for (const name of ["a", "b", "c"]) {
            await Deno.writeTextFile(`${plugin}/${name}`, name.repeat(2000));
          }
        }
        const times: number[] = [];
        for (let round = 0; round < 7; round++) {
          times.push(
            await time(() =>
              loadPlugins({
                config: config("off"),
                home: dir,
                workspace: `${dir}/ws`,
              })
            ),
          );
        }
        return median(times);
      }),
  },
  {
    area: "plugins",
    name:
      "hash of a plugin with one file of 100 MB / one streaming SHA-256 of the same bytes",
    bound: 1.2,
    keep: "at most",
    unit: "×",
    measure: () =>
      inTemp(async (dir) => {
        const path = `${dir}/big`;
        const block = crypto.getRandomValues(new Uint8Array(65_536));
        using file = await Deno.open(path, { write: true, create: true });
        for (let index = 0; index < 1600; index++) await file.write(block);
        return await ratio(() => digestPlugin(dir), () => sha256(path), {
          rounds: 7,
          warmUp: 2,
        });
      }),
  },
];

/** One SHA-256 over a file, as one would write it. */
async function sha256(path: string): Promise<string> {
  using file = await Deno.open(path);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(262_144);
  for (
    let read = await file.read(buffer);
    read !== null;
    read = await file.read(buffer)
  ) {
    hash.update(buffer.subarray(0, read));
  }
  return hash.digest("hex");
}
