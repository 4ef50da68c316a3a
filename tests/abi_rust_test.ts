import { AbiError, loadNativePlugin, NativeHost } from "@bulkhead/abi";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { canRun, command, say } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";

const ignore = !hasTool("cargo") || !await canRun();
const ROOT = fromFileUrl(new URL("..", import.meta.url));

async function cargo(...features: string[]): Promise<string> {
  const target = `${ROOT}.cache/abi/rust${
    features.map((f) => `-${f}`).join("")
  }`;
  await command([
    "cargo",
    "build",
    "--quiet",
    "--offline",
    `--manifest-path=${ROOT}tests/fixtures/abi/rust/Cargo.toml`,
    `--target-dir=${target}`,
    ...features.map((feature) => `--features=${feature}`),
  ]);
  return `${target}/debug/librusty.so`;
}

Deno.test({
  name: "abi rust: a cdylib against the SDK's types loads and passes",
  ignore,
  fn: async () => {
    const plugin = await loadNativePlugin(await cargo(), {
      context: {},
      restart: { backoffMs: [10] },
      actions: { getCliFlag: ({ name }) => ({ value: name === "verbose" }) },
    });
    await using host = new NativeHost();
    host.add(plugin);
    assertEquals([
      plugin.name,
      plugin.registration.priority,
      plugin.registration.platforms,
    ], ["librusty", 60, ["linux", "macos"]]);
    const updates: string[] = [];
    const result = await plugin.callTool("echo", { n: 2n ** 64n }, {
      toolCallId: "c",
      onUpdate: ({ content: [part] }) =>
        updates.push(part?.type === "text" ? part.text : ""),
    });
    assertEquals(updates, ["callback", "inline"]);
    assertEquals(result.content, [{
      type: "text",
      text: 'c {"n":18446744073709551616}',
    }]);
    const cancelled = await assertRejects(
      () => plugin.callTool("wait", {}, { timeoutMs: 50 }),
      AbiError,
      "cancelled",
    );
    assertEquals(cancelled.code, "timeout");
    assertEquals(
      (await assertRejects(
        () => plugin.callTool("panic"),
        AbiError,
        "the tool panicked",
      )).code,
      "tool",
    );
    assertEquals(await say(plugin, "action"), '0 {"value":true}');
    assertEquals(await plugin.runCommand("rusty", "x"), {
      kind: "message",
      text: '{"args":"x","command":"/rusty"}',
    });
    assertEquals(
      await host.beforeAgentStart({ prompt: "p", systemPrompt: "base" }),
      "rust true",
    );
    assertEquals((await host.discoverResources("/w")).skillPaths, [
      "/w/startup",
    ]);
    assertEquals(await plugin.requestProvider("rp", {}), { size: 2 });
    await host.dispatch({
      type: "ToolCall",
      toolCallId: "c",
      toolName: "t",
      params: { q: 1 },
    });
    await host.dispatch({
      type: "ToolResult",
      toolCallId: "c",
      toolName: "t",
      result: [1],
      isError: true,
    });
    await host.dispatch({ type: "SessionStart" });
    assertEquals(
      await say(plugin, "stats"),
      'live=0 events=29 7 {"q":1};30 7 [1] 1;2 7 ',
    );
    const error = await assertRejects(
      () => plugin.callTool("abort"),
      AbiError,
      "crashed (SIGABRT)",
    );
    assertStringIncludes(error.stderrTail ?? "", "planned, unguarded");
    assertEquals(await say(plugin, "stats"), "live=0 events=");
  },
});

Deno.test({
  name: "abi rust: a panic in register is code 70",
  ignore,
  fn: async () => {
    const library = await cargo("panic_in_register");
    const error = await assertRejects(
      () => loadNativePlugin(library),
      AbiError,
      "its register function panicked",
    );
    assertEquals([error.code, error.exitCode], ["register", 70]);
    assertStringIncludes(error.stderrTail ?? "", "planned, in register");
  },
});
