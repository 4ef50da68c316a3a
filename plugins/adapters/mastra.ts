/**
 * Tools for Mastra. Neither it nor zod is imported: the one function that is needed is handed in.
 *
 * @module
 */
import type { Tool, ToolResult } from "../tool.ts";
import { orThrow } from "./_or_throw.ts";

/** Makes a schema of zod out of a JSON Schema: `z.fromJSONSchema`. */
export interface FromJsonSchema<Schema> {
  /** `fromJSONSchema` of zod 4. */
  fromJSONSchema(schema: object | boolean): Schema;
}

/** What Mastra hands to a call as the second argument. */
export interface MastraCallOptions {
  /** Ends the call. */
  abortSignal?: AbortSignal;
  /** What an agent knows of the call. */
  agent?: { toolCallId?: string };
}

/** What `createTool` of Mastra gets from us. */
export interface MastraToolOptions<Schema> {
  /** The name for the model. */
  id: string;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments. */
  inputSchema: Schema;
  /** Runs the tool. Throws `ToolFailedError` for a failed call. */
  execute(
    input: unknown,
    options?: MastraCallOptions,
  ): Promise<{ content: ToolResult["content"] }>;
}

/**
 * Tools for agents of Mastra 1, as what its `createTool` takes.
 *
 * zod does not know every keyword, so the arguments are checked against the tool's own schema again.
 *
 * @param tools The tools.
 * @param zod Zod 4, or an object with its `fromJSONSchema`.
 * @returns The options of each tool: `toMastraTools(registry, z).map((options) => createTool(options))`.
 *
 * @example Usage
 * ```ts
 * import { textResult, toMastraTools, type Tool } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const hello: Tool = {
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * };
 * // In a program: import { z } from "zod"; toMastraTools(registry, z)
 * const [options] = toMastraTools([hello], { fromJSONSchema: (schema) => schema });
 * assertEquals(options?.id, "hello");
 * assertEquals(await options?.execute({}), { content: [{ type: "text", text: "hello" }] });
 * ```
 */
export function toMastraTools<Schema>(
  tools: Iterable<Tool>,
  zod: FromJsonSchema<Schema>,
): MastraToolOptions<Schema>[] {
  return Array.from(tools, (tool) => ({
    id: tool.name,
    description: tool.description,
    inputSchema: zod.fromJSONSchema(tool.inputSchema),
    async execute(input: unknown, options?: MastraCallOptions) {
      const toolCallId = options?.agent?.toolCallId;
      const result = await tool.execute(input, {
        ...(options?.abortSignal === undefined
          ? {}
          : { signal: options.abortSignal }),
        ...(toolCallId === undefined ? {} : { toolCallId }),
      });
      return { content: orThrow(result).content };
    },
  }));
}
