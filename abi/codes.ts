/**
 * The vocabulary of the plugin ABI, version 4: names, tags, ids and return codes. Its shapes in memory are in
 * `layout.ts`.
 *
 * @module
 */

import { PLUGIN_API_SIZE } from "./layout.ts";

/** The version in the first field of `PluginApi`. */
export const ABI_VERSION = 4;

/** The one symbol a plugin exports. */
export const REGISTER_SYMBOL = "rpi_plugin_register";

/** Names of entry points that older versions of the ABI used. */
export const RETIRED_SYMBOLS: readonly string[] = [
  "rpi_plugin_register_v1",
  "rpi_plugin_register_v2",
  "rpi_plugin_register_v3",
];

/**
 * The second argument passed to the entry point. A version 4 plugin never looks at it; the retired first version took
 * the ABI number there and refuses this one.
 */
export const RETIRED_ABI_ARGUMENT = 0xffffffff;

/** The application name that plugins see as the host. */
export const HOST_NAME = "rpi";

/** The reserved key under which the host puts its context into a tool's arguments. */
export const HOST_CONTEXT_KEY = "__rpi";

/** The environment variable that names the session a plugin process serves. */
export const SESSION_ID_ENV = "RPI_SESSION_ID";

/** Variables of a tracing plugin that must not reach shells the host starts, nor a nested host. */
export const SUBAGENT_PARENT_ENV: readonly string[] = [
  "LANGFUSE_PI_PARENT_TRACE_ID",
  "LANGFUSE_PI_PARENT_SPAN_ID",
  "LANGFUSE_PI_PARENT_SESSION_ID",
  "LANGFUSE_PI_PARENT_DEPTH",
];

/** A tag of `StepResult`: the call goes on. */
export const STEP_PENDING = 0;
/** A tag of `StepResult`: the call is over and succeeded. */
export const STEP_DONE = 1;
/** A tag of `StepResult`: the call is over and failed. */
export const STEP_ERR = 2;

/** The names of the step tags by value. */
export const STEP_TAGS: readonly string[] = ["Pending", "Done", "Err"];

/**
 * The names of the events by value.
 *
 * @example The last one
 * ```ts
 * import { EVENT_NAMES } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(EVENT_NAMES[36], "EditorChange");
 * ```
 */
export const EVENT_NAMES = [
  "ProjectTrust",
  "ResourcesDiscover",
  "SessionStart",
  "SessionInfoChanged",
  "SessionBeforeSwitch",
  "SessionBeforeFork",
  "SessionBeforeCompact",
  "SessionCompact",
  "SessionShutdown",
  "SessionBeforeTree",
  "SessionTree",
  "Context",
  "BeforeProviderRequest",
  "BeforeProviderHeaders",
  "AfterProviderResponse",
  "BeforeAgentStart",
  "AgentStart",
  "AgentEnd",
  "AgentSettled",
  "TurnStart",
  "TurnEnd",
  "MessageStart",
  "MessageUpdate",
  "MessageEnd",
  "ToolExecutionStart",
  "ToolExecutionUpdate",
  "ToolExecutionEnd",
  "ModelSelect",
  "ThinkingLevelSelect",
  "ToolCall",
  "ToolResult",
  "UserBash",
  "Input",
  "BeforeTuiStart",
  "UiPromptStart",
  "UiPromptEnd",
  "EditorChange",
] as const;

/** The name of an event. */
export type EventName = typeof EVENT_NAMES[number];

/** The number of event tags. */
export const EVENT_COUNT: number = EVENT_NAMES.length;

/** Which member of the payload union an event carries. */
export type PayloadKind = "message" | "tool_call" | "tool_result" | "data";

const PAYLOADS: ReadonlyMap<number, PayloadKind> = new Map<number, PayloadKind>(
  [
    [21, "message"],
    [22, "message"],
    [23, "message"],
    [24, "tool_call"],
    [25, "tool_call"],
    [29, "tool_call"],
    [26, "tool_result"],
    [30, "tool_result"],
  ],
);

