/**
 * A registry of tools as a server of the Model Context Protocol: over stdio for any client, or over the pipes of a
 * host that carries the messages itself.
 *
 * What has to do with the protocol's SDK is behind this module alone; `@bulkhead/plugins` itself stays light.
 *
 * @example A session in memory
 * ```ts
 * import { textResult, ToolRegistry } from "@bulkhead/plugins";
 * import { openMcpSession } from "@bulkhead/plugins/serve";
 * import { assertEquals } from "@std/assert";
 *
 * const registry = new ToolRegistry();
 * registry.add({
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * });
 * const answers: unknown[] = [];
 * const answered = Promise.withResolvers<void>();
 * const session = await openMcpSession(registry, {
 *   send(message) {
 *     answers.push(message);
 *     answered.resolve();
 *   },
 * });
 * session.receive({ jsonrpc: "2.0", id: 1, method: "ping" });
 * await answered.promise;
 * assertEquals(answers, [{ jsonrpc: "2.0", id: 1, result: {} }]);
 * await session.close();
 * ```
 *
 * @module
 */
// The wildcard of the package's exports finds the code under "x.js" and the types under "x".
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  JSONRPCMessageSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { readLines } from "@bulkhead/sandbox";
import { parseMessage } from "./_exact_json.ts";
import { makeServer, type McpServerOptions } from "./_mcp_server.ts";
import type { Tool } from "./tool.ts";

export type { McpServerOptions } from "./_mcp_server.ts";

/** The side of a session that the host carries messages for. */
export interface McpSessionOptions extends McpServerOptions {
  /** Takes a message to the client. */
  send: (message: unknown) => void | Promise<void>;
}

/** One client of the registry. */
export interface McpSession {
  /**
   * Takes a message from the client. What is no message of the protocol is answered with an error.
   *
   * @param message The message as parsed JSON.
   */
  receive(message: unknown): void;
  /** Tells the client that the registry has changed. */
  toolsChanged(): Promise<void>;
  /** Ends the session: calls in flight are ended and waited for. */
  close(): Promise<void>;
}

/** Options of {@linkcode serveTools}. */
export interface ServeOptions extends McpServerOptions {
  /**
   * Where the client's messages come from.
   *
   * @default {Deno.stdin.readable}
   */
  input?: ReadableStream<Uint8Array>;
  /**
   * Where the answers go; nothing but protocol is ever written there.
   *
   * @default {Deno.stdout.writable}
   */
  output?: WritableStream<Uint8Array>;
  /** Ends the server. */
  signal?: AbortSignal;
  /** Gets the session once it is open, to announce changes with. */
  onSession?: (session: McpSession) => void;
}

/** A server object as hosts that embed one expect it, such as the Claude Agent SDK. */
export interface McpServerInstance {
  /**
   * Connects the server to a transport of the protocol's SDK.
   *
   * @param transport The transport.
   */
  connect(transport: object): Promise<void>;
  /** Ends the connection: calls in flight are ended and waited for. */
  close(): Promise<void>;
}

/** A server entry for the `mcpServers` of the Claude Agent SDK. */
export interface ClaudeAgentServer {
  /** The kind of the server: it lives in the host's process. */
  type: "sdk";
  /** The name of the server; tools appear as `mcp__<name>__<tool>`. */
  name: string;
  /** The server itself. */
  instance: McpServerInstance;
}

/** The longest line of a client. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Serves a registry over stdio until the input ends.
 *
 * Needs no permission of its own; each call needs what its tool needs.
 *
 * @param tools The tools, such as a `ToolRegistry`; looked at anew for every request.
 * @param options The streams and what the server says about itself.
 * @returns When the input has ended and every call in flight has been ended.
 *
 * @example One request
 * ```ts
 * import { ToolRegistry } from "@bulkhead/plugins";
 * import { serveTools } from "@bulkhead/plugins/serve";
 * import { assertEquals } from "@std/assert";
 *
 * const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
 * const answers = new TransformStream<Uint8Array, Uint8Array>();
 * const served = serveTools(new ToolRegistry(), {
 *   input: new Blob([ping]).stream(),
 *   output: answers.writable,
 * }).then(() => answers.writable.close());
 * const text = await new Response(answers.readable).text();
 * await served;
 * assertEquals(text, '{"result":{},"jsonrpc":"2.0","id":1}\n');
 * ```
 */
export async function serveTools(
  tools: Iterable<Tool>,
  options: ServeOptions = {},
): Promise<void> {
  const input = options.input ?? Deno.stdin.readable;
  const writer = (options.output ?? Deno.stdout.writable).getWriter();
  const encoder = new TextEncoder();
  const ended = Promise.withResolvers<void>();
  options.signal?.addEventListener("abort", () => ended.resolve(), {
    once: true,
  });
  if (options.signal?.aborted) ended.resolve();
  const session = await openMcpSession(tools, {
    ...options,
    async send(message) {
      try {
        await writer.write(encoder.encode(JSON.stringify(message) + "\n"));
      } catch {
        // The client has closed its end: nothing more can be said.
        ended.resolve();
      }
    },
  });
  options.onSession?.(session);
  const lines = readLines(input, { maxLineBytes: MAX_LINE_BYTES });
  const reading = (async () => {
    for await (const line of lines) {
      const message = line.truncated ? undefined : parseLine(line.bytes);
      if (message !== null) session.receive(message);
    }
  })();
  await Promise.race([reading.catch(() => {}), ended.promise]);
  // Answers that need no tool, such as a list, are written within this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  await session.close();
  writer.releaseLock();
}

