/**
 * `plugins call`, `fire` and `serve`.
 *
 * @module
 */
import { printResult, UsageError } from "@bulkhead/sandbox/command";
import { NotLoadedError, unknownWord } from "./_cli_errors.ts";
import { jsonArgument } from "./_cli_input.ts";
import type { Command, Verb } from "./_cli_shared.ts";
import { HOOK_EVENTS } from "./_hook_spec.ts";
import { refusedLines } from "./_refused.ts";
import { isRecord, printable, quote, terminalText } from "./_text.ts";
import { fireHooks, type HookPayload } from "./hooks.ts";
import { type RefusedPlugin, registerPlugins } from "./load.ts";
import {
  resultText,
  type Tool,
  ToolRegistry,
  type ToolResult,
} from "./tool.ts";

/** `plugins call`. */
export const call: Verb = {
  summary: "call one tool",
  help: `Call one tool, as a model would

Usage: plugins call NAME [--args JSON] [--timeout-ms N] [--json]

NAME is the name that "plugins list" shows, or PLUGIN/TOOL as the manifest has them. "--args -" reads the arguments
from stdin. The exit code is 1 when the call failed.

Examples:
  bulkhead plugins call plugin__demo__greet --args '{"name":"Ada"}'
  bulkhead plugins call demo/greet --args - < arguments.json
`,
  flags: { string: ["args", "timeout-ms"] },
  operands: [1, 1],
  takesPins: true,
  run: runCall,
};

