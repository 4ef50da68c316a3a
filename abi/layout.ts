/**
 * The one table of the plugin ABI, version 4: structs, slots, tags, ids and codes. Everything else reads it:
 * the engine, the header, the templates and the tests that compile it with a C compiler.
 *
 * @module
 */

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

/** One field of a struct. */
export interface FieldLayout {
  /** The name in C. */
  readonly name: string;
  /** The C type. */
  readonly type: string;
  /** The offset in bytes. */
  readonly offset: number;
}

/** One struct that crosses the border, on a 64-bit little-endian machine. */
export interface StructLayout {
  /** The name in C, without prefix. */
  readonly name: string;
  /** The size in bytes. */
  readonly size: number;
  /** The alignment in bytes. */
  readonly align: number;
  /** What it is for, one line. */
  readonly about: string;
  /** The fields in order. */
  readonly fields: readonly FieldLayout[];
}

function field(name: string, type: string, offset: number): FieldLayout {
  return { name, type, offset };
}

/** Every struct of the contract apart from the vtable, in the order a header needs. */
export const STRUCTS: readonly StructLayout[] = [
  {
    name: "StbString",
    size: 16,
    align: 8,
    about:
      "An owned UTF-8 string: the receiver frees it once, through the free function of the side that made it",
    fields: [field("ptr", "char *", 0), field("len", "size_t", 8)],
  },
  {
    name: "StbStringRef",
    size: 16,
    align: 8,
    about:
      "A borrowed string: valid during the call, never freed by the callee",
    fields: [field("ptr", "const char *", 0), field("len", "size_t", 8)],
  },
  {
    name: "StableToolSchema",
    size: 48,
    align: 8,
    about:
      "A tool as the model sees it; parameters is the text of a JSON Schema",
    fields: [
      field("name", "StbString", 0),
      field("description", "StbString", 16),
      field("parameters", "StbString", 32),
    ],
  },
  {
    name: "StepResult",
    size: 24,
    align: 8,
    about:
      "What poll returns; the string is progress, result or error message by tag",
    fields: [field("tag", "uint32_t", 0), field("text", "StbString", 8)],
  },
  {
    name: "EventEmpty",
    size: 1,
    align: 1,
    about: "No payload",
    fields: [field("opaque", "uint8_t", 0)],
  },
  {
    name: "EventMessage",
    size: 16,
    align: 8,
    about: "A message as JSON",
    fields: [field("message", "StbString", 0)],
  },
  {
    name: "EventToolCall",
    size: 48,
    align: 8,
    about: "A tool call; params is JSON",
    fields: [
      field("tool_call_id", "StbString", 0),
      field("tool_name", "StbString", 16),
      field("params", "StbString", 32),
    ],
  },
  {
    name: "EventToolResult",
    size: 56,
    align: 8,
    about:
      "A tool result; result is JSON. Read is_error as one byte: the padding behind it holds garbage",
    fields: [
      field("tool_call_id", "StbString", 0),
      field("tool_name", "StbString", 16),
      field("result", "StbString", 32),
      field("is_error", "uint8_t", 48),
    ],
  },
  {
    name: "EventError",
    size: 16,
    align: 8,
    about: "A failure",
    fields: [field("message", "StbString", 0)],
  },
  {
    name: "EventData",
    size: 16,
    align: 8,
    about: "Any other payload as JSON",
    fields: [field("data", "StbString", 0)],
  },
  {
    name: "EventPayload",
    size: 56,
    align: 8,
    about: "The union of the payloads; the event's tag says which one",
    fields: [
      field("empty", "EventEmpty", 0),
      field("message", "EventMessage", 0),
      field("tool_call", "EventToolCall", 0),
      field("tool_result", "EventToolResult", 0),
      field("error", "EventError", 0),
      field("data", "EventData", 0),
    ],
  },
  {
    name: "StablePluginEvent",
    size: 64,
    align: 8,
    about:
      "One event, passed by value; its strings are borrowed until every handler has returned",
    fields: [field("tag", "uint32_t", 0), field("payload", "EventPayload", 8)],
  },
];

/** One slot of the vtable. */
export interface SlotLayout {
  /** The field name. */
  readonly name: string;
  /** The offset in bytes. */
  readonly offset: number;
  /** The C declaration with `%` where the name goes, or a plain type. */
  readonly decl: string;
  /** What the host does, one line. */
  readonly about: string;
}

