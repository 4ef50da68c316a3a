// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * The frames that lines of an agent's stream-json output become.
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
  /** The line's type, when it was too long to keep and its beginning tells it. */
  type_name?: string;
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