async function runCall(command: Command): Promise<number> {
  const timeoutMs = command.flags.integer("timeout-ms", 1);
  const args = await jsonArgument(command, "args", "{}");
  const outcome = await command.loadOrFail({
    ask: command.flags.text("args") !== "-",
  });
  const name = command.operand();
  const native = new ToolRegistry();
  let close = (): Promise<void> => Promise.resolve();
  // A library is started only when no script's tool has the name.
  if (!outcome.tools.some((tool) => isNamed(tool, name))) {
    close = await command.openNative(outcome, native);
  }
  let tool: Tool;
  let result: ToolResult;
  try {
    tool = findTool([...outcome.tools, ...native], name, outcome.refused);
    result = await command.interruptible((signal) =>
      tool.execute(args, {
        signal,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
    );
  } finally {
    await close();
  }
  const failed = result.isError === true;
  if (command.json) {
    const [message = ""] = resultText(result).split("\n", 1);
    return command.finish(
      { tool: tool.name, result },
      failed ? { code: "tool_failed", message } : undefined,
    );
  }
  // A program that reads the answer gets it as it is; a terminal would act on what is in it.
  const onTerminal = command.io.isTerminal ||
    (failed && Deno.stderr.isTerminal());
  for (const part of result.content) {
    const raw = part.type === "text" ? part.text : `[${part.type}]`;
    const text = onTerminal ? terminalText(raw) : raw;
    if (failed) command.io.err(text.endsWith("\n") ? text : `${text}\n`);
    else command.io.out(text.endsWith("\n") ? text : `${text}\n`);
  }
  return failed ? 1 : 0;
}

function findTool(
  tools: readonly Tool[],
  name: string,
  refused: readonly RefusedPlugin[],
): Tool {
  const tool = tools.find((each) => isNamed(each, name));
  if (tool !== undefined) return tool;
  const held = refused.filter((plugin) =>
    name.startsWith(`${plugin.name}/`) ||
    name.startsWith(`plugin__${plugin.name}__`)
  );
  const [line] = refusedLines(held);
  if (line !== undefined) {
    throw new NotLoadedError(
      `Cannot call ${quote(name)}: ${line}`,
      "bulkhead plugins trust",
    );
  }
  throw unknownWord("loaded tool", name, tools.map((each) => each.name));
}

function isNamed({ name, source }: Tool, wanted: string): boolean {
  return name === wanted || `${source.plugin}/${source.tool}` === wanted;
}

/** `plugins fire`. */
export const fire: Verb = {
  summary: "fire a hook event and show what the hooks say",
  help: `Fire a hook event, as a session would

Usage: plugins fire EVENT [--payload JSON] [--json]

EVENT is one of ${HOOK_EVENTS.join(", ")}.
The payload is {"session_id", "cwd", "tool": {"name", "input"}, "result", "prompt"}; what is left out is filled in.

Examples:
  bulkhead plugins fire session_start
  bulkhead plugins fire pre_tool --payload '{"tool":{"name":"Write","input":{"file_path":"/tmp/x"}}}'
`,
  flags: { string: ["payload"] },
  operands: [1, 1],
  takesPins: true,
  run: runFire,
};

async function runFire(command: Command): Promise<number> {
  const event = command.operand();
  if (!HOOK_EVENTS.some((known) => known === event)) {
    throw unknownWord("event", event, HOOK_EVENTS);
  }
  const payload = toPayload(
    await jsonArgument(command, "payload", "{}"),
    command.workspace,
  );
  const { hooks } = await command.loadOrFail({
    ask: command.flags.text("payload") !== "-",
  });
  const outcome = await command.interruptible((signal) =>
    fireHooks(hooks, event, { payload, signal })
  );
  if (command.json) {
    printResult(command.io, { event, outcome });
    return 0;
  }
  for (const report of outcome.reports) {
    const said = report.failure !== undefined
      ? `failed: ${report.failure}`
      : report.decision ?? "no opinion";
    // The reason of a failure says the same once more.
    const why = report.reason === undefined || report.failure !== undefined
      ? ""
      : ` (${printable(report.reason)})`;
    command.say(
      `${printable(report.plugin)}: ${report.command}: ${
        printable(said)
      }${why}`,
    );
  }
  if (outcome.updatedInput !== undefined) {
    command.say(
      `input: ${printable(JSON.stringify(outcome.updatedInput))}`,
    );
  }
  const none = hooks.some(({ fires }) => fires === event)
    ? ", no hook of this event is for this tool"
    : ", no hook is for this event";
  command.say(
    `decision: ${outcome.decision ?? "none"}${
      outcome.reports.length === 0 ? none : ""
    }`,
  );
  return 0;
}

function toPayload(value: unknown, workspace: string): HookPayload {
  if (!isRecord(value)) {
    throw new UsageError(
      "Cannot read the command line: --payload is not an object",
      `--payload '{"tool":{"name":"Write"}}'`,
    );
  }
  const { tool, result, prompt, session_id: session, cwd, ...rest } = value;
  if (
    tool !== undefined && (!isRecord(tool) || typeof tool.name !== "string")
  ) {
    throw new UsageError(
      'Cannot read the command line: "tool" of --payload has no "name"',
      `--payload '{"tool":{"name":"Write"}}'`,
    );
  }
  return {
    ...rest,
    "session_id": typeof session === "string" ? session : "cli",
    cwd: typeof cwd === "string" ? cwd : workspace,
    workspace,
    ...(isRecord(tool) && typeof tool.name === "string"
      ? { tool: { ...tool, name: tool.name } }
      : {}),
    ...(isRecord(result) ? { result } : {}),
    ...(typeof prompt === "string" ? { prompt } : {}),
  };
}

/** `plugins serve`. */
export const serve: Verb = {
  summary: "offer the trusted tools over MCP on stdin and stdout",
  help:
    `Serve the tools of the trusted plugins over the Model Context Protocol, on stdin and stdout

Usage: plugins serve [--workspace DIR] [--trust-plugin NAME=sha256:…]

For a client's configuration; it ends with its input. What people should know goes to stderr. Tools that become
trusted later are announced to the client.

Examples:
  claude mcp add bulkhead -- bulkhead plugins serve
  codex: [mcp_servers.bulkhead] command = "bulkhead", args = ["plugins", "serve"]
`,
  operands: [0, 0],
  takesPins: true,
  run: runServe,
};

async function runServe(command: Command): Promise<number> {
  const { serveTools } = await import("./serve.ts");
  const { watchTools } = await import("./_watch_tools.ts");
  let registry = new ToolRegistry();
  const outcome = await command.load({ ask: false });
  command.checkPins(outcome);
  for (const line of registerPlugins(outcome, registry)) command.note(line);
  let closeNative = await command.openNative(outcome, registry);
  if (outcome.status === "disabled") {
    command.note(
      `warning: plugins are off in ${
        printable(command.home)
      }/config.toml: no tool is served`,
    );
  }
  await command.interruptible(async (signal) => {
    const stop = new AbortController();
    const ended = AbortSignal.any([signal, stop.signal]);
    let watching: Promise<void> | undefined;
    // What is served is looked up anew for every request, so a reload only has to swap the registry.
    await serveTools({ [Symbol.iterator]: () => registry[Symbol.iterator]() }, {
      input: command.io.stdin,
      ...(command.io.stdout === undefined ? {} : { output: command.io.stdout }),
      signal,
      onNotice: (line) => command.note(line),
      onSession(session) {
        watching = watchTools(command.home, {
          signal: ended,
          async onChange() {
            const next = new ToolRegistry();
            const loaded = await command.reload();
            for (const line of registerPlugins(loaded, next)) {
              command.note(line);
            }
            const closeOld = closeNative;
            closeNative = await command.openNative(loaded, next);
            registry = next;
            await session.toolsChanged();
            await closeOld();
          },
        });
      },
    });
    stop.abort();
    await watching;
  }).finally(() => closeNative());
  return 0;
}
