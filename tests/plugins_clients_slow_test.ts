import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { installPlugin, scaffoldPlugin, toolName } from "@bulkhead/plugins";
import { run } from "@bulkhead/sandbox";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";

const CLI = fromFileUrl(new URL("../plugins/cli.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../deno.json", import.meta.url));
/** Long enough that every client's prefix would break the limit of the providers without the served form. */
const LONG = `${"long_tool_name_".repeat(4)}end`;

/** What makes Claude Code and OpenCode drop a tool or a whole server without a word when it is served as it stands. */
const HOSTILE = `
[[tools]]
name = "combined"
description = "Has a combinator at the top of its schema"
command = "./greet.sh"
params = { type = "object", properties = { name = { type = "string" } }, oneOf = [{ required = ["name"] }] }

[[tools]]
name = "${LONG}"
description = "Has a long name"
command = "./greet.sh"

[[tools]]
name = "not.an object"
description = "Has a root that is no object: left out, and only it"
command = "./greet.sh"
params = { type = "string" }
`;

/** Installs a trusted plugin into the pretended user's home and gives the command that serves it. */
async function serveCommand(world: AgentWorld): Promise<string[]> {
  const dir = `${world.outside}/src/demo`;
  await scaffoldPlugin(dir, { language: "shell" });
  const path = `${dir}/plugin.toml`;
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)) + HOSTILE);
  const home = `${world.home}/.bulkhead`;
  await installPlugin(dir, { home, sandbox: "off", ask: () => "always" });
  await Deno.writeTextFile(
    `${home}/config.toml`,
    '[capabilities.plugins]\nenabled = true\nsandbox = "preferred"\n[capabilities.trust]\nenabled = true\n',
  );
  return [
    Deno.execPath(),
    "run",
    "-A",
    "--no-prompt",
    "--cached-only",
    `--config=${CONFIG}`,
    CLI,
    "serve",
    "--home",
    home,
    "--workspace",
    world.workspace,
  ];
}

/** One call of the tool, its result, and the reply. */
const SCRIPT = {
  steps: [
    {
      text: "on it",
      calls: [{
        do: "tool" as const,
        name: "plugin__demo__greet",
        input: { name: "Ada" },
        id: "greet",
      }],
    },
    {
      calls: [{
        do: "tool" as const,
        name: "plugin__demo__combined",
        input: { name: "Bob" },
        id: "combined",
      }],
    },
    {
      calls: [{
        do: "tool" as const,
        name: "plugin__demo__greet",
        input: { nme: "x" },
        id: "wrong",
      }],
    },
    {
      calls: [{
        do: "tool" as const,
        name: toolName({ plugin: "demo", tool: LONG }, { max: 48 }),
        input: { name: "Cyd" },
        id: "long",
      }],
    },
    { text: "done" },
  ],
};

/** Checks what the model got to see. */
function checkConversation(world: AgentWorld): void {
  assertStringIncludes(
    world.model.result("greet")?.content ?? "",
    "Hello, Ada!",
  );
  assertStringIncludes(
    world.model.result("combined")?.content ?? "",
    "Hello, Bob!",
  );
  assertStringIncludes(
    world.model.result("wrong")?.content ?? "",
    "invalid arguments",
  );
  assertStringIncludes(
    world.model.result("long")?.content ?? "",
    "Hello, Cyd!",
  );
  const offered = world.model.requests.flatMap(({ request }) =>
    request.tools.map((tool) => tool.name)
  );
  const ours = [...new Set(offered)].filter((name) =>
    name.includes("plugin__demo__")
  );
  assertEquals(ours.length, 3, ours.join(", "));
  for (const name of ours) {
    assert(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `${name}: ${name.length}`);
  }
  world.model.assertFinished();
}

const claude = await findHarness("claude");
Deno.test({
  name:
    "plugins serve: Claude Code calls the tools; one bad schema costs no other (claude-code#88049)",
  ignore: claude === undefined,
  async fn() {
    await using world = await makeWorld(SCRIPT);
    const [command, ...args] = await serveCommand(world);
    const mcp = JSON.stringify({ mcpServers: { bulkhead: { command, args } } });
    const { stdout, stderr, code } = await run([
      claude!,
      "-p",
      "go",
      "--mcp-config",
      mcp,
      "--strict-mcp-config",
      "--allowedTools",
      "mcp__bulkhead",
    ], { cwd: world.workspace, env: { ...world.env }, timeoutMs: 60_000 });
    assertEquals([code, stdout.trim()], [0, "done"], stderr);
    checkConversation(world);
  },
});

const codex = await findHarness("codex");
Deno.test({
  name: "plugins serve: Codex lists and calls the tools",
  ignore: codex === undefined,
  async fn() {
    await using world = await makeWorld(SCRIPT);
    const [command, ...args] = await serveCommand(world);
    const path = `${world.home}/.codex/config.toml`;
    await Deno.writeTextFile(
      path,
      (await Deno.readTextFile(path)) + [
        "[mcp_servers.bulkhead]",
        `command = ${JSON.stringify(command)}`,
        `args = ${JSON.stringify(args)}`,
        'default_tools_approval_mode = "approve"',
        "[mcp_servers.bulkhead.env]",
        `DENO_DIR = ${JSON.stringify(world.env.DENO_DIR)}`,
        `BULKHEAD_TEST_WORLD = ${
          JSON.stringify(world.env.BULKHEAD_TEST_WORLD)
        }`,
        "",
      ].join("\n"),
    );
    const { stdout, stderr, code } = await run(
      [
        codex!,
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "go",
      ],
      { cwd: world.workspace, env: { ...world.env }, timeoutMs: 60_000 },
    );
    assertEquals(code, 0, stderr + stdout);
    checkConversation(world);
  },
});

const opencode = await findHarness("opencode");
Deno.test({
  name: "plugins serve: OpenCode lists and calls the tools",
  ignore: opencode === undefined,
  async fn() {
    await using world = await makeWorld(SCRIPT);
    const command = await serveCommand(world);
    const path = `${world.home}/.config/opencode/opencode.json`;
    const settings = JSON.parse(await Deno.readTextFile(path));
    settings.mcp = { bulkhead: { type: "local", command, enabled: true } };
    await Deno.writeTextFile(path, JSON.stringify(settings));
    const { stdout, stderr, code } = await run([
      opencode!,
      "run",
      "--format",
      "json",
      "go",
    ], {
      cwd: world.workspace,
      env: { ...world.env },
      timeoutMs: 90_000,
    });
    assertEquals(code, 0, stderr + stdout);
    checkConversation(world);
  },
});
