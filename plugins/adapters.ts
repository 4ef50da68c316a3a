/**
 * The same tool for other agent frameworks.
 *
 * Everything here is structural: no framework is imported. Where one insists on building its own objects, its
 * function is handed in. The Model Context Protocol and the Claude Agent SDK are served by `@bulkhead/plugins/serve`.
 *
 * @module
 */
import {
  type JsonSchema,
  resultText,
  type Tool,
  type ToolResult,
} from "./tool.ts";

/** A failed tool call, for frameworks that want failures thrown. The message is what the tool said. */
export class ToolFailedError extends Error {
  /** The whole result. */
  readonly result: ToolResult;

  /**
   * Constructs an error from a failed result.
   *
   * @param result The result.
   */
  constructor(result: ToolResult) {
    super(resultText(result));
    this.name = "ToolFailedError";
    this.result = result;
  }
}

/** What the AI SDK hands to a call. */
export interface AiSdkCallOptions {
  /** The id of the call. */
  toolCallId: string;
  /** Ends the call. */
  abortSignal?: AbortSignal;
}

/** A piece of a result as the AI SDK sends it to a model. */
export type AiSdkContent =
  | {
    /** The kind of the piece. */
    type: "text";
    /** The text. */
    text: string;
  }
  | {
    /** The kind of the piece. */
    type: "media";
    /** The bytes as base64. */
    data: string;
    /** The media type. */
    mediaType: string;
  };

/** A tool for the `tools` record of the AI SDK, version 6. */
export interface AiSdkTool<Schema> {
  /** Its types are known at run time only. */
  type: "dynamic";
  /** What the tool does, for the model. */
  description: string;
  /** A title for people. */
  title?: string;
  /** The schema in the SDK's own form. */
  inputSchema: Schema;
  /** Runs the tool; partial results come first. Throws {@linkcode ToolFailedError} for a failed call. */
  execute(
    input: unknown,
    options: AiSdkCallOptions,
  ): AsyncGenerator<ToolResult, void, undefined>;
  /** What the model gets to see. */
  toModelOutput(
    options: { output: unknown },
  ): { type: "content"; value: AiSdkContent[] };
}

/** The one function of the AI SDK that is needed. */
export interface AiSdk<Schema> {
  /** `jsonSchema` of the package `ai`. */
  jsonSchema(schema: object): Schema;
}

/**
 * Tools for `generateText` and `streamText` of the AI SDK 6.
 *
 * @param tools The tools.
 * @param sdk The package `ai`, or an object with its `jsonSchema`.
 * @returns The record for the option `tools`.
 *
 * @example Usage
 * ```ts
 * import { textResult, toAiSdkTools, type Tool } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const hello: Tool = {
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * };
 * // In a program: import * as ai from "ai"; generateText({ model, tools: toAiSdkTools(registry, ai) })
 * const tools = toAiSdkTools([hello], { jsonSchema: (schema) => schema });
 * assertEquals(Object.keys(tools), ["hello"]);
 * ```
 */
export function toAiSdkTools<Schema>(
  tools: Iterable<Tool>,
  sdk: AiSdk<Schema>,
): Record<string, AiSdkTool<Schema>> {
  return Object.fromEntries(Array.from(tools, (tool) => [tool.name, {
    type: "dynamic" as const,
    description: tool.description,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    inputSchema: sdk.jsonSchema(tool.inputSchema),
    execute: (input: unknown, options: AiSdkCallOptions) =>
      runWithUpdates(tool, input, options),
    toModelOutput: ({ output }: { output: unknown }) => ({
      type: "content" as const,
      value: isToolResult(output) ? output.content.flatMap(toAiSdkContent) : [],
    }),
  }]));
}

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
  /** Runs the tool. Throws {@linkcode ToolFailedError} for a failed call. */
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
  /** Runs the tool. Throws {@linkcode ToolFailedError} for a failed call. */
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
      errorFunction: (_context, error) =>
        error instanceof Error ? error.message : String(error),
    }));
}

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
  /** Runs the tool. Throws {@linkcode ToolFailedError} for a failed call. */
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
 * @param zod zod 4, or an object with its `fromJSONSchema`.
 * @returns The options of each tool: `toMastraTools(registry, z).map((options) => createTool(options))`.
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

async function* runWithUpdates(
  tool: Tool,
  input: unknown,
  options: AiSdkCallOptions,
): AsyncGenerator<ToolResult, void, undefined> {
  let latest: ToolResult | undefined;
  let wake = Promise.withResolvers<void>();
  const finished = tool.execute(input, {
    toolCallId: options.toolCallId,
    ...(options.abortSignal === undefined
      ? {}
      : { signal: options.abortSignal }),
    onUpdate(partial) {
      latest = partial;
      wake.resolve();
    },
  });
  // Only the newest partial result is kept, so that a slow reader holds up nothing.
  let done = false;
  finished.then(() => {}, () => {}).then(() => {
    done = true;
    wake.resolve();
  });
  while (!done) {
    await wake.promise;
    wake = Promise.withResolvers<void>();
    if (done || latest === undefined) continue;
    const partial = latest;
    latest = undefined;
    yield partial;
  }
  yield orThrow(await finished);
}

function orThrow(result: ToolResult): ToolResult {
  if (result.isError) throw new ToolFailedError(result);
  return result;
}

function toAiSdkContent(part: ToolResult["content"][number]): AiSdkContent[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  if (part.type === "resource") {
    return part.resource.text === undefined
      ? []
      : [{ type: "text", text: part.resource.text }];
  }
  return [{ type: "media", data: part.data, mediaType: part.mimeType }];
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

function isToolResult(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null && "content" in value &&
    Array.isArray(value.content);
}