/** The vtable `PluginApi`. Slots are only ever appended. */
export const PLUGIN_API: readonly SlotLayout[] = [
  { name: "abi_version", offset: 0, decl: "uint32_t %", about: "4" },
  {
    name: "struct_size",
    offset: 4,
    decl: "uint32_t %",
    about: "sizeof(PluginApi) as the host built it",
  },
  {
    name: "free_string",
    offset: 8,
    decl: "FreeStringFn %",
    about: "Frees strings the host made; never NULL",
  },
  {
    name: "register_tool",
    offset: 16,
    decl:
      "int32_t (*%)(const StableToolSchema *schema, ToolExecuteFn execute, ToolPollFn poll, ToolCancelFn cancel, ToolDestroyFn destroy, FreeStringFn plugin_free)",
    about:
      "Adds a tool; copies the schema's strings and frees them with plugin_free before it returns",
  },
  {
    name: "register_command",
    offset: 24,
    decl:
      "int32_t (*%)(StbStringRef name, StbStringRef description, CommandHandlerFn handler)",
    about:
      "Adds a slash command; its output must be malloc memory, its user_data is NULL",
  },
  {
    name: "register_shortcut",
    offset: 32,
    decl: "int32_t (*%)(StbStringRef key, StbStringRef description)",
    about: "Accepted and reported; no host binds keys today",
  },
  {
    name: "register_flag",
    offset: 40,
    decl: "int32_t (*%)(StbStringRef name, StbStringRef description)",
    about: "Declares a command line flag, read with action 16",
  },
  {
    name: "register_provider",
    offset: 48,
    decl:
      "int32_t (*%)(StbStringRef id, StbStringRef base_url, StbStringRef api_style, RequestFn request, FreeStringFn plugin_free, void *user_data)",
    about: "Adds a model provider",
  },
  {
    name: "register_message_renderer",
    offset: 56,
    decl:
      "int32_t (*%)(StbStringRef name, RequestFn render, FreeStringFn plugin_free, void *user_data)",
    about: "Renders messages of one kind",
  },
  {
    name: "register_markdown_transformer",
    offset: 64,
    decl:
      "int32_t (*%)(StbStringRef name, RequestFn render, FreeStringFn plugin_free, void *user_data)",
    about: "Rewrites markdown",
  },
  {
    name: "register_entry_renderer",
    offset: 72,
    decl:
      "int32_t (*%)(StbStringRef name, RequestFn render, FreeStringFn plugin_free, void *user_data)",
    about: "Renders session entries of one kind",
  },
  {
    name: "register_event_handler",
    offset: 80,
    decl: "int32_t (*%)(uint32_t tag, EventHandlerFn handler, void *user_data)",
    about: "Adds a handler for one event tag; any number per tag",
  },
  {
    name: "register_resources_discover",
    offset: 88,
    decl:
      "int32_t (*%)(ResourcesDiscoverFn handler, FreeStringFn plugin_free, void *user_data)",
    about: "Adds a handler that names skill, prompt and theme paths",
  },
  {
    name: "runtime_action",
    offset: 96,
    decl: "RuntimeActionFn %",
    about:
      "Asks the host for something, from any thread; blocks until answered",
  },
  {
    name: "dispatch_event",
    offset: 104,
    decl: "int32_t (*%)(StablePluginEvent event, void *user_data)",
    about: "Accepted and dropped",
  },
  {
    name: "user_data",
    offset: 112,
    decl: "void *%",
    about: "Pass it back to runtime_action",
  },
  {
    name: "declare",
    offset: 120,
    decl: "int32_t (*%)(StbStringRef json)",
    about: 'Declares {"priority":100,"platforms":["all"]}',
  },
  {
    name: "register_before_agent_start",
    offset: 128,
    decl:
      "int32_t (*%)(RequestFn handler, FreeStringFn plugin_free, void *user_data)",
    about: "Adds a handler that may replace the system prompt of one run",
  },
  {
    name: "register_oauth_provider",
    offset: 136,
    decl:
      "int32_t (*%)(StbStringRef manifest, RequestFn request, FreeStringFn plugin_free, void *user_data)",
    about: "Adds a login flow; the manifest is JSON with an id",
  },
];

/** The size of `PluginApi` in bytes. */
export const PLUGIN_API_SIZE = 144;

