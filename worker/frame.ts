// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * One line of an agent's stream-json output as a typed frame. Pure and total: every line is exactly one frame.
 *
 * @module
 */

/** What every frame may carry besides its own fields. */
export interface FrameBase {
  /** The line's own id. */
  uuid?: string;
  /** The session the line belongs to. */
  session_id?: string;
  /** Set when the line belongs to a subagent: the id of the call that started it. */
  parent_tool_use_id?: string;
}

/** A line about the session itself: its start, its state, its tasks, its retries. */
export interface SystemFrame extends FrameBase {
  /** The kind of frame. */
  kind: "system";
  /** Which line it is: `init`, `status`, `session_state_changed`, `task_started` … */
  subtype: string;
  /** `session_state_changed`: `running`, `requires_action` or `idle`. */
  state?: string;
  /** `status` and `task_notification`: the word of the line. */
  status?: string;
  /** `task_*`: the background task. */
  task_id?: string;
  /** `task_*`: the tool call that started the task. */
  tool_use_id?: string;
  /** `task_started`: what runs: `local_bash`, `local_agent` … */
  task_type?: string;
  /** `task_updated`: the task's new status. */
  task_status?: string;
  /** `task_*`: words about the task. */
  description?: string;
  /** `task_notification`: how the task ended, in words. */
  summary?: string;
  /** `init`: the working directory of the session. */
  cwd?: string;
  /** `init`: the model. */
  model?: string;
  /** `init` and `status`: the permission mode in force. */
  permission_mode?: string;
  /** `init`: the version of the agent. */
  version?: string;
  /** `init`: the MCP servers and how they are. */
  mcp_servers?: { name: string; status: string }[];
  /** `api_retry`: which attempt. */
  attempt?: number;
  /** `api_retry`: how many attempts there will be. */
  max_retries?: number;
  /** `api_retry`: the wait before the next attempt. */
  retry_delay_ms?: number;
  /** `api_retry` and others: the error in one word or sentence. */
  error?: string;
  /** `item` (drivers of other agents): the line's own text for people. */
  text?: string;
}

/** A piece of a message while the model writes it. */
export interface StreamEventFrame extends FrameBase {
  /** The kind of frame. */
  kind: "stream_event";
  /** The new text, or `null` when the event carries none. */
  delta: string | null;
  /** The event's own type, such as `content_block_delta`. */
  event?: string;
}

/** A tool call of the model. */
export interface ToolUse {
  /** The id of the call. */
  id: string;
  /** The tool. */
  name: string;
  /** The arguments as the model wrote them. */
  input: unknown;
}

/** A message of the model. */
export interface AssistantFrame extends FrameBase {
  /** The kind of frame. */
  kind: "assistant";
  /** All text blocks joined. */
  text: string;
  /** The model's id of the message; several frames may share it. */
  message_id?: string;
  /** The tool calls in the message. */
  tool_uses?: ToolUse[];
  /** Set when the text is an API failure and no reply: `rate_limit`, `authentication_failed` … */
  error?: string;
}

/** A call that was refused in the turn. */
export interface PermissionDenial {
  /** The tool. */
  tool_name: string;
  /** The id of the call. */
  tool_use_id: string;
}

/** Tokens of a turn. */
export interface FrameUsage {
  /** Tokens read. */
  input_tokens: number;
  /** Tokens written. */
  output_tokens: number;
  /** Tokens read from the cache. */
  cache_read_input_tokens: number;
  /** Tokens put into the cache. */
  cache_creation_input_tokens: number;
}

/** The end of a turn. */
export interface ResultFrame extends FrameBase {
  /** The kind of frame. */
  kind: "result";
  /** `success`, `error_during_execution`, `error_max_turns` … */
  subtype: string;
  /** The final text, or `null`. */
  result: string | null;
  /** True when the turn failed. */
  is_error: boolean;
  /** What went wrong, in words. */
  errors?: string[];
  /** The cost of the whole process so far, in dollars. */
  total_cost_usd?: number;
  /** How many model calls the turn took. */
  num_turns?: number;
  /** Wall time of the turn. */
  duration_ms?: number;
  /** Why the model stopped. */
  stop_reason?: string;
  /** Why the turn ended: `completed`, `aborted_streaming`, `aborted_tools`, `max_turns`. */
  terminal_reason?: string;
  /** The HTTP status of an API failure. */
  api_error_status?: number;
  /** The refused calls of the main thread. */
  permission_denials?: PermissionDenial[];
  /** What started the turn when it was no input: `task-notification` … */
  origin?: string;
  /** Tokens of the turn. */
  usage?: FrameUsage;
}

