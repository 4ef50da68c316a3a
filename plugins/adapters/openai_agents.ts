/**
 * Tools for the OpenAI Agents SDK. The package is not imported: its one function that is needed is handed in.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { type JsonSchema, resultText, type Tool } from "../tool.ts";
import { orThrow } from "./_or_throw.ts";

/** The one function of the OpenAI Agents SDK that is needed. */
export interface OpenAiAgentsSdk<AgentTool> {
  /** `tool` of the package `@openai/agents`. */
  tool(options: OpenAiToolOptions): AgentTool;
}

/** What the OpenAI Agents SDK hands to a call. */
export interface OpenAiCallDetails {
  /** The call of the model. */
  toolCall?: { callId: string };
  /** Ends the call. */
  signal?: AbortSignal;
}

/** What `tool` of the OpenAI Agents SDK gets from us. */
export interface OpenAiToolOptions {
  /** The name for the model. */
  name: string;
  /** What the tool does, for the model. */
  description: string;
  /** The schema of the arguments; open, as the SDK asks of a schema that is not strict. */
  parameters: {
    /** The root of a schema. */
    type: "object";
    /** The arguments. */
    properties: Record<string, JsonSchema>;
    /** The arguments that must be there. */
    required: string[];
    /** Further arguments. */
    additionalProperties: true;
  };
  /** Plain JSON Schemas are not in the strict subset. */
  strict: false;
  /** Runs the tool. Throws `ToolFailedError` for a failed call. */
  execute(
    input: unknown,
    context?: unknown,
    details?: OpenAiCallDetails,
  ): Promise<string>;
  /** What the model gets to see of a failed call. */
  errorFunction(context: unknown, error: unknown): string;
}

/**
 * Tools for agents of the OpenAI Agents SDK.
 *
 * @param tools The tools.
 * @param sdk The package `@openai/agents`, or an object with its `tool`.
 * @returns What the SDK's `tool` makes of each.
 *
 * @example Usage
 * ```ts
 * import { textResult, type Tool, toOpenAiAgentsTools } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const hello: Tool = {
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * };
 * // In a program: import * as agents from "@openai/agents"; new Agent({ tools: toOpenAiAgentsTools(registry, agents) })
 * const [tool] = toOpenAiAgentsTools([hello], { tool: (options) => options });
 * assertEquals(await tool?.execute({}), "hello");
 * ```
 */
export function toOpenAiAgentsTools<AgentTool>(
  tools: Iterable<Tool>,
  sdk: OpenAiAgentsSdk<AgentTool>,
): AgentTool[] {
  return Array.from(tools, (tool) =>
    sdk.tool({
      name: tool.name,
      description: tool.description,
      parameters: toOpenParameters(tool.inputSchema),
      strict: false,
      async execute(input, _context, details) {
        const result = await tool.execute(input, {
          ...(details?.signal === undefined ? {} : { signal: details.signal }),
          ...(details?.toolCall === undefined
            ? {}
            : { toolCallId: details.toolCall.callId }),
        });
        return resultText(orThrow(result));
      },
      errorFunction: (_context, error) => reasonOf(error),
    }));
}

/** A schema that is not strict has to be open for the OpenAI Agents SDK; the tool itself still checks its own. */
function toOpenParameters(schema: JsonSchema): OpenAiToolOptions["parameters"] {
  return {
    properties: {},
    required: [],
    ...schema,
    type: "object",
    additionalProperties: true,
  };
}
