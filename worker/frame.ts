// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * One line of an agent's stream-json output as a typed frame. Pure and total: every line is exactly one frame.
 *
 * @module
 */

import type {
  AssistantFrame,
  ControlRequestFrame,
  Frame,
  FrameUsage,
  JsonObject,
  OtherFrame,
  ParsedLine,
  ResultFrame,
  StreamEventFrame,
  SystemFrame,
  ToolResultPart,
  UserEchoFrame,
  UserSource,
} from "./frame_types.ts";

export type * from "./frame_types.ts";

/** Characters of a text that a frame shows; the raw line has all of it. */
export const TEXT_CAP = 4096;
const TRIM = /^\p{White_Space}+|\p{White_Space}+$/gu;

/**
 * Reads one line of stream-json.
 *
 * Never throws: what is no JSON object is a `malformed` frame, an unknown type an `other` frame.
 *
 * @param line The line, with or without its newline.
 * @returns The frame.
 *
 * @example A reply
 * ```ts
 * import { parseFrame } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const line = '{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}';
 * assertEquals(parseFrame(line), { kind: "assistant", text: "hello" });
 * assertEquals(parseFrame("no json"), { kind: "malformed" });
 * ```
 */
export function parseFrame(line: string): Frame {
  return parseLine(line).frame;
}

/**
 * Reads one line and keeps the object it was read from, for drivers that need more than the frame says.
 *
 * @param line The line, with or without its newline.
 * @returns The frame and the object.
 */
export function parseLine(line: string): ParsedLine {
  const value = parseObject(line);
  return value === undefined
    ? { frame: { kind: "malformed" }, value }
    : { frame: frameOf(value), value };
}

/**
 * The frame that an already parsed line stands for.
 *
 * @param value The JSON object of the line.
 * @returns The frame.
 */
function frameOf(value: JsonObject): Frame {
  const frame = classify(value);
  if (typeof value.uuid === "string") frame.uuid = value.uuid;
  if (typeof value.session_id === "string") frame.session_id = value.session_id;
  if (typeof value.parent_tool_use_id === "string") {
    frame.parent_tool_use_id = value.parent_tool_use_id;
  }
  return frame;
}

/**
 * The beginning of a text.
 *
 * @param text The text.
 * @returns As much of it as a frame shows.
 */
export function cap(text: string): string {
  return cut(text, TEXT_CAP);
}

/**
 * The beginning of a text, cut on a character's border: half of a pair is no JSON for strict readers.
 *
 * @param text The text.
 * @param length How many UTF-16 units are wanted at most.
 * @returns The beginning.
 */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