/**
 * Which payload an event carries. Everything but messages, tool calls and tool results is JSON data, or empty.
 *
 * @param tag The event's tag.
 * @returns The member of the union.
 */
export function payloadKind(tag: number): PayloadKind {
  return PAYLOADS.get(tag) ?? "data";
}

/**
 * The tag of an event.
 *
 * @param name The event's name, in any mix of cases, with or without underscores.
 * @returns The tag, or `undefined` for an unknown name.
 */
export function eventTag(name: string): number | undefined {
  const wanted = name.replaceAll("_", "").toLowerCase();
  const tag = EVENT_NAMES.findIndex((n) => n.toLowerCase() === wanted);
  return tag < 0 ? undefined : tag;
}

/** What an event handler returns to go on. */
export const HANDLER_CONTINUE = 0;
/** What an event handler returns to veto a lifecycle phase. */
export const HANDLER_ABORT = 2;
/** What an event handler returns to keep an input event for itself. */
export const HANDLER_CLAIMED = 3;

/** The names of the handler codes by value. */
export const HANDLER_CODES: readonly string[] = [
  "CONTINUE",
  "ERROR",
  "ABORT",
  "CLAIMED",
];

/**
 * The names of the runtime actions by id.
 *
 * @example The last one
 * ```ts
 * import { ACTION_NAMES } from "@bulkhead/abi";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(ACTION_NAMES[22], "UiComponent");
 * ```
 */
export const ACTION_NAMES = [
  "SendMessage",
  "SendUserMessage",
  "AppendEntry",
  "SetSessionName",
  "GetActiveTools",
  "SetActiveTools",
  "SetModel",
  "GetThinkingLevel",
  "SetThinkingLevel",
  "Compact",
  "GetSystemPrompt",
  "NewSession",
  "Fork",
  "NavigateTree",
  "SwitchSession",
  "Reload",
  "GetCliFlag",
  "UiDialog",
  "SetStatus",
  "SetEditorText",
  "GetSessionBranch",
  "StdioLifecycle",
  "UiComponent",
] as const;

/** The name of a runtime action. */
export type ActionName = typeof ACTION_NAMES[number];

/** The number of runtime actions. */
export const ACTION_COUNT: number = ACTION_NAMES.length;

/** `runtime_action` returns it when the host has answered. */
export const ACTION_OK = 0;
/** The host answered with an error: `{"error": …}` in `out`. */
export const ACTION_ERROR = 1;
/** The id is not defined. */
export const ACTION_UNKNOWN = 2;
/** `user_data` was NULL: no bridge to the host. */
export const ACTION_NO_BRIDGE: number = -1;
/** The host did not answer in time. */
export const ACTION_DROPPED: number = -2;

/** The entry point returns it when the plugin is registered. */
const REGISTER_OK = 0;
/** The plugin wants another ABI version. */
const REGISTER_VERSION = 1;
/** The plugin got no vtable. */
const REGISTER_NULL_API = 2;
/** The plugin needs a longer vtable. */
const REGISTER_OLD_HOST = 3;
/** The plugin's register function panicked. */
const REGISTER_PANIC = 70;

/**
 * What a code of the entry point means.
 *
 * @param code The returned code.
 * @returns The meaning, in one phrase.
 */
export function describeRegisterCode(code: number): string {
  switch (code) {
    case REGISTER_OK:
      return "registered";
    case REGISTER_VERSION:
      return `code 1: it was built for another ABI version than ${ABI_VERSION}`;
    case REGISTER_NULL_API:
      return "code 2: it says that it was given a null api";
    case REGISTER_OLD_HOST:
      return `code 3: the host is too old for it, it needs more than the ${PLUGIN_API_SIZE} bytes of this PluginApi`;
    case REGISTER_PANIC:
      return "code 70: its register function panicked";
    default:
      return `code ${code}`;
  }
}
