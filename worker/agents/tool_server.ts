/**
 * The host's tools as an MCP server without a process: JSON-RPC messages in, answers out.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { isJsonObject, type JsonObject } from "../frame.ts";
import type { HostTool, ToolSource } from "./driver.ts";
import { RPC_ERRORS } from "./json_rpc.ts";

/** The version of the Model Context Protocol that is spoken. */
const PROTOCOL = "2025-11-25";

/** Serves a {@linkcode ToolSource} to an agent that carries MCP messages over its own pipes. */
export class ToolServer {
  readonly #tools: ToolSource;
  readonly #name: string;
  readonly #cwd: string;
  readonly #running = new Map<string, AbortController>();

  /**
   * Makes a server.
   *
   * @param tools The tools.
   * @param name The server's name.
   * @param cwd The working directory of the calls.
   */
  constructor(tools: ToolSource, name: string, cwd: string) {
    this.#tools = tools;
    this.#name = name;
    this.#cwd = cwd;
  }

  /**
   * Answers one message. Notifications are answered too, because the agent waits for it.
   *
   * @param message The JSON-RPC message, unchecked.
   * @returns The answer.
   */
  async answer(message: unknown): Promise<JsonObject> {
    if (!isJsonObject(message) || typeof message.method !== "string") {
      return failure(
        null,
        RPC_ERRORS.invalidRequest,
        "Cannot read the message: no method",
      );
    }
    const params = isJsonObject(message.params) ? message.params : {};
    if (message.id === undefined) {
      if (message.method === "notifications/cancelled") {
        this.#running.get(String(params.requestId))?.abort();
      }
      return success(0, {});
    }
    const id = message.id;
    switch (message.method) {
      case "initialize":
        return success(id, {
          protocolVersion: typeof params.protocolVersion === "string"
            ? params.protocolVersion
            : PROTOCOL,
          capabilities: { tools: {} },
          serverInfo: { name: this.#name, version: "1" },
        });
      case "ping":
        return success(id, {});
      case "tools/list":
      case "tools/call":
        // Without its tools the session ends, which its host does; the agent only must not wait.
        try {
          await this.#tools.ready;
        } catch (error) {
          const why = reasonOf(error);
          return failure(id, RPC_ERRORS.internal, `There are no tools: ${why}`);
        }
        if (message.method === "tools/call") {
          return await this.#call(id, params);
        }
        return success(id, { tools: [...this.#tools].map(describe) });
      default:
        return failure(
          id,
          RPC_ERRORS.methodNotFound,
          `Unknown method "${message.method}"`,
        );
    }
  }

  /** Ends all running calls. */
  abort(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #call(id: unknown, params: JsonObject): Promise<JsonObject> {
    const name = typeof params.name === "string" ? params.name : "";
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      return failure(id, RPC_ERRORS.invalidParams, `Unknown tool "${name}"`);
    }
    const controller = new AbortController();
    const key = String(id);
    this.#running.set(key, controller);
    const meta = isJsonObject(params._meta) ? params._meta : {};
    const toolCallId = meta["claudecode/toolUseId"];
    try {
      const answer = await tool.execute(params.arguments ?? {}, {
        signal: controller.signal,
        cwd: this.#cwd,
        ...(typeof toolCallId === "string" ? { toolCallId } : {}),
      });
      return success(id, {
        content: answer.content,
        isError: answer.isError === true,
        ...(answer.structuredContent === undefined
          ? {}
          : { structuredContent: answer.structuredContent }),
      });
    } catch (error) {
      const why = reasonOf(error);
      return success(id, {
        content: [{ type: "text", text: `Cannot run "${name}": ${why}` }],
        isError: true,
      });
    } finally {
      this.#running.delete(key);
    }
  }
}

function describe(tool: HostTool): JsonObject {
  return {
    name: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: tool.inputSchema,
    ...(tool.annotations === undefined
      ? {}
      : { annotations: tool.annotations }),
  };
}

function success(id: unknown, result: JsonObject): JsonObject {
  return { jsonrpc: "2.0", id, result };
}

function failure(id: unknown, code: number, message: string): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message } };
}
