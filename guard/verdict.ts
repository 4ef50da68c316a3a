/**
 * Between a harness and the arbiter: the payload a hook is given, and the answer it prints.
 * On the hook's hot path: no dependencies.
 *
 * @module
 */

/** A tool call as the hook's payload tells it. */
export interface HookCall {
  /** The tool, or an empty text when the payload names none. */
  toolName: string;
  /** The tool's input, whatever it is. */
  toolInput: unknown;
  /** The directory the call runs in, when the payload says so. */
  cwd?: string;
  /** The payload is the guard's own check, which leaves no line in the denial log. */
  selfCheck: boolean;
}

/**
 * Reads a hook's payload. Every harness's spelling of name and input is understood.
 *
 * @param text What came on stdin.
 * @returns The call, or `undefined` when the text is not a JSON object.
 *
 * @example
 * ```ts
 * import { parseHookPayload } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * const call = parseHookPayload('{"tool_name":"Write","tool_input":{"file_path":"/a"}}');
 * assertEquals(call?.toolName, "Write");
 * assertEquals(parseHookPayload("not json"), undefined);
 * ```
 */
export function parseHookPayload(text: string): HookCall | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch {
    return undefined;
  }
  return readHookCall(value);
}

/**
 * Reads a tool call from a payload that is parsed already.
 *
 * @param value The payload.
 * @returns The call, or `undefined` when the payload is not an object.
 *
 * @example
 * ```ts
 * import { readHookCall } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readHookCall({ toolName: "bash", toolArgs: '{"command":"ls"}' })?.toolInput, {
 *   command: "ls",
 * });
 * ```
 */
export function readHookCall(value: unknown): HookCall | undefined {
  const payload = asObject(value);
  if (payload === undefined) return undefined;
  const call: HookCall = {
    toolName: firstText(
      payload.tool_name,
      asObject(payload.tool)?.name,
      payload.toolName,
    ) ?? "",
    toolInput: withFiles(inputOf(payload), payload.files),
    selfCheck: payload.bulkhead_self_check === true,
  };
  if (typeof payload.cwd === "string" && payload.cwd !== "") {
    call.cwd = payload.cwd;
  }
  return call;
}

/** The input under whichever name it has; a text that holds JSON is read. */
function inputOf(payload: JsonObject): unknown {
  for (const name of ["tool_input", "input", "toolArgs"]) {
    if (!Object.hasOwn(payload, name)) continue;
    const input = payload[name];
    if (name !== "toolArgs" || typeof input !== "string") return input;
    try {
      const parsed: unknown = JSON.parse(input);
      return parsed;
    } catch {
      return input;
    }
  }
  return null;
}

/** A top-level `files` belongs to the input when that has none of its own. */
function withFiles(input: unknown, files: unknown): unknown {
  if (files === undefined) return input;
  if (input === null) return { files };
  const object = asObject(input);
  return object === undefined || Object.hasOwn(object, "files")
    ? input
    : { ...object, files };
}

/**
 * Renders a deny verdict. The template's bytes and key order are kept.
 *
 * @param template JSON text with `{reason}` inside string values.
 * @param reason Why the call is denied.
 * @returns The line to print.
 *
 * @example
 * ```ts
 * import { renderVerdict } from "@bulkhead/guard";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(renderVerdict('{"reason":"{reason}"}', 'a "b"'), '{"reason":"a \\"b\\""}');
 * ```
 */
export function renderVerdict(template: string, reason: string): string {
  const escaped = JSON.stringify(reason).slice(1, -1);
  return template.split("{reason}").join(escaped);
}

/** A JSON object, its values not looked at yet. */
interface JsonObject {
  [name: string]: unknown;
}

/** Narrows to an object. */
function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** A type guard for objects that are not arrays. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first of the values that is a text. */
function firstText(...values: unknown[]): string | undefined {
  return values.find((value) => typeof value === "string");
}
