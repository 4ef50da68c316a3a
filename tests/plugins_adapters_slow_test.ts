/**
 * Every adapter inside the real package it is for.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { textResult, type Tool } from "@bulkhead/plugins";
import { toClaudeAgentServer } from "@bulkhead/plugins/serve";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";

const ADAPTERS = fromFileUrl(new URL("./fixtures/adapters/", import.meta.url));

/** Runs the tests of a file that imports packages which nothing else here needs. */
async function testWithPackages(file: string, passed: string): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-A",
      "--no-config",
      "--no-lock",
      `--import-map=${ADAPTERS}import_map.json`,
      `${ADAPTERS}${file}`,
    ],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stdout) +
    new TextDecoder().decode(stderr);
  assert(success, said);
  assertStringIncludes(said, passed);
}

Deno.test("adapters work in the AI SDK, the OpenAI Agents SDK, pi and Mastra", () =>
  testWithPackages("adapters.ts", "5 passed"));

Deno.test("arguments are judged as another validator judges them", () =>
  testWithPackages("schemas.ts", "1 passed"));

const claude = await findHarness("claude");
Deno.test({
  name: "toClaudeAgentServer() works in query() of the Claude Agent SDK",
  ignore: claude === undefined,
  // The SDK leaves listeners of its own behind.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          calls: [{
            do: "tool",
            name: "plugin__demo__greet",
            input: { name: "Ada" },
            id: "greet",
          }],
        },
        {
          calls: [{
            do: "tool",
            name: "plugin__demo__greet",
            input: { name: "nobody" },
            id: "nobody",
          }],
        },
        { text: "done" },
      ],
    });
    const calls: unknown[] = [];
    const tool: Tool = {
      name: "plugin__demo__greet",
      description: "Greets somebody",
      inputSchema: { type: "object", properties: { name: { type: "string" } } },
      source: {
        plugin: "demo",
        tool: "greet",
        version: "1.0.0",
        hash: "",
        dir: "",
      },
      execute(args) {
        calls.push(args);
        const name = typeof args === "object" && args !== null && "name" in args
          ? String(args.name)
          : "";
        return Promise.resolve(
          name === "nobody"
            ? textResult("nobody is there", true)
            : textResult(`Hello, ${name}!`),
        );
      },
    };
    const sdk = await import(await claudeAgentSdk(world.outside));
    const results: string[] = [];
    for await (
      const message of sdk.query({
        prompt: "greet",
        options: {
          cwd: world.workspace,
          env: world.env,
          pathToClaudeCodeExecutable: claude,
          mcpServers: { bulkhead: toClaudeAgentServer([tool]) },
          allowedTools: ["mcp__bulkhead"],
          strictMcpConfig: true,
        },
      })
    ) if (message.type === "result") results.push(message.result);
    assertEquals(results, ["done"]);
    assertEquals(calls, [{ name: "Ada" }, {
      name: "nobody",
    }]);
    assertStringIncludes(
      world.model.result("greet")?.content ?? "",
      "Hello, Ada!",
    );
    assertEquals(world.model.result("nobody")?.isError, true);
  },
});

/**
 * Unpacks the SDK's own code. A dependency would bring a second Claude Code of several hundred megabytes along; this
 * test runs the pinned one.
 */
async function claudeAgentSdk(dir: string): Promise<string> {
  const run = async (command: string, args: string[]) => {
    const { success, stderr } = await new Deno.Command(command, {
      args,
      cwd: dir,
    }).output();
    assert(
      success,
      `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`,
    );
  };
  await run("npm", [
    "pack",
    "--silent",
    "@anthropic-ai/claude-agent-sdk@0.3.332",
  ]);
  await run("tar", ["-xzf", "anthropic-ai-claude-agent-sdk-0.3.332.tgz"]);
  return `file://${dir}/package/sdk.mjs`;
}