/** A tool's answer, as the model gets it. */
export interface ToolResultPart {
  /** The id of the call. */
  tool_use_id: string;
  /** True when the call failed or was refused. */
  is_error: boolean;
  /** The text of the answer, cut after 4 096 characters. */
  text: string;
  /** True when `text` was cut. */
  truncated?: true;
}

/** What a `user` line is in truth. */
export type UserSource =
  | "replay"
  | "tool_result"
  | "synthetic"
  | "subagent"
  | "other";

/** A `user` line: the receipt of a turn, a tool's answer, or a note of the agent's own. */
export interface UserEchoFrame extends FrameBase {
  /** The kind of frame. */
  kind: "user_echo";
  /** What the line is. Absent when it says nothing at all. */
  source?: UserSource;
  /** The text of the line, cut after 4 096 characters. */
  text?: string;
  /** The tools' answers in it. */
  tool_results?: ToolResultPart[];
}

/** A question of the agent that waits for an answer. */
export interface ControlRequestFrame extends FrameBase {
  /** The kind of frame. */
  kind: "control_request";
  /** The id the answer must name. */
  request_id: string;
  /** `can_use_tool`, `hook_callback`, `mcp_message` … */
  subtype: string;
  /** `can_use_tool`: the tool. */
  tool_name: string;
  /** `can_use_tool` and `hook_callback`: the arguments. */
  input: unknown;
  /** The id of the tool call. */
  tool_use_id?: string;
  /** Set when a subagent asks. */
  agent_id?: string;
  /** The tool's name for people. */
  display_name?: string;
  /** The call in one line. */
  description?: string;
  /** Why the agent asks. */
  decision_reason?: string;
  /** The kind of that reason: `rule`, `hook`, `workingDir` … */
  decision_reason_type?: string;
  /** `hook_callback`: which callback. */
  callback_id?: string;
  /** `mcp_message`: which server. */
  server_name?: string;
  /** `mcp_message`: the JSON-RPC message. */
  message?: unknown;
}

/** Any other line with a type. */
export interface OtherFrame extends FrameBase {
  /** The kind of frame. */
  kind: "other";
  /** The line's type. */
  type_name: string;
  /** `control_response` and `control_cancel_request`: which request. */
  request_id?: string;
  /** `control_response`: `success` or `error`. */
  subtype?: string;
  /** `control_response`: the error. */
  error?: string;
}

/** A line that is no JSON object, or that was too long to keep. */
export interface MalformedFrame extends FrameBase {
  /** The kind of frame. */
  kind: "malformed";
  /** The size of the line in bytes, when it was cut. */
  size?: number;
  /** The first characters of the line, when it was cut. */
  head?: string;
}

/** One parsed line. */
export type Frame =
  | SystemFrame
  | StreamEventFrame
  | AssistantFrame
  | ResultFrame
  | UserEchoFrame
  | ControlRequestFrame
  | OtherFrame
  | MalformedFrame;

/** A JSON object whose fields nobody has looked at yet. */
export type JsonObject = { readonly [key: string]: unknown };

/** A frame with the JSON object it was read from. */
export interface ParsedLine {
  /** The frame. */
  frame: Frame;
  /** The whole object, or `undefined` for a malformed line. */
  value: JsonObject | undefined;
}

const TEXT_CAP = 4096;
const TRIM = /^\p{White_Space}+|\p{White_Space}+$/gu;

/**
 * Reads one line of stream-json.
 *
 * Never throws: what is no JSON object is a `malformed` frame, an unknown type an `other` frame.
 *
 * @param line The line, with or without its newline
 * @returns The frame
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
 * @param line The line, with or without its newline
 * @returns The frame and the object
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
 * @param value The JSON object of the line
 * @returns The frame
 */
export function frameOf(value: JsonObject): Frame {
  const frame = classify(value);
  if (typeof value.uuid === "string") frame.uuid = value.uuid;
  if (typeof value.session_id === "string") frame.session_id = value.session_id;
  if (typeof value.parent_tool_use_id === "string") {
    frame.parent_tool_use_id = value.parent_tool_use_id;
  }
  return frame;
}

/**
 * Tells whether a value is a JSON object: no array, no `null`.
 *
 * @param value Any value
 * @returns True for a plain object
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
    frame.text = text.length > TEXT_CAP ? text.slice(0, TEXT_CAP) : text;
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
    text: text.length > TEXT_CAP ? text.slice(0, TEXT_CAP) : text,
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