/**
 * Opens a session for a host that carries the messages itself.
 *
 * @param tools The tools, such as a `ToolRegistry`; looked at anew for every request.
 * @param options Where messages go and what the server says about itself.
 * @returns The session.
 *
 * @example The messages are the host's
 * ```ts
 * import { ToolRegistry } from "@bulkhead/plugins";
 * import { openMcpSession } from "@bulkhead/plugins/serve";
 * import { assertEquals } from "@std/assert";
 *
 * const answered = Promise.withResolvers<unknown>();
 * const session = await openMcpSession(new ToolRegistry(), { send: answered.resolve });
 * session.receive({ jsonrpc: "2.0", id: 1, method: "ping" });
 * assertEquals(await answered.promise, { jsonrpc: "2.0", id: 1, result: {} });
 * await session.close();
 * ```
 */
export async function openMcpSession(
  tools: Iterable<Tool>,
  options: McpSessionOptions,
): Promise<McpSession> {
  const { server, settled } = makeServer(tools, options);
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => {
      transport.onclose?.();
      return Promise.resolve();
    },
    async send(message) {
      await options.send(message);
    },
  };
  await server.connect(transport);
  return {
    receive(message) {
      const parsed = JSONRPCMessageSchema.safeParse(message);
      if (parsed.success) {
        transport.onmessage?.(parsed.data);
        return;
      }
      const code = message === undefined
        ? ErrorCode.ParseError
        : ErrorCode.InvalidRequest;
      const text = message === undefined
        ? "the line is no JSON"
        : "the message is no JSON-RPC message";
      options.onNotice?.(`mcp: ${text}`);
      void options.send({
        jsonrpc: "2.0",
        id: idOf(message),
        error: { code, message: text },
      });
    },
    toolsChanged: () => server.sendToolListChanged(),
    async close() {
      await server.close();
      await settled();
    },
  };
}

/**
 * Makes a server that a host connects to a transport of its own.
 *
 * @param tools The tools, such as a `ToolRegistry`; looked at anew for every request.
 * @param options What the server says about itself.
 * @returns The server.
 *
 * @example A server for any transport of the SDK
 * ```ts
 * import { ToolRegistry } from "@bulkhead/plugins";
 * import { createMcpServer } from "@bulkhead/plugins/serve";
 * import { assertEquals } from "@std/assert";
 *
 * const server = createMcpServer(new ToolRegistry(), { name: "tools" });
 * assertEquals(typeof server.connect, "function");
 * await server.close();
 * ```
 */
export function createMcpServer(
  tools: Iterable<Tool>,
  options: McpServerOptions = {},
): McpServerInstance {
  const { server, settled } = makeServer(tools, options);
  const close = server.close.bind(server);
  return Object.assign(server, {
    async close() {
      await close();
      await settled();
    },
  });
}

/**
 * The registry as a server inside the host's process for the Claude Agent SDK, whose `tool()` takes zod only.
 *
 * @param tools The tools, such as a `ToolRegistry`.
 * @param options What the server says about itself.
 * @returns The entry for `mcpServers`.
 *
 * @example An entry for `mcpServers`
 * ```ts
 * import { ToolRegistry } from "@bulkhead/plugins";
 * import { toClaudeAgentServer } from "@bulkhead/plugins/serve";
 * import { assertEquals } from "@std/assert";
 *
 * // In a program: query({ prompt, options: { mcpServers: { tools: toClaudeAgentServer(registry) } } })
 * const { type, name } = toClaudeAgentServer(new ToolRegistry(), { name: "tools" });
 * assertEquals([type, name], ["sdk", "tools"]);
 * ```
 */
export function toClaudeAgentServer(
  tools: Iterable<Tool>,
  options: McpServerOptions = {},
): ClaudeAgentServer {
  return {
    type: "sdk",
    name: options.name ?? "bulkhead",
    instance: createMcpServer(tools, options),
  };
}

/** The parsed line; `null` for an empty one, `undefined` for what is no JSON. */
function parseLine(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes).trim();
  if (text === "") return null;
  try {
    return parseMessage(text) ?? undefined;
  } catch {
    return undefined;
  }
}

function idOf(message: unknown): string | number | null {
  if (typeof message !== "object" || message === null || !("id" in message)) {
    return null;
  }
  return typeof message.id === "string" || typeof message.id === "number"
    ? message.id
    : null;
}
