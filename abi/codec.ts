/**
 * What crosses the border as text: tool arguments with the host context, tool results, events.
 *
 * @module
 */

import type { McpContent } from "@bulkhead/plugins";
import { AbiError } from "./errors.ts";
import {
  EVENT_NAMES,
  type EventName,
  eventTag,
  HOST_CONTEXT_KEY,
  payloadKind,
} from "./codes.ts";
import { isObject, parseJson, stringifyJson } from "./json.ts";

/** What the host tells a tool about where it runs, under `__rpi`. */
export interface HostContext {
  /** The workspace. */
  cwd?: string;
  /** The session. */
  sessionId?: string;
}

/**
 * The text of a call's arguments, with the host context merged in. The host's value wins over one the model sent;
 * `null` becomes an object; arrays and scalars are left alone; without a context the key is absent.
 *
 * @param args The arguments: a value, or {@linkcode JsonText}.
 * @param context The host context.
 * @returns JSON text.
 *
 * @example Integers stay intact
 * ```ts
 * import { JsonText } from "@bulkhead/abi";
 * import { encodeArguments } from "./codec.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = encodeArguments(new JsonText('{"id":12345678901234567890,"__rpi":1}'), { cwd: "/w" });
 * assertEquals(text, '{"id":12345678901234567890,"__rpi":{"cwd":"/w"}}');
 * ```
 */
export function encodeArguments(
  args: unknown,
  context: HostContext = {},
): string {
  try {
    return encode(args, context);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AbiError(
      "protocol",
      "Cannot pass the arguments: they are nested too deeply",
      { cause: error },
    );
  }
}

function encode(args: unknown, context: HostContext): string {
  const value = args instanceof JsonText ? parseJson(args.text) : args ?? null;
  const host: Record<string, string> = {};
  if (context.cwd !== undefined) host.cwd = context.cwd;
  if (context.sessionId !== undefined) host.sessionId = context.sessionId;
  const known = Object.keys(host).length > 0;
  if (value === null) {
    return stringifyJson(known ? { [HOST_CONTEXT_KEY]: host } : {});
  }
  if (!isObject(value)) return stringifyJson(value);
  // A key the model sent is never the host's word, so it goes even when the host has nothing to say.
  const copy = { ...value };
  delete copy[HOST_CONTEXT_KEY];
  return stringifyJson(known ? { ...copy, [HOST_CONTEXT_KEY]: host } : copy);
}

/**
 * Arguments that are already JSON text; numbers in it reach the plugin as they are written.
 *
 * @example An integer that JavaScript cannot hold
 * ```ts
 * import { JsonText } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * const args = new JsonText('{"id":12345678901234567890}');
 * assertEquals(args.text.includes("12345678901234567890"), true);
 * // await plugin.callTool("find", args);
 * ```
 */
export class JsonText {
  /** The text. */
  readonly text: string;

  /**
   * Wraps JSON text.
   *
   * @param text The text.
   */
  constructor(text: string) {
    this.text = text;
  }
}

/** A tool's answer, decoded. */
export interface NativeToolResult {
  /** What the model gets to see. */
  content: McpContent[];
  /** The answer as data. */
  details?: unknown;
  /** The tool asks the agent to end its turn. */
  terminate?: boolean;
  /** Names of tools the call made available. */
  addedToolNames?: string[];
  /** Token usage, for tools that call a model. */
  usage?: unknown;
}

/**
 * Decodes the JSON a tool gives as progress or result. Lenient: missing fields get defaults, unknown blocks become
 * text, and what is not a result at all is shown as it stands.
 *
 * @param text What the plugin gave.
 * @returns The result.
 *
 * @example Text that is not JSON is shown, not lost
 * ```ts
 * import { decodeToolResult } from "./codec.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(decodeToolResult("plain").content, [{ type: "text", text: "plain" }]);
 * ```
 */