/**
 * Tells whether a value is a JSON object: no array, no `null`.
 *
 * @param value Any value.
 * @returns True for a plain object.
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseObject(line: string): JsonObject | undefined {
  const value = parseJson(line) ?? parseJson(line.replace(TRIM, ""), line);
  return isJsonObject(value) ? value : undefined;
}

function parseJson(text: string, unlike?: string): unknown {
  if (text === unlike) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function classify(value: JsonObject): Frame {
  switch (value.type) {
    case "stream_event":
      return streamEvent(value.event);
    case "assistant":
      return assistant(value);
    case "user":
      return userEcho(value);
    case "system":
      return system(value);
    case "result":
      return result(value);
    case "control_request":
      return controlRequest(value);
    default:
      return other(value);
  }
}

function streamEvent(event: unknown): StreamEventFrame {
  const frame: StreamEventFrame = { kind: "stream_event", delta: null };
  if (!isJsonObject(event)) return frame;
  if (isJsonObject(event.delta) && typeof event.delta.text === "string") {
    frame.delta = event.delta.text;
  }
  if (typeof event.type === "string") frame.event = event.type;
  return frame;
}

function assistant(value: JsonObject): AssistantFrame {
  const message = isJsonObject(value.message) ? value.message : {};
  const frame: AssistantFrame = {
    kind: "assistant",
    text: textOf(message.content),
  };
  if (typeof message.id === "string") frame.message_id = message.id;
  if (Array.isArray(message.content)) {
    for (const block of message.content) {
      if (!isJsonObject(block) || block.type !== "tool_use") continue;
      frame.tool_uses ??= [];
      frame.tool_uses.push({
        id: str(block.id),
        name: str(block.name),
        input: block.input ?? null,
      });
    }
  }
  if (typeof value.error === "string") frame.error = value.error;
  return frame;
}

function userEcho(value: JsonObject): UserEchoFrame {
  const frame: UserEchoFrame = { kind: "user_echo" };
  const message = isJsonObject(value.message) ? value.message : {};
  const content = message.content;
  if (Array.isArray(content)) {
    for (const block of content) {
      if (!isJsonObject(block) || block.type !== "tool_result") continue;
      frame.tool_results ??= [];
      frame.tool_results.push(toolResult(block));
    }
  }
  const text = textOf(content);
  if (text !== "") {
    frame.text = cap(text);
  }
  const source = userSource(value, frame, text);
  if (source !== undefined) frame.source = source;
  return frame;
}

function userSource(
  value: JsonObject,
  frame: UserEchoFrame,
  text: string,
): UserSource | undefined {
  if (value.isReplay === true) return "replay";
  if (frame.tool_results !== undefined) return "tool_result";
  if (
    value.isSynthetic === true ||
    text.startsWith("[Request interrupted by user")
  ) return "synthetic";
  if (typeof value.parent_tool_use_id === "string") return "subagent";
  return text === "" ? undefined : "other";
}

function toolResult(block: JsonObject): ToolResultPart {
  const text = textOf(block.content);
  const part: ToolResultPart = {
    tool_use_id: str(block.tool_use_id),
    is_error: block.is_error === true,
    text: cap(text),
  };
  if (text.length > TEXT_CAP) part.truncated = true;
  return part;
}

function system(value: JsonObject): SystemFrame {
  const frame: SystemFrame = { kind: "system", subtype: str(value.subtype) };
  if (typeof value.state === "string") frame.state = value.state;
  if (typeof value.status === "string") frame.status = value.status;
  if (typeof value.task_id === "string") frame.task_id = value.task_id;
  if (typeof value.tool_use_id === "string") {
    frame.tool_use_id = value.tool_use_id;
  }
  if (typeof value.task_type === "string") frame.task_type = value.task_type;
  if (isJsonObject(value.patch) && typeof value.patch.status === "string") {
    frame.task_status = value.patch.status;
  }
  if (typeof value.description === "string") {
    frame.description = value.description;
  }
  if (typeof value.summary === "string") frame.summary = value.summary;
  if (typeof value.cwd === "string") frame.cwd = value.cwd;
  if (typeof value.model === "string") frame.model = value.model;
  if (typeof value.permissionMode === "string") {
    frame.permission_mode = value.permissionMode;
  }
  if (typeof value.claude_code_version === "string") {
    frame.version = value.claude_code_version;
  }
  if (Array.isArray(value.mcp_servers)) {
    frame.mcp_servers = value.mcp_servers.filter(isJsonObject)
      .map((server) => ({
        name: str(server.name),
        status: str(server.status),
      }));
  }
  if (typeof value.attempt === "number") frame.attempt = value.attempt;
  if (typeof value.max_retries === "number") {
    frame.max_retries = value.max_retries;
  }
  if (typeof value.retry_delay_ms === "number") {
    frame.retry_delay_ms = value.retry_delay_ms;
  }
  if (typeof value.error === "string") frame.error = value.error;
  return frame;
}

function result(value: JsonObject): ResultFrame {
  const frame: ResultFrame = {
    kind: "result",
    subtype: str(value.subtype),
    result: typeof value.result === "string" ? value.result : null,
    is_error: value.is_error === true,
  };
  if (Array.isArray(value.errors)) {
    frame.errors = value.errors.filter((error) => typeof error === "string");
  }
  if (typeof value.total_cost_usd === "number") {
    frame.total_cost_usd = value.total_cost_usd;
  }
  if (typeof value.num_turns === "number") frame.num_turns = value.num_turns;
  if (typeof value.duration_ms === "number") {
    frame.duration_ms = value.duration_ms;
  }
  if (typeof value.stop_reason === "string") {
    frame.stop_reason = value.stop_reason;
  }
  if (typeof value.terminal_reason === "string") {
    frame.terminal_reason = value.terminal_reason;
  }
  if (typeof value.api_error_status === "number") {
    frame.api_error_status = value.api_error_status;
  }
  if (Array.isArray(value.permission_denials)) {
    frame.permission_denials = value.permission_denials.filter(isJsonObject)
      .map((denial) => ({
        tool_name: str(denial.tool_name),
        tool_use_id: str(denial.tool_use_id),
      }));
  }
  if (isJsonObject(value.origin) && typeof value.origin.kind === "string") {
    frame.origin = value.origin.kind;
  }
  if (isJsonObject(value.usage)) frame.usage = usageOf(value.usage);
  return frame;
}

function usageOf(usage: JsonObject): FrameUsage {
  return {
    input_tokens: num(usage.input_tokens),
    output_tokens: num(usage.output_tokens),
    cache_read_input_tokens: num(usage.cache_read_input_tokens),
    cache_creation_input_tokens: num(usage.cache_creation_input_tokens),
  };
}

function controlRequest(value: JsonObject): ControlRequestFrame {
  const request = isJsonObject(value.request) ? value.request : {};
  const frame: ControlRequestFrame = {
    kind: "control_request",
    request_id: str(value.request_id),
    subtype: str(request.subtype),
    tool_name: str(request.tool_name),
    input: request.input ?? null,
  };
  if (typeof request.tool_use_id === "string") {
    frame.tool_use_id = request.tool_use_id;
  }
  if (typeof request.agent_id === "string") frame.agent_id = request.agent_id;
  if (typeof request.display_name === "string") {
    frame.display_name = request.display_name;
  }
  if (typeof request.description === "string") {
    frame.description = request.description;
  }
  if (typeof request.decision_reason === "string") {
    frame.decision_reason = request.decision_reason;
  }
  if (typeof request.decision_reason_type === "string") {
    frame.decision_reason_type = request.decision_reason_type;
  }
  if (typeof request.callback_id === "string") {
    frame.callback_id = request.callback_id;
  }
  if (typeof request.server_name === "string") {
    frame.server_name = request.server_name;
  }
  if (request.message !== undefined) frame.message = request.message;
  return frame;
}

function other(value: JsonObject): OtherFrame {
  const frame: OtherFrame = { kind: "other", type_name: str(value.type) };
  if (value.type === "control_response" && isJsonObject(value.response)) {
    const response = value.response;
    if (typeof response.request_id === "string") {
      frame.request_id = response.request_id;
    }
    if (typeof response.subtype === "string") frame.subtype = response.subtype;
    if (typeof response.error === "string") frame.error = response.error;
  } else if (typeof value.request_id === "string") {
    frame.request_id = value.request_id;
  }
  return frame;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  let text = "";
  for (const block of content) {
    if (
      isJsonObject(block) && block.type === "text" &&
      typeof block.text === "string"
    ) text += block.text;
  }
  return text;
}

function str(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function num(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
