/**
 * One tool of a plugin as a {@linkcode Tool}: arguments checked, content verified, one confined process, one answer.
 *
 * @module
 */

import {
  exitSignal,
  IsolationUnavailableError,
  namePermission,
} from "@bulkhead/sandbox";
import { mayHoldLongNumbers } from "./_exact_json.ts";
import {
  OUTPUT_MAX_BYTES,
  type PluginProgram,
  type ProgramResult,
} from "./_plugin_run.ts";
import { clip, isRecord, messageOf, printable } from "./_text.ts";
import { UntrustedError } from "./errors.ts";
import type { ArgumentValidator } from "./schema.ts";
import {
  textResult,
  type Tool,
  type ToolCallContext,
  type ToolCallDetails,
  type ToolResult,
} from "./tool.ts";

/** What a plugin's tool is made of. */
export interface PluginToolParts {
  /** Everything but the call itself. */
  tool: Omit<Tool, "execute">;
  /** The program that answers. */
  program: PluginProgram;
  /** Checks the arguments before anything is started. */
  validator: ArgumentValidator;
  /** The deadline of one call in milliseconds. */
  timeoutMs: number;
  /** The working directory when the caller names none. */
  workspace: string;
}

/** Makes the tool. */
export function createPluginTool(parts: PluginToolParts): Tool {
  return {
    ...parts.tool,
    execute: (args: unknown, context?: ToolCallContext) =>
      executePluginTool(parts, args, context ?? {}),
  };
}

async function executePluginTool(
  parts: PluginToolParts,
  args: unknown,
  context: ToolCallContext,
): Promise<ToolResult> {
  const { program, tool } = parts;
  let input: unknown = args ?? {};
  let stdin: string;
  try {
    stdin = JSON.stringify(input) ?? "{}";
    // What is checked is what the tool will read, whatever classes the host used.
    if (!isRecord(input) || mayHoldLongNumbers(stdin)) {
      input = JSON.parse(stdin);
    }
  } catch (error) {
    return textResult(
      `invalid arguments for \`${tool.name}\`: not JSON: ${messageOf(error)}`,
      true,
    );
  }
  const invalid = await parts.validator.problem(input);
  if (invalid !== undefined) {
    return textResult(
      `invalid arguments for \`${tool.name}\`: ${invalid}`,
      true,
    );
  }
  const timeoutMs = Math.min(
    parts.timeoutMs,
    context.timeoutMs ?? parts.timeoutMs,
  );
  let result: ProgramResult;
  try {
    result = await program.run({
      stdin,
      cwd: context.cwd ?? parts.workspace,
      timeoutMs,
      signal: context.signal,
      onStdout: context.onUpdate && reportTo(context.onUpdate),
    });
  } catch (error) {
    return textResult(startFailure(program, tool.name, error), true);
  }
  return toolResult(tool.name, result, timeoutMs);
}

/** What to say when nothing was started. A missing grant of the host itself is the host's to see. */
function startFailure(
  program: PluginProgram,
  name: string,
  error: unknown,
): string {
  if (error instanceof Deno.errors.NotCapable) {
    throw namePermission(`Calling "${name}"`, error);
  }
  if (error instanceof UntrustedError) {
    return `plugin tool \`${name}\` refused: ${error.message}`;
  }
  if (error instanceof IsolationUnavailableError) {
    return `plugin tool \`${name}\` not run: ${error.message}, or set sandbox = "preferred" in [capabilities.plugins]`;
  }
  return `spawn \`${printable(program.command)}\`: ${messageOf(error)}`;
}

function toolResult(
  name: string,
  result: ProgramResult,
  timeoutMs: number,
): ToolResult {
  let text = result.stdout;
  if (result.truncated.stdout) {
    text += `\n[plugin output truncated at ${OUTPUT_MAX_BYTES} bytes]`;
  }
  if (result.stderr.trim() !== "") {
    text += `\n[stderr]\n${result.stderr}`;
    if (result.truncated.stderr) {
      text += `\n[plugin stderr truncated at ${OUTPUT_MAX_BYTES} bytes]`;
    }
  }
  const failed = !result.success;
  const end = endOf(name, result, timeoutMs);
  if (end !== undefined) {
    text += text === "" && !end.startsWith("[") ? end : `\n${end}`;
  }
  const answer = textResult(text, failed);
  const details: ToolCallDetails = {
    exitCode: result.code,
    signal: result.signal,
    timedOut: result.timedOut,
    aborted: result.aborted,
    truncated: result.truncated,
    durationMs: result.durationMs,
    stderr: result.stderr,
    isolation: result.isolation,
  };
  answer.details = details;
  return answer;
}

/** The closing line for everything but success. */
function endOf(
  name: string,
  result: ProgramResult,
  timeoutMs: number,
): string | undefined {
  if (result.timedOut) {
    return `plugin tool \`${name}\` timed out after ${duration(timeoutMs)}`;
  }
  if (result.aborted) return `plugin tool \`${name}\` was cancelled`;
  if (result.success) return undefined;
  if (result.signal !== null) {
    return `[plugin tool \`${name}\` exited by signal ${result.signal}]`;
  }
  const code = result.code ?? 0;
  // The first process of a PID namespace reports the signal of its child as a shell does.
  const signal = result.isolation === "bubblewrap"
    ? exitSignal(code)
    : undefined;
  return signal === undefined
    ? `[plugin tool \`${name}\` exited ${code}]`
    : `[plugin tool \`${name}\` exited ${code} (signal ${signal})]`;
}

/** A duration as people write it: `300ms`, `1.5s`, `30s`. */
function duration(ms: number): string {
  return ms < 1000 ? `${ms}ms` : `${ms / 1000}s`;
}

/** At most ten reports a second, each with the text so far, the first 64 KiB of it. */
function reportTo(
  onUpdate: (partial: ToolResult) => void,
): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  let text = "";
  let next = 0;
  return (chunk) => {
    if (text.length >= REPORT_MAX) return;
    text += decoder.decode(chunk, { stream: true });
    const now = performance.now();
    if (now < next) return;
    next = now + REPORT_EVERY_MS;
    onUpdate(textResult(clip(text, REPORT_MAX)));
  };
}

/** Characters of a running tool that are reported. */
const REPORT_MAX = 64 * 1024;
/** How often they are reported, at most. */
const REPORT_EVERY_MS = 100;