export function decodeToolResult(text: string): NativeToolResult {
  if (text === "") return { content: [] };
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return { content: [{ type: "text", text }] };
  }
  if (typeof value === "string") {
    return { content: [{ type: "text", text: value }] };
  }
  if (!isObject(value)) return { content: [{ type: "text", text }] };
  const result: NativeToolResult = { content: [] };
  if (Array.isArray(value.content)) {
    result.content = value.content.map(decodeBlock);
  } else if (typeof value.content === "string") {
    result.content = [{ type: "text", text: value.content }];
  } else if (value.details === undefined && value.terminate === undefined) {
    result.content = [{ type: "text", text }];
  }
  if (value.details !== undefined && value.details !== null) {
    result.details = value.details;
  }
  if (typeof value.terminate === "boolean") result.terminate = value.terminate;
  if (Array.isArray(value.addedToolNames)) {
    result.addedToolNames = value.addedToolNames.filter((name) =>
      typeof name === "string"
    );
  }
  if (value.usage !== undefined && value.usage !== null) {
    result.usage = value.usage;
  }
  return result;
}

function decodeBlock(block: unknown): McpContent {
  if (typeof block === "string") return { type: "text", text: block };
  if (isObject(block)) {
    if (block.type === "text" && typeof block.text === "string") {
      return { type: "text", text: block.text };
    }
    if (
      (block.type === "image" || block.type === "audio") &&
      typeof block.data === "string" &&
      typeof block.mimeType === "string"
    ) {
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    }
    if (block.type === undefined && typeof block.text === "string") {
      return { type: "text", text: block.text };
    }
  }
  return { type: "text", text: written(block) };
}

function written(block: unknown): string {
  try {
    return stringifyJson(block);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return "(a block that is nested too deeply)";
  }
}

/** One event for the plugins. Which fields count depends on the event's name. */
export interface NativeEvent {
  /** The event. */
  type: EventName;
  /** The message of `MessageStart`, `MessageUpdate` and `MessageEnd`. */
  message?: unknown;
  /** The id of a tool event. */
  toolCallId?: string;
  /** The tool of a tool event. */
  toolName?: string;
  /** The arguments of `ToolCall`, `ToolExecutionStart` and `ToolExecutionUpdate`. */
  params?: unknown;
  /** The result of `ToolResult` and `ToolExecutionEnd`. */
  result?: unknown;
  /** Whether that result is an error. */
  isError?: boolean;
  /** The payload of every other event. */
  data?: unknown;
}

/** An event as it goes over the border. */
export interface EncodedEvent {
  /** The tag. */
  tag: number;
  /** The strings of the payload in order; empty ones are passed as NULL. */
  strings: string[];
  /** The error byte of a tool result. */
  isError: boolean;
}

/**
 * Encodes an event: JSON once, whatever the number of handlers.
 *
 * @param event The event.
 * @returns Tag and strings.
 */
export function encodeEvent(event: NativeEvent): EncodedEvent {
  const tag = eventTag(event.type);
  if (tag === undefined) {
    throw new TypeError(
      `Cannot send an event: "${event.type}" is none of the ${EVENT_NAMES.length} events, such as "SessionStart"`,
    );
  }
  const json = (value: unknown) =>
    value === undefined ? "" : stringifyJson(value);
  const isError = event.isError ?? false;
  switch (payloadKind(tag)) {
    case "message":
      return { tag, strings: [json(event.message)], isError };
    case "tool_call":
      return {
        tag,
        strings: [
          event.toolCallId ?? "",
          event.toolName ?? "",
          json(hide(event.params)),
        ],
        isError,
      };
    case "tool_result":
      return {
        tag,
        strings: [
          event.toolCallId ?? "",
          event.toolName ?? "",
          json(event.result),
        ],
        isError,
      };
    case "data":
      return { tag, strings: [json(event.data)], isError };
  }
}

/** The host context is between the host and one tool: events never show it. */
function hide(params: unknown): unknown {
  if (!isObject(params) || !(HOST_CONTEXT_KEY in params)) return params;
  const copy = { ...params };
  delete copy[HOST_CONTEXT_KEY];
  return copy;
}