/**
 * The offset of a slot of the vtable.
 *
 * @param name The field name.
 * @returns The offset in bytes.
 */
export function slotOffset(name: string): number {
  const slot = PLUGIN_API.find((s) => s.name === name);
  if (slot === undefined) {
    throw new TypeError(
      `Cannot find a slot: "${name}" is not part of PluginApi`,
    );
  }
  return slot.offset;
}

/** Function types that cross the border: name and C declaration with `%` where the name goes. */
export const FUNCTION_TYPES: readonly {
  readonly name: string;
  readonly decl: string;
  readonly about: string;
}[] = [
  {
    name: "FreeStringFn",
    decl: "void (*%)(StbString s)",
    about: "Frees a string of the side that gave it; empty strings are a no-op",
  },
  {
    name: "ToolExecuteFn",
    decl:
      "void *(*%)(StbStringRef tool_call_id, StbString params, FreeStringFn free_params)",
    about:
      "Starts a call. Owns params and frees it with free_params. NULL means failure",
  },
  {
    name: "ToolPartialCb",
    decl: "void (*%)(StbString partial, void *user_data)",
    about:
      "Progress, only from inside poll. The host frees partial with the tool's plugin_free",
  },
  {
    name: "ToolPollFn",
    decl:
      "StepResult (*%)(void *handle, ToolPartialCb partial, void *user_data)",
    about: "One step of a call; must not block and must notice a cancel",
  },
  {
    name: "ToolCancelFn",
    decl: "void (*%)(void *handle)",
    about: "Sets a flag: any thread, any number of times, frees nothing",
  },
  {
    name: "ToolDestroyFn",
    decl: "void (*%)(void *handle)",
    about: "Frees the handle, called exactly once",
  },
  {
    name: "EventHandlerFn",
    decl: "int32_t (*%)(StablePluginEvent event, void *user_data)",
    about: "Returns one of the handler codes",
  },
  {
    name: "RequestFn",
    decl: "int32_t (*%)(StbStringRef request, StbString *out, void *user_data)",
    about:
      "JSON in, JSON out. The host frees out with plugin_free, also after an error code",
  },
  {
    name: "CommandHandlerFn",
    decl: "int32_t (*%)(StbStringRef args, StbString *out, void *user_data)",
    about: "As RequestFn, but out must come from malloc and user_data is NULL",
  },
  {
    name: "ResourcesDiscoverFn",
    decl:
      "int32_t (*%)(StbStringRef cwd, StbStringRef reason, StbString *out, void *user_data)",
    about: "Answers {skillPaths,promptPaths,themePaths}",
  },
  {
    name: "RuntimeActionFn",
    decl:
      "int32_t (*%)(uint32_t action, StbStringRef args, StbString *out, void *user_data)",
    about:
      "0 answered, 1 host error, 2 unknown action, -1 no user_data, -2 no answer in time. Free out with free_string",
  },
];

/** The tags of `StepResult`. */
export const STEP_PENDING = 0;
/** The call is over and succeeded. */
export const STEP_DONE = 1;
/** The call is over and failed. */
export const STEP_ERR = 2;

/** The names of the step tags by value. */
export const STEP_TAGS: readonly string[] = ["Pending", "Done", "Err"];

/** The names of the events by value. */
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
export const EVENT_COUNT = 37;

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
/** What an event handler returns after an error. */
export const HANDLER_ERROR = 1;
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

/** The names of the runtime actions by id. */
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
export const ACTION_COUNT = 23;

/** What `runtime_action` returns. */
export const ACTION_OK = 0;
/** The host answered with an error: `{"error": …}` in `out`. */
export const ACTION_ERROR = 1;
/** The id is not defined. */
export const ACTION_UNKNOWN = 2;
/** `user_data` was NULL: no bridge to the host. */
export const ACTION_NO_BRIDGE: number = -1;
/** The host did not answer in time. */
export const ACTION_DROPPED: number = -2;

/** Register codes with a fixed meaning. */
export const REGISTER_OK = 0;
/** The plugin wants another ABI version. */
export const REGISTER_VERSION = 1;
/** The plugin got no vtable. */
export const REGISTER_NULL_API = 2;
/** The plugin needs a longer vtable. */
export const REGISTER_OLD_HOST = 3;
/** The plugin's register function panicked. */
export const REGISTER_PANIC = 70;

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
