/**
 * A place for one test with a real agent program: a fresh home, a workspace, a directory outside of it,
 * settings that point every agent at a scripted model, and no network beyond loopback.
 *
 * @module
 */
import {
  type ModelScript,
  type ScriptedModel,
  startScriptedModel,
} from "@bulkhead/guard/scripted-model";
import { eventually } from "./eventually.ts";

/** Everything one test needs. */
export interface AgentWorld extends AsyncDisposable {
  /** The model all agents are pointed at. */
  readonly model: ScriptedModel;
  /** Home directory of the pretended user. */
  readonly home: string;
  /** Directory the session works in. */
  readonly workspace: string;
  /** Directory the session has no business in. */
  readonly outside: string;
  /** Whole environment for an agent. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of the files in a directory of the world, sorted, directories with a slash. */
  list(dir: string): Promise<string[]>;
  /** Pids of live processes that were started with this world's environment. */
  processes(): Promise<number[]>;
  /** Waits until no process of this world lives; throws naming those that still do after a bound. */
  quiet(): Promise<void>;
}

/** Options of {@linkcode makeWorld}. */
export interface WorldOptions {
  /** Model name the agents ask for; Codex knows its tools by it. Default `gpt-5.5`. */
  readonly model?: string;
  /** Further lines for the user's Codex config. */
  readonly codexConfig?: string;
  /** Make the workspace a git repository. */
  readonly git?: boolean;
}

/** A closed port: whatever tries to leave the machine fails at once. */
const NOWHERE = "http://127.0.0.1:9";

async function writeSettings(
  home: string,
  origin: string,
  options: WorldOptions,
): Promise<void> {
  await Deno.mkdir(`${home}/.codex`, { recursive: true });
  await Deno.writeTextFile(
    `${home}/.codex/config.toml`,
    [
      `model = ${JSON.stringify(options.model ?? "gpt-5.5")}`,
      `model_provider = "scripted"`,
      `[model_providers.scripted]`,
      `name = "scripted"`,
      `base_url = "${origin}/v1"`,
      `wire_api = "responses"`,
      `env_key = "SCRIPTED_KEY"`,
      `[features]`,
      `multi_agent_v2 = true`,
      options.codexConfig ?? "",
      "",
    ].join("\n"),
  );
  await Deno.mkdir(`${home}/.config/opencode`, { recursive: true });
  // As if OpenCode had been started before: otherwise it waits for npm to fetch its plugin types.
  const types = { "@opencode-ai/plugin": "1.18.33" };
  await Deno.mkdir(`${home}/.config/opencode/node_modules`);
  await Deno.writeTextFile(
    `${home}/.config/opencode/package-lock.json`,
    JSON.stringify({
      lockfileVersion: 3,
      packages: { "": { dependencies: types } },
    }),
  );
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "scripted",
    options: { baseURL: `${origin}/v1`, apiKey: "scripted" },
    models: { m: { name: "m", tool_call: true } },
  };
  await Deno.writeTextFile(
    `${home}/.config/opencode/opencode.json`,
    JSON.stringify({
      model: "scripted/m",
      small_model: "scripted/m",
      provider: { scripted: provider },
    }),
  );
}

function environment(root: string, origin: string): Record<string, string> {
  return {
    PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
    HOME: `${root}/home`,
    TMPDIR: `${root}/tmp`,
    LANG: "C.UTF-8",
    HTTP_PROXY: NOWHERE,
    HTTPS_PROXY: NOWHERE,
    NO_PROXY: "127.0.0.1,localhost",
    npm_config_registry: NOWHERE,
    // Deno's own cache, for hooks and tool servers that agents start.
    DENO_DIR: Deno.env.get("DENO_DIR") ??
      `${
        Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`
      }/deno`,
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: "scripted",
    IS_SANDBOX: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    SCRIPTED_KEY: "scripted",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    BULKHEAD_TEST_WORLD: root,
  };
}

async function list(dir: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(dir)) {
    names.push(entry.name + (entry.isDirectory ? "/" : ""));
  }
  return names.sort();
}

async function processesOf(root: string): Promise<number[]> {
  if (Deno.build.os !== "linux") return [];
  const mark = `BULKHEAD_TEST_WORLD=${root}\0`;
  const pids: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const environ = await Deno.readTextFile(`/proc/${name}/environ`);
      if (environ.includes(mark)) pids.push(Number(name));
    } catch {
      // gone meanwhile, or not ours
    }
  }
  return pids;
}

async function named(pids: readonly number[]): Promise<string> {
  const lines = await Promise.all(pids.map(async (pid) => {
    const line = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() =>
      "gone"
    );
    return `${pid} (${line.replaceAll("\0", " ").trim().slice(0, 80)})`;
  }));
  return lines.join(", ");
}

/** Waits until no process of the world is left. */
async function quiet(root: string): Promise<void> {
  let left = "";
  await eventually(() => `the end of ${left}`, async () => {
    const pids = await processesOf(root);
    left = await named(pids);
    return pids.length === 0;
  });
}

/**
 * Makes a world around a script. In the script `{{ws}}` and `{{out}}` name the workspace and the
 * directory outside.
 *
 * @param script For the model.
 * @param options Of the world.
 * @returns The world; disposing of it stops the model, checks that nothing runs and removes the files.
 */
export async function makeWorld(
  script: ModelScript,
  options: WorldOptions = {},
): Promise<AgentWorld> {
  // Not below /tmp: Codex treats that as scratch space and refuses to keep its helpers there.
  const root = await Deno.realPath(
    await Deno.makeTempDir({ dir: "/var/tmp", prefix: "bulkhead-world-" }),
  );
  const [home, workspace, outside] = [
    `${root}/home`,
    `${root}/work`,
    `${root}/outside`,
  ] as const;
  for (const dir of [home, workspace, outside, `${root}/tmp`]) {
    await Deno.mkdir(dir);
  }
  if (options.git) await Deno.mkdir(`${workspace}/.git`);
  const model = await startScriptedModel(script, {
    vars: { ws: workspace, out: outside },
  });
  await writeSettings(home, model.origin, options);
  return {
    model,
    home,
    workspace,
    outside,
    env: environment(root, model.origin),
    list,
    processes: () => processesOf(root),
    quiet: () => quiet(root),
    async [Symbol.asyncDispose]() {
      await model.close();
      try {
        await quiet(root);
      } finally {
        for (const pid of await processesOf(root)) Deno.kill(pid, "SIGKILL");
        await Deno.remove(root, { recursive: true });
      }
    },
  };
}
