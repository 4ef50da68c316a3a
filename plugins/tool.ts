/**
 * The one shape that every source of tools emits: a plugin's script, a native library, a host's own function.
 *
 * @module
 */

import { quote } from "./_text.ts";

/** A JSON Schema object as plain data. */
export interface JsonSchema {
  /** Any keyword of the schema. */
  readonly [keyword: string]: unknown;
}

/** Text for the model. */
export interface TextContent {
  /** The kind of content. */
  type: "text";
  /** The text. */
  text: string;
}

/** A picture or a sound as base64. */
export interface MediaContent {
  /** The kind of content. */
  type: "image" | "audio";
  /** The bytes as base64. */
  data: string;
  /** The media type, such as `image/png`. */
  mimeType: string;
}

/** A resource that travels inside the result. */
export interface ResourceContent {
  /** The kind of content. */
  type: "resource";
  /** The resource: its address and either text or base64 bytes. */
  resource: { uri: string; mimeType?: string; text?: string; blob?: string };
}

/** One piece of a tool's answer, in the shape the Model Context Protocol gives it. */
export type McpContent = TextContent | MediaContent | ResourceContent;

/** How one call ended, for hosts and logs; the model sees only the content. */
export interface ToolCallDetails {
  /** The exit code, or `null` when a signal ended the process or none was started. */
  exitCode: number | null;
  /** The signal that ended the process. */
  signal: string | null;
  /** True when the deadline ended the call. */
  timedOut: boolean;
  /** True when the caller's signal ended the call. */
  aborted: boolean;
  /** Which streams were cut at the cap. */
  truncated: { stdout: boolean; stderr: boolean };
  /** Wall time of the call in milliseconds. */
  durationMs: number;
  /** What the process wrote to stderr, cut at the cap. */
  stderr: string;
  /** The isolation the call ran under, `none` when nothing was started. */
  isolation: "bubblewrap" | "landlock" | "none";
}

/** The answer of one tool call. */
export interface ToolResult {
  /** What the model gets to see. */
  content: McpContent[];
  /** True when the call failed. */
  isError?: boolean;
  /** The answer as data, for tools that give one. */
  structuredContent?: Record<string, unknown>;
  /** How the call ended. */
  details?: ToolCallDetails;
}

/** Hints about a tool, as the Model Context Protocol names them. */
export interface ToolAnnotations {
  /** A title for people. */
  title?: string;
  /** The tool changes nothing. */
  readOnlyHint?: boolean;
  /** The tool may destroy something. */
  destructiveHint?: boolean;
  /** Calling twice does the same as calling once. */
  idempotentHint?: boolean;
  /** The tool talks to the world outside. */
  openWorldHint?: boolean;
}

/** Where a tool comes from. */
export interface ToolSource {
  /** The declared name of the plugin. */
  plugin: string;
  /** The declared name of the tool. */
  tool: string;
  /** The declared version of the plugin. */
  version: string;
  /** The content hash of the plugin, `sha256:…`, or the empty string for tools without one. */
  hash: string;
  /** The directory of the plugin, or the empty string for tools without one. */
  dir: string;
}

/** What a caller may say about one call. */
export interface ToolCallContext {
  /** Ends the call: the whole process tree is killed. */
  signal?: AbortSignal;
  /**
   * The working directory of the call.
   *
   * @default the workspace the tool was loaded for
   */
  cwd?: string;
  /**
   * A tighter deadline than the tool's own, in milliseconds.
   *
   * @default the tool's own
   */
  timeoutMs?: number;
  /** The harness's own id of the call. */
  toolCallId?: string;
  /** Gets what the tool has said so far. */
  onUpdate?: (partial: ToolResult) => void;
}

/**
 * A tool that a model can call.
 *
 * `execute` answers with `isError` when the call fails; it throws only for mistakes of the host.
 */
export interface Tool {
  /** The name on the wire: `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  /** A title for people. */
  readonly title?: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** The schema on the wire: root `type: "object"`, no combinators at the top. */
  readonly inputSchema: JsonSchema;
  /** Hints about the tool. */
  readonly annotations?: ToolAnnotations;
  /** Where the tool comes from. */
  readonly source: ToolSource;
  /** Runs the tool once. */
  execute(args: unknown, context?: ToolCallContext): Promise<ToolResult>;
}

