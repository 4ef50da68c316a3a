/**
 * The shapes in memory of the plugin ABI, version 4: structs, the vtable and the function types. With the names and
 * numbers of `codes.ts` this is the one table that everything else reads: the engine, the header, the templates and the
 * tests that compile it with a C compiler.
 *
 * @module
 */

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
