/**
 * A throw-away place in which a real agent program is driven by a scripted model: homes,
 * workspace and outside directory with a blank and quotes in their paths, no network but
 * loopback, no login.
 *
 * @module
 */

import { inheritedEnvironment } from "@bulkhead/sandbox";

/** Where the pieces lie. */
export interface VerifyWorld extends AsyncDisposable {
  /** The home of a pretended user. */
  readonly userHome: string;
  /** The workspace that is guarded. */
  readonly root: string;
  /** The directory that must stay empty. */
  readonly outside: string;
  /** A Bulkhead home of its own. */
  readonly home: string;
  /** Writes the settings that point every agent at the model; returns the agent's environment. */
  settle(setup: VerifySetup): Promise<Record<string, string>>;
}

/** A port nobody listens on: whatever tries to leave the machine fails at once. */
const NOWHERE = "http://127.0.0.1:9";

/** What a pretended user's home holds for each agent. */
export interface VerifySetup {
  /** The scripted model's address. */
  readonly origin: string;
  /** Codex: whether the project is trusted. */
  readonly trustProject: boolean;
}

/** Makes the world; disposing of it removes it. */
export async function makeVerifyWorld(): Promise<VerifyWorld> {
  // Not below /tmp where that can be avoided: Codex takes it for scratch space.
  const dir = await isWritableDir("/var/tmp") ? { dir: "/var/tmp" } : {};
  const base = await Deno.realPath(
    await Deno.makeTempDir({ ...dir, prefix: "bulkhead-verify-" }),
  );
  const userHome = `${base}/home`;
  const root = `${base}/it's a "workspace"`;
  const outside = `${base}/out "side's"`;
  for (const path of [userHome, root, outside, `${base}/tmp`]) {
    await Deno.mkdir(path);
  }
  return {
    userHome,
    root,
    outside,
    home: `${base}/bulk "head"`,
    async settle(setup) {
      await writeSettings(userHome, root, setup);
      return environment(base, userHome, setup.origin);
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(base, { recursive: true });
    },
  };
}

/** Says whether files can be made in a directory. */
async function isWritableDir(path: string): Promise<boolean> {
  try {
    const probe = await Deno.makeTempFile({ dir: path });
    await Deno.remove(probe);
    return true;
  } catch {
    return false;
  }
}

/** The settings that point each agent at the scripted model. */
async function writeSettings(
  userHome: string,
  root: string,
  setup: VerifySetup,
): Promise<void> {
  const { origin } = setup;
  await Deno.mkdir(`${userHome}/.codex`);
  const quoted = JSON.stringify(root);
  await Deno.writeTextFile(
    `${userHome}/.codex/config.toml`,
    [
      'model = "gpt-5.5"',
      'model_provider = "scripted"',
      "[model_providers.scripted]",
      'name = "scripted"',
      `base_url = "${origin}/v1"`,
      'wire_api = "responses"',
      'env_key = "SCRIPTED_KEY"',
      "[features]",
      "multi_agent_v2 = true",
      ...setup.trustProject
        ? [`[projects.${quoted}]`, 'trust_level = "trusted"']
        : [],
      "",
    ].join("\n"),
  );
  const scripted = {
    npm: "@ai-sdk/openai-compatible",
    name: "scripted",
    options: { baseURL: `${origin}/v1`, apiKey: "scripted" },
    models: { m: { name: "m", tool_call: true } },
  };
  const provider = {
    baseUrl: `${origin}/v1`,
    api: "openai-completions",
    apiKey: "scripted",
    models: [{ id: "m" }],
  };
  await Deno.mkdir(`${userHome}/.pi/agent`, { recursive: true });
  await Deno.writeTextFile(
    `${userHome}/.pi/agent/models.json`,
    JSON.stringify({ providers: { scripted: provider } }),
  );
  await Deno.mkdir(`${userHome}/.config/opencode`, { recursive: true });
  await Deno.writeTextFile(
    `${userHome}/.config/opencode/opencode.json`,
    JSON.stringify({
      model: "scripted/m",
      small_model: "scripted/m",
      provider: { scripted },
    }),
  );
}

/** The whole environment: what finds programs, and the model's address for every agent. */
function environment(
  base: string,
  userHome: string,
  origin: string,
): Record<string, string> {
  const { PATH = "/usr/local/bin:/usr/bin:/bin" } = inheritedEnvironment();
  return {
    PATH,
    HOME: userHome,
    TMPDIR: `${base}/tmp`,
    LANG: "C.UTF-8",
    HTTP_PROXY: NOWHERE,
    HTTPS_PROXY: NOWHERE,
    NO_PROXY: "127.0.0.1,localhost",
    npm_config_registry: NOWHERE,
    // OpenCode installs types beside a plugin and waits for it to fail.
    npm_config_fetch_retries: "0",
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: "scripted",
    IS_SANDBOX: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    SCRIPTED_KEY: "scripted",
    PI_OFFLINE: "1",
    CLINE_TELEMETRY_DISABLED: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
}
