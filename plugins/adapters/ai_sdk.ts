/**
 * Tools for the AI SDK. The package is not imported: its one function that is needed is handed in.
 *
 * @module
 */
import type { Tool, ToolResult } from "../tool.ts";
import { orThrow } from "./_or_throw.ts";

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
  /** Runs the tool; partial results come first. Throws `ToolFailedError` for a failed call. */
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

function toAiSdkContent(part: ToolResult["content"][number]): AiSdkContent[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  if (part.type === "resource") {
    return part.resource.text === undefined
      ? []
      : [{ type: "text", text: part.resource.text }];
  }
  return [{ type: "media", data: part.data, mediaType: part.mimeType }];
}

function isToolResult(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null && "content" in value &&
    Array.isArray(value.content);
}
