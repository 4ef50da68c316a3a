import { assert, assertEquals } from "@std/assert";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/inMemory"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import {
  createMcpServer,
  openMcpSession,
  serveTools,
  toClaudeAgentServer,
} from "./serve.ts";
import { textResult, type Tool, ToolRegistry } from "./tool.ts";

function tool(
  name: string,
  execute: Tool["execute"],
  extra: Partial<Tool> = {},
): Tool {
  return {
    name,
    description: `Does ${name}`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    source: { plugin: "host", tool: name, version: "1.0.0", hash: "", dir: "" },
    execute,
    ...extra,
  };
}

function registryOf(...tools: Tool[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const each of tools) registry.add(each);
  return registry;
}

const echo = tool(
  "echo",
  (args) => Promise.resolve(textResult(JSON.stringify(args))),
);

/** A client of a server object, both ends in memory. */
async function connect(
  registry: ToolRegistry,
): Promise<{ client: Client; close: () => Promise<void> }> {
  const server = createMcpServer(registry, { instructions: "be kind" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(ours);
  return {
    client,
    async close() {
      await client.close();
      await server.close();
    },
  };
}

Deno.test("createMcpServer() lists the registry's tools with their schemas as they are", async () => {
  const annotated = tool("annotated", echo.execute, {
    title: "A",
    annotations: { readOnlyHint: true },
  });
  const { client, close } = await connect(registryOf(echo, annotated));
  const { tools } = await client.listTools();
  assertEquals(tools.map((each) => [each.name, each.title, each.description]), [
    ["echo", undefined, "Does echo"],
    ["annotated", "A", "Does annotated"],
  ]);
  assertEquals(tools[0]?.inputSchema, {
    type: "object",
    properties: { text: { type: "string" } },
  });
  assertEquals(tools[1]?.annotations, { readOnlyHint: true });
  assertEquals(client.getInstructions(), "be kind");
  await close();
});

Deno.test("names over 64 with the client's prefix never reach a provider (vscode#243602)", async () => {
  const long = "x".repeat(60);
  const source = { version: "1.0.0", hash: "", dir: "" };
  const { client, close } = await connect(registryOf(
    tool(`${long}_a`, () => Promise.resolve(textResult("a")), {
      source: { ...source, plugin: "p", tool: `${long}a` },
    }),
    tool(`${long}_b`, () => Promise.resolve(textResult("b")), {
      source: { ...source, plugin: "p", tool: `${long}b` },
    }),
  ));
  const names = (await client.listTools()).tools.map((each) => each.name);
  assertEquals(new Set(names).size, 2);
  for (const name of names) assert(/^[a-zA-Z0-9_-]{1,48}$/.test(name), name);
  const answers = await Promise.all(
    names.map((name) => client.callTool({ name, arguments: {} })),
  );
  assertEquals(answers.map((answer) => answer.content), [
    [{ type: "text", text: "a" }],
    [{ type: "text", text: "b" }],
  ]);
  await close();
});

Deno.test("names that a client sanitises to one name are kept apart (codex, gemini-cli#602)", async () => {
  const source = { version: "1.0.0", hash: "", dir: "" };
  const make = (name: string) =>
    tool(`plugin__p__${name}`, echo.execute, {
      source: { ...source, plugin: "p", tool: name },
    });
  const { client, close } = await connect(registryOf(make("a-b"), make("a_b")));
  const names = (await client.listTools()).tools.map((each) =>
    each.name.replaceAll("-", "_")
  );
  assertEquals(names.length, 2);
  assertEquals(new Set(names).size, 2);
  await close();
});

Deno.test("a call hands on arguments and gives content, errors and details back", async () => {
  const details = {
    exitCode: 3,
    signal: null,
    timedOut: false,
    aborted: false,
    truncated: { stdout: false, stderr: false },
    durationMs: 1,
    stderr: "secret",
    isolation: "none" as const,
  };
  const { client, close } = await connect(registryOf(
    echo,
    tool(
      "fails",
      () => Promise.resolve({ ...textResult("no", true), details }),
    ),
    tool("throws", () => Promise.reject(new TypeError("broken host"))),
  ));
  assertEquals(
    (await client.callTool({ name: "echo", arguments: { text: "hi" } }))
      .content,
    [
      { type: "text", text: '{"text":"hi"}' },
    ],
  );
  const failed = await client.callTool({ name: "fails" });
  assertEquals(failed.isError, true);
  const { stderr: _, ...rest } = details;
  assertEquals(failed._meta, { "bulkhead/details": rest });
  const thrown = await client.callTool({ name: "throws" });
  assertEquals(thrown.isError, true);
  assertEquals(thrown.content, [{
    type: "text",
    text: 'Cannot call "throws": broken host',
  }]);
  const unknown = await client.callTool({ name: "ecko" }).catch((
    error: Error,
  ) => error.message);
  assert(
    typeof unknown === "string" && unknown.includes('"echo"'),
    String(unknown),
  );
  await close();
});

Deno.test("progress goes to clients that ask for it", async () => {
  const { client, close } = await connect(registryOf(
    tool("slow", (_args, context) => {
      context?.onUpdate?.(textResult("one\nhalf way"));
      return Promise.resolve(textResult("done"));
    }),
  ));
  const seen: unknown[] = [];
  await client.callTool({ name: "slow" }, undefined, {
    onprogress: (progress) => seen.push(progress),
  });
  assertEquals(seen, [{ progress: 1, message: "half way" }]);
  await close();
});

Deno.test("a cancelled call ends its tool, and the next call works (claude-code#44006, qwen-code#11272)", async () => {
  const started = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const { client, close } = await connect(registryOf(
    tool("waits", (_args, context) => {
      started.resolve();
      const answer = Promise.withResolvers<ReturnType<typeof textResult>>();
      context?.signal?.addEventListener("abort", () => {
        aborted.resolve();
        answer.resolve(textResult("aborted", true));
      });
      return answer.promise;
    }),
  ));
  const controller = new AbortController();
  const call = client.callTool({ name: "waits" }, undefined, {
    signal: controller.signal,
  }).catch(() => "cancelled");
  await started.promise;
  controller.abort();
  await aborted.promise;
  assertEquals(await call, "cancelled");
  await close();
});

/** Both ends of a stdio server, in memory. */
function stdio() {
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const output = new TransformStream<Uint8Array, Uint8Array>();
  const writer = input.writable.getWriter();
  const encoder = new TextEncoder();
  const reader = output.readable.pipeThrough(new TextDecoderStream())
    .getReader();
  let rest = "";
  return {
    input: input.readable,
    output: output.writable,
    write: (text: string) => writer.write(encoder.encode(text)),
    end: () => writer.close(),
    async read(): Promise<unknown> {
      while (!rest.includes("\n")) {
        const { value, done } = await reader.read();
        if (done) return undefined;
        rest += value;
      }
      const [line = "", ...more] = rest.split("\n");
      rest = more.join("\n");
      return JSON.parse(line);
    },
    cancel: () => reader.cancel(),
  };
}

Deno.test("serveTools() answers line by line, survives garbage and ends with its input", async () => {
  const pipes = stdio();
  const notices: string[] = [];
  const served = serveTools(registryOf(echo), {
    ...pipes,
    onNotice: (line) => notices.push(line),
  });
  const ask = async (message: object) => {
    await pipes.write(JSON.stringify(message) + "\r\n");
    return await pipes.read();
  };
  await pipes.write("this is no JSON\n\n");
  assertEquals(await pipes.read(), {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32700, message: "the line is no JSON" },
  });
  assertEquals(await ask({ id: 7, hello: true }), {
    jsonrpc: "2.0",
    id: 7,
    error: { code: -32600, message: "the message is no JSON-RPC message" },
  });
  assertEquals(await ask({ jsonrpc: "2.0", id: 1, method: "ping" }), {
    jsonrpc: "2.0",
    id: 1,
    result: {},
  });
  const list = await ask({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  assert(JSON.stringify(list).includes('"echo"'));
  await pipes.end();
  await served;
  assertEquals(notices.length, 2);
  await pipes.cancel();
});

Deno.test("serveTools() still answers what came right before the end of its input", async () => {
  const pipes = stdio();
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const input = new Blob([line]).stream();
  const served = serveTools(registryOf(echo), { input, output: pipes.output });
  assert(JSON.stringify(await pipes.read()).includes('"echo"'));
  await served;
  await pipes.cancel();
});

Deno.test("serveTools() ends calls in flight when its input ends", async () => {
  const pipes = stdio();
  let ended = false;
  const started = Promise.withResolvers<void>();
  const served = serveTools(
    registryOf(tool("waits", (_args, context) => {
      started.resolve();
      const answer = Promise.withResolvers<ReturnType<typeof textResult>>();
      context?.signal?.addEventListener("abort", () => {
        ended = true;
        answer.resolve(textResult("aborted", true));
      });
      return answer.promise;
    })),
    pipes,
  );
  await pipes.write(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "waits" },
    }) + "\n",
  );
  await started.promise;
  await pipes.end();
  await served;
  assertEquals(ended, true);
  await pipes.cancel();
});

Deno.test("toolsChanged() tells the client, and the next list is the new one", async () => {
  const registry = registryOf(echo);
  const sent: unknown[] = [];
  const session = await openMcpSession(registry, {
    send: (message) => void sent.push(message),
  });
  registry.add(tool("later", echo.execute));
  await session.toolsChanged();
  assertEquals(sent, [{
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
  }]);
  await session.close();
});

Deno.test("toClaudeAgentServer() is an entry for mcpServers", async () => {
  const server = toClaudeAgentServer(registryOf(echo), { name: "tools" });
  assertEquals([server.type, server.name], ["sdk", "tools"]);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.instance.connect(theirs);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(ours);
  assertEquals((await client.listTools()).tools.length, 1);
  await client.close();
  await server.instance.close();
});
