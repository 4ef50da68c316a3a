/**
 * The tools of a registry as the Model Context Protocol sees them.
 *
 * @module
 */
import { messageOf } from "./_text.ts";
import { SERVED_NAME_MAX, toolName } from "./names.ts";
import {
  resultText,
  type Tool,
  type ToolCallContext,
  type ToolResult,
} from "./tool.ts";

/** The least time between two progress messages of one call. */
const PROGRESS_INTERVAL_MS = 100;
/** The longest progress message. */
const MAX_PROGRESS = 400;

/** The definition of a tool in a list. */
export interface McpToolDefinition {
  [key: string]: unknown;
  name: string;
  title?: string;
  description: string;
  inputSchema: { type: "object"; [keyword: string]: unknown };
  annotations?: Record<string, unknown>;
}

/**
 * The tools under the names they are served with.
 *
 * @param all The tools.
 * @returns The tools in order, and one line for each that had to be left out.
 */
export function servedTools(
  all: Iterable<Tool>,
): { tools: Map<string, Tool>; warnings: string[] } {
  const tools = new Map<string, Tool>();
  const warnings: string[] = [];
  const spellings = new Map<string, Tool>();
  for (const tool of all) {
    let name = servedName(tool);
    // Some clients write "_" for "-", so names that differ in that alone are one name there.
    if (spellings.has(spelling(name))) {
      name = toolName(tool.source, {
        max: Math.min(SERVED_NAME_MAX, name.length - 1),
      });
    }
    const other = spellings.get(spelling(name));
    if (other === undefined) {
      spellings.set(spelling(name), tool);
      tools.set(name, tool);
    } else {
      warnings.push(
        `tool "${tool.name}" is not served: its name "${name}" is taken by "${other.name}"`,
      );
    }
  }
  return { tools, warnings };
}

function spelling(name: string): string {
  return name.replaceAll("-", "_");
}

/** Clients put a prefix of their own before a name and send at most 64 characters. */
function servedName(tool: Tool): string {
  return tool.name.length <= SERVED_NAME_MAX
    ? tool.name
    : toolName(tool.source, { max: SERVED_NAME_MAX });
}

/**
 * The definition of one tool.
 *
 * @param name The name it is served with.
 * @param tool The tool.
 * @returns The definition.
 */
export function toMcpDefinition(name: string, tool: Tool): McpToolDefinition {
  return {
    name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: "object" },
    ...(tool.annotations === undefined
      ? {}
      : { annotations: { ...tool.annotations } }),
  };
}

/**
 * Calls a tool and puts its result into the protocol's shape.
 *
 * @param tool The tool.
 * @param args The arguments.
 * @param context The signal and ids of the call.
 * @param onProgress Gets a count and the last line of what the tool has said, at most ten times a second.
 * @returns The result; a mistake of the host is a result too, so that one broken tool costs no session.
 */
export async function callServedTool(
  tool: Tool,
  args: unknown,
  context: ToolCallContext,
  onProgress?: (progress: number, message: string) => void,
): Promise<Record<string, unknown>> {
  let sent = -PROGRESS_INTERVAL_MS;
  let count = 0;
  const onUpdate = (partial: ToolResult): void => {
    const now = performance.now();
    if (now - sent < PROGRESS_INTERVAL_MS) return;
    sent = now;
    const line =
      resultText(partial).slice(-4 * MAX_PROGRESS).trimEnd().split("\n").at(
        -1,
      ) ?? "";
    onProgress?.(++count, line.slice(-MAX_PROGRESS).toWellFormed());
  };
  let result: ToolResult;
  try {
    result = await tool.execute(
      args,
      onProgress === undefined ? context : { ...context, onUpdate },
    );
  } catch (error) {
    result = {
      content: [{
        type: "text",
        text: `Cannot call "${tool.name}": ${messageOf(error)}`,
      }],
      isError: true,
    };
  }
  const { details } = result;
  return {
    content: result.content,
    ...(result.isError ? { isError: true } : {}),
    ...(result.structuredContent === undefined
      ? {}
      : { structuredContent: result.structuredContent }),
    ...(details === undefined ? {} : {
      _meta: {
        "bulkhead/details": {
          exitCode: details.exitCode,
          signal: details.signal,
          timedOut: details.timedOut,
          aborted: details.aborted,
          truncated: details.truncated,
          durationMs: details.durationMs,
          isolation: details.isolation,
        },
      },
    }),
  };
}
