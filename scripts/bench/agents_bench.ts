/**
 * Our own share of an agent's start: from spawn to a session whose gate is proven, against the same program driven by
 * hand to the same point without any gate.
 *
 * @module
 */
import { readLines, startProcess } from "@bulkhead/sandbox";
import { type AgentDriver, claudeArgv, claudeDriver } from "@bulkhead/worker";
import { codexDriver } from "@bulkhead/worker/codex";
import { openCodeDriver } from "@bulkhead/worker/opencode";
import { type AgentWorld, makeWorld } from "../../tests/support/agent_world.ts";
import {
  harnessBuild,
  harnessDir,
  type HarnessName,
  harnessPin,
} from "../harness_pins.ts";
import type { BenchCase } from "./harness.ts";

const ROUNDS = 6;
const BOUND_MS = 60;

async function programOf(name: HarnessName): Promise<string | undefined> {
  const pin = harnessPin(name);
  const build = harnessBuild(pin);
  const path = build && `${harnessDir(pin)}/${build.binary}`;
  if (path === undefined) return undefined;
  return await Deno.stat(path).then(() => path, () => undefined);
}

/** Starts a program, says some lines to it, and waits for a line of its answer. */
async function bare(
  world: AgentWorld,
  argv: readonly string[],
  says: readonly unknown[],
  wanted: RegExp,
  then?: (line: string) => Promise<void>,
  extra: Readonly<Record<string, string>> = {},
): Promise<number> {
  const started = performance.now();
  await using child = await startProcess(argv, {
    cwd: world.workspace,
    env: { ...world.env, ...extra },
    stderr: "null",
  });
  const writer = child.stdin.getWriter();
  const lines = says.map((line) => JSON.stringify(line) + "\n").join("");
  if (lines !== "") await writer.write(new TextEncoder().encode(lines));
  for await (const line of readLines(child.stdout)) {
    const text = new TextDecoder().decode(line.bytes);
    if (!wanted.test(text)) continue;
    await then?.(text);
    break;
  }
  const took = performance.now() - started;
  await child.end({ eofMs: 0 });
  return took;
}

async function hosted(world: AgentWorld, driver: AgentDriver): Promise<number> {
  const started = performance.now();
  await driver.start({
    cwd: world.workspace,
    env: world.env,
    judge: () => ({ decision: "allow" }),
  });
  const took = performance.now() - started;
  await driver.close({ eofMs: 0 });
  return took;
}

interface Subject {
  readonly name: HarnessName;
  bare(world: AgentWorld, program: string): Promise<number>;
  driver(program: string): AgentDriver;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: "claude",
    bare: (world, program) =>
      bare(
        world,
        claudeArgv({ cwd: world.workspace }, { command: [program] }),
        [{
          type: "control_request",
          request_id: "1",
          request: { subtype: "initialize" },
        }],
        /"control_response"/,
      ),
    driver: (program) => claudeDriver({ command: [program] }),
  },
  {
    name: "codex",
    bare: (world, program) =>
      bare(
        world,
        [program, "app-server"],
        [
          {
            id: 1,
            method: "initialize",
            params: {
              clientInfo: { name: "bench", title: "Bench", version: "1" },
            },
          },
          { method: "initialized" },
          { id: 2, method: "thread/start", params: { cwd: world.workspace } },
        ],
        /"id":2/,
      ),
    driver: (program) => codexDriver({ command: [program] }),
  },
  {
    name: "opencode",
    bare: async (world, program) => {
      // OpenCode's own way of loading a plugin is not our share.
      const plugin = `${world.home}/empty.js`;
      await Deno.writeTextFile(
        plugin,
        "export const Empty = async () => ({});\n",
      );
      return await bare(
        world,
        [program, "serve", "--hostname", "127.0.0.1", "--port", "0"],
        [],
        /listening on/,
        async (line) => {
          const origin = /http:\/\/\S+/.exec(line)?.[0] ?? "";
          const made = await fetch(`${origin}/session`, {
            method: "POST",
            body: "{}",
          });
          await made.body?.cancel();
        },
        {
          OPENCODE_CONFIG_CONTENT: JSON.stringify({
            plugin: [`file://${plugin}`],
          }),
        },
      );
    },
    driver: (program) => openCodeDriver({ command: [program] }),
  },
];

/** Both in turns, so that a busy machine slows both alike. */
async function share(subject: Subject): Promise<number | { skipped: string }> {
  const program = await programOf(subject.name);
  if (program === undefined) {
    return { skipped: `${subject.name} is not installed: deno task harnesses` };
  }
  await using world = await makeWorld({ steps: [] });
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const without = await subject.bare(world, program);
    const within = await hosted(world, subject.driver(program));
    // The first round fills the program's caches.
    if (round < 0) continue;
    theirs.push(without);
    ours.push(within);
  }
  // The quickest of each: a busy machine adds seconds to any one start.
  return Math.min(...ours) - Math.min(...theirs);
}

/** Our share of each agent's start. */
export const benches: BenchCase[] = SUBJECTS.map((subject) => ({
  area: "worker",
  name: `our share of the start of ${subject.name}, gate proven`,
  bound: BOUND_MS,
  keep: "at most",
  unit: "ms",
  // A start takes a second and more, and no two take the same.
  noise: 0.5,
  measure: () => share(subject),
}));