/** What {@linkcode ToolRegistry.add} did. */
export interface AddedTool {
  /** True when the tool is now in the registry. */
  added: boolean;
  /** Why it is not, naming both tools. */
  warning?: string;
}

/** Options of {@linkcode ToolRegistry}. */
export interface ToolRegistryOptions {
  /**
   * Names that no tool may take, such as the built-in tools of the host.
   *
   * @default {[]}
   */
  reserved?: readonly string[];
}

/**
 * The tools a host offers, by name, in the order they were added. The first tool of a name stays.
 *
 * @example One source of truth for names
 * ```ts
 * import { textResult, type Tool, ToolRegistry } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const hello: Tool = {
 *   name: "hello",
 *   description: "Says hello",
 *   inputSchema: { type: "object" },
 *   source: { plugin: "host", tool: "hello", version: "1.0.0", hash: "", dir: "" },
 *   execute: () => Promise.resolve(textResult("hello")),
 * };
 * const registry = new ToolRegistry();
 * assertEquals(registry.add(hello).added, true);
 * assertEquals(registry.add(hello).added, false);
 * assertEquals(registry.get("hello"), hello);
 * ```
 */
export class ToolRegistry implements Iterable<Tool> {
  readonly #tools = new Map<string, Tool>();
  readonly #reserved: ReadonlySet<string>;

  /**
   * Creates an empty registry.
   *
   * @param options Names to keep free.
   */
  constructor(options: ToolRegistryOptions = {}) {
    this.#reserved = new Set(options.reserved ?? []);
  }

  /** The number of tools. */
  get size(): number {
    return this.#tools.size;
  }

  /**
   * Adds a tool unless its name is taken or reserved.
   *
   * @param tool The tool to add.
   * @returns Whether it was added, and otherwise a line that names both sides of the clash.
   */
  add(tool: Tool): AddedTool {
    if (this.#reserved.has(tool.name)) {
      return {
        added: false,
        warning: `${
          describe(tool)
        } skipped: the name "${tool.name}" is reserved by the host`,
      };
    }
    const holder = this.#tools.get(tool.name);
    if (holder !== undefined) {
      return {
        added: false,
        warning: `${
          describe(tool)
        } skipped: the name "${tool.name}" is taken by ${describe(holder)}`,
      };
    }
    this.#tools.set(tool.name, tool);
    return { added: true };
  }

  /**
   * Looks a tool up.
   *
   * @param name The name on the wire.
   * @returns The tool, or `undefined` when there is none.
   */
  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /**
   * All tools.
   *
   * @returns The tools in the order they were added.
   */
  list(): Tool[] {
    return [...this.#tools.values()];
  }

  /**
   * Iterates over the tools.
   *
   * @returns The tools in the order they were added.
   */
  [Symbol.iterator](): Iterator<Tool> {
    return this.#tools.values();
  }
}

/**
 * A result that is one text.
 *
 * @param text The text.
 * @param isError Whether the call failed.
 * @returns The result.
 *
 * @example A failed call
 * ```ts
 * import { resultText, textResult } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const result = textResult("no such city", true);
 * assertEquals(result.isError, true);
 * assertEquals(resultText(result), "no such city");
 * ```
 */
export function textResult(text: string, isError = false): ToolResult {
  const result: ToolResult = { content: [{ type: "text", text }] };
  if (isError) result.isError = true;
  return result;
}

/**
 * The text of a result: its text pieces, one after the other.
 *
 * @param result The result.
 * @returns The joined text.
 *
 * @example Text and a picture
 * ```ts
 * import { resultText } from "@bulkhead/plugins";
 * import { assertEquals } from "@std/assert";
 *
 * const image = { type: "image", data: "", mimeType: "image/png" } as const;
 * assertEquals(resultText({ content: [{ type: "text", text: "a map: " }, image] }), "a map: ");
 * ```
 */
export function resultText(result: ToolResult): string {
  return result.content.map((part) => part.type === "text" ? part.text : "")
    .join("");
}

function describe(tool: Tool): string {
  const { plugin, tool: name } = tool.source;
  return `tool ${quote(name)} of plugin ${quote(plugin)}`;
}
