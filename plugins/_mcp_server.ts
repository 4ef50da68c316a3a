/**
 * What a server of the Model Context Protocol answers: the list of a registry's tools and their calls. How messages come
 * and go is `serve.ts`.
 *
 * @module
 */
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import {
  callServedTool,
  servedTools,
  toMcpDefinition,
} from "./_served_tools.ts";
import type { Tool } from "./tool.ts";

/** What a server says about itself and how it behaves. */
export interface McpServerOptions {
  /**
   * The name of the server.
   *
   * @default {"bulkhead"}
   */
  name?: string;
  /**
   * The version of the server.
   *
   * @default {"0.1.0"}
   */
  version?: string;
  /** Advice for the model on when to use these tools. */
  instructions?: string;
  /**
   * The working directory of every call.
   *
   * @default the workspace each tool was loaded for
   */
  cwd?: string;
  /** Gets one line for each thing that a person should know; never part of the protocol. */
  onNotice?: (line: string) => void;
}

/**
 * Makes a server that lists and calls the tools.
 *
 * @param tools The tools; looked at anew for every request.
 * @param options What the server says about itself.
 * @returns The server, not connected yet, and what waits for the calls in flight.
 */
export function makeServer(
  tools: Iterable<Tool>,
  options: McpServerOptions,
): { server: Server; settled: () => Promise<void> } {
  const inFlight = new Set<Promise<unknown>>();
  const server = new Server(
    { name: options.name ?? "bulkhead", version: options.version ?? "0.1.0" },
    {
      capabilities: { tools: { listChanged: true } },
      ...(options.instructions === undefined
        ? {}
        : { instructions: options.instructions }),
    },
  );
  server.onerror = (error) => options.onNotice?.(`mcp: ${error.message}`);
  server.setRequestHandler(ListToolsRequestSchema, () => {
    const served = servedTools(tools);
    for (const warning of served.warnings) {
      options.onNotice?.(`warning: ${warning}`);
    }
    return {
      tools: [...served.tools].map(([name, tool]) =>
        toMcpDefinition(name, tool)
      ),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const served = servedTools(tools).tools;
    const tool = served.get(request.params.name);
    if (tool === undefined) {
      throw new McpError(
        ErrorCode.InvalidParams,
        unknownTool(request.params.name, served),
      );
    }
    const token = extra._meta?.progressToken;
    const id = extra._meta?.["claudecode/toolUseId"];
    const call = callServedTool(
      tool,
      request.params.arguments ?? {},
      {
        signal: extra.signal,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        toolCallId: typeof id === "string" ? id : String(extra.requestId),
      },
      token === undefined ? undefined : (progress, message) => {
        // A client that has gone is noticed elsewhere.
        extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken: token, progress, message },
        }).catch(() => {});
      },
    );
    inFlight.add(call);
    try {
      return await call;
    } finally {
      inFlight.delete(call);
    }
  });
  return {
    server,
    async settled() {
      await Promise.allSettled([...inFlight]);
    },
  };
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): string {
  const known = [...tools.keys()].slice(0, 20).map((other) => `"${other}"`)
    .join(", ");
  return `Unknown tool "${name}": ${
    known === "" ? "no tool is loaded" : `there are ${known}`
  }`;
}
