/**
 * Native tools as the one tool shape of `@bulkhead/plugins`.
 *
 * @module
 */

import { checkSchema } from "@bulkhead/plugins/schema";
import type {
  JsonSchema,
  Tool,
  ToolCallContext,
  ToolCallDetails,
  ToolResult,
} from "@bulkhead/plugins";
import type { NativeToolResult } from "./codec.ts";
import { AbiError } from "./errors.ts";
import { isObject } from "./json.ts";
import type { NativePlugin } from "./plugin.ts";
import { safely } from "./safely.ts";

/** Options of {@linkcode nativeTools}. */
export interface NativeToolsOptions {
  /**
   * The name on the wire for a tool's own name.
   *
   * @default the tool's own name, made fit for providers
   */
  wireName?: (tool: string) => string;
  /**
   * The version of the plugin.
   *
   * @default {"0.0.0"}
   */
  version?: string;
  /**
   * The content hash of the plugin.
   *
   * @default the hash of the library
   */
  hash?: string;
  /**
   * The directory of the plugin.
   *
   * @default the library's directory
   */
  dir?: string;
  /** A deadline for each call in milliseconds; none by default. */
  timeoutMs?: number;
  /** Gets what of a tool's schema is not offered to models, one line each. */
  onNote?: (line: string) => void;
}

/**
 * The tools of a plugin, ready for a `ToolRegistry`. A call that fails answers with `isError`: a crash of the plugin, a
 * deadline and an error of the tool alike, told apart by the text and the details.
 *
 * @param plugin The loaded plugin.
 * @param options Names, version, deadline.
 * @returns Its tools.
 *
 * @example Into a registry
 * ```ts ignore
 * import { loadNativePlugin, nativeTools } from "@bulkhead/abi";
 * import { ToolRegistry } from "@bulkhead/plugins";
 *
 * await using plugin = await loadNativePlugin("./libcounter.so");
 * const registry = new ToolRegistry();
 * for (const tool of nativeTools(plugin)) registry.add(tool);
 * ```
 */
export function nativeTools(
  plugin: NativePlugin,
  options: NativeToolsOptions = {},
): Tool[] {
  const { library } = plugin;
  const dir = options.dir ?? library.path.replace(/\/[^/]*$/, "");
  return plugin.registration.tools.map((tool): Tool => ({
    name: options.wireName?.(tool.name) ?? providerSafeName(tool.name),
    description: modelText(
      tool.description,
      tool.name,
      (line) => safely(options.onNote, line),
    ),
    inputSchema: modelSchema(
      tool.parameters,
      tool.name,
      (line) => safely(options.onNote, line),
    ),
    source: {
      plugin: plugin.name,
      tool: tool.name,
      version: options.version ?? "0.0.0",
      hash: options.hash ?? library.sha256,
      dir,
    },
    execute: (args, context) =>
      execute(plugin, tool.name, args, context, options.timeoutMs),
  }));
}

/**
 * A name that every provider takes: `^[a-zA-Z0-9_-]{1,64}$`. A name that had to be changed ends in a hash of the
 * original, so that two of them never meet.
 *
 * @param name The tool's own name.
 * @returns The name on the wire.
 *
 * @example Names that fit stay
 * ```ts
 * import { providerSafeName } from "@bulkhead/abi";
 * import { assertEquals, assertMatch } from "@std/assert";
 *
 * assertEquals(providerSafeName("fs-read"), "fs-read");
 * assertMatch(providerSafeName("größe"), /^gr__e_[0-9a-f]{8}$/);
 * ```
 */
export function providerSafeName(name: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name;
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 55);
  return `${safe}_${fnv1a(name).toString(16).padStart(8, "0")}`;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}

/** What of a description is offered: it is part of every request. */
const MAX_DESCRIPTION = 16_384;

/**
 * The description of a tool as models get it.
 *
 * @param text The description as the plugin gave it.
 * @param tool The tool, for the note.
 * @param note Gets what is left out.
 * @returns The description, cut when it would crowd out everything else.
 */
export function modelText(
  text: string,
  tool: string,
  note: (line: string) => void,
): string {
  if (text.length <= MAX_DESCRIPTION) return text;
  note(
    `tool "${tool}": its description of ${text.length} characters is cut to ${MAX_DESCRIPTION}`,
  );
  return `${text.slice(0, MAX_DESCRIPTION).toWellFormed()}…`;
}

/**
 * The schema of a tool as models get it. One that a provider refuses would take every other tool of the session with
 * it, so what is no schema is not offered; the plugin checks its arguments itself.
 *
 * @param text The schema as the plugin gave it.
 * @param tool The tool, for the note.
 * @param note Gets what is left out, one line each.
 * @returns A schema that every provider takes.
 */
export function modelSchema(
  text: string,
  tool: string,
  note: (line: string) => void,
): JsonSchema {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isObject(value)) return { type: "object" };
  const checked = checkSchema(value);
  if ("problem" in checked) {
    note(`tool "${tool}" is offered without its schema: ${checked.problem}`);
    return { type: "object" };
  }
  for (const line of checked.notes) note(`tool "${tool}": ${line}`);
  return checked.wire;
}

async function execute(
  plugin: NativePlugin,
  tool: string,
  args: unknown,
  context: ToolCallContext = {},
  timeoutMs: number | undefined,
): Promise<ToolResult> {
  const started = performance.now();
  const { onUpdate, signal, cwd, toolCallId } = context;
  const deadline = Math.min(
    timeoutMs ?? Infinity,
    context.timeoutMs ?? Infinity,
  );
  const details = (): ToolCallDetails => ({
    exitCode: null,
    signal: null,
    timedOut: false,
    aborted: false,
    truncated: { stdout: false, stderr: false },
    durationMs: performance.now() - started,
    stderr: "",
    isolation: plugin.isolation,
  });
  try {
    const result = await plugin.callTool(tool, args, {
      ...signal === undefined ? {} : { signal },
      ...Number.isFinite(deadline) ? { timeoutMs: deadline } : {},
      ...cwd === undefined ? {} : { cwd },
      ...toolCallId === undefined ? {} : { toolCallId },
      ...onUpdate === undefined
        ? {}
        : { onUpdate: (partial) => onUpdate(toolResult(partial)) },
    });
    return { ...toolResult(result), details: details() };
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    return {
      content: [{ type: "text", text: error.message }],
      isError: true,
      details: {
        ...details(),
        exitCode: error.code === "crashed" ? error.exitCode ?? null : null,
        signal: error.signal ?? null,
        timedOut: error.code === "timeout",
        aborted: error.code === "aborted",
        stderr: error.stderrTail ?? "",
      },
    };
  }
}

function toolResult(result: NativeToolResult): ToolResult {
  return {
    content: result.content,
    ...isObject(result.details) ? { structuredContent: result.details } : {},
  };
}
