/**
 * Tools for pi. They are plain objects, so nothing of it is imported.
 *
 * @module
 */
import type { JsonSchema, Tool, ToolResult } from "../tool.ts";
import { orThrow } from "./_or_throw.ts";

/** A tool of pi's agent core; also what `registerTool` of a pi extension takes. */
export interface PiTool {
  /** The name for the model. */
  name: string;
  /** The name for people. */
  label: string;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments. */
  parameters: JsonSchema;
  /** Runs the tool. Throws `ToolFailedError` for a failed call. */
  execute(
    toolCallId: string,
    params: unknown,
    signal?: AbortSignal,
    onUpdate?: (partial: PiToolResult) => void,
  ): Promise<PiToolResult>;
}

/** The result of a pi tool. */
export interface PiToolResult {
  /** What the model gets to see. */
  content: PiContent[];
  /** How the call ended, for logs. */
  details: ToolResult["details"] | null;
}

/** A piece of a result as pi takes it. */
export type PiContent =
  | {
    /** The kind of the piece. */
    type: "text";
    /** The text. */
    text: string;
  }
  | {
    /** The kind of the piece. */
    type: "image";
    /** The bytes as base64. */
    data: string;
    /** The media type. */
    mimeType: string;
  };

/**
 * Tools for the agent core of pi and for its extensions.
 *
 * @param tools The tools.
 * @returns pi's tool objects.
 *
 * @example Usage
 * ```ts
 * import { textResult, type Tool, toPiTools } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const hello: Tool = {
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * };
 * // In an extension: for (const tool of toPiTools(registry)) pi.registerTool(tool)
 * const [tool] = toPiTools([hello]);
 * const result = await tool?.execute("call-1", {});
 * assertEquals(result?.content, [{ type: "text", text: "hello" }]);
 * ```
 */
export function toPiTools(tools: Iterable<Tool>): PiTool[] {
  return Array.from(tools, (tool) => ({
    name: tool.name,
    label: tool.title ?? tool.name,
    description: tool.description,
    parameters: tool.inputSchema,
    async execute(
      toolCallId: string,
      params: unknown,
      signal?: AbortSignal,
      onUpdate?: (partial: PiToolResult) => void,
    ) {
      const result = await tool.execute(params, {
        toolCallId,
        ...(signal === undefined ? {} : { signal }),
        ...(onUpdate === undefined
          ? {}
          : { onUpdate: (partial) => onUpdate(toPiResult(partial)) }),
      });
      return toPiResult(orThrow(result));
    },
  }));
}

function toPiResult(result: ToolResult): PiToolResult {
  const content = result.content.flatMap((part): PiContent[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "image") {
      return [{ type: "image", data: part.data, mimeType: part.mimeType }];
    }
    return part.type === "resource" && part.resource.text !== undefined
      ? [{ type: "text", text: part.resource.text }]
      : [];
  });
  return { content, details: result.details ?? null };
}
