import {
  type CommandIo,
  type Flags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { oneLine } from "./_cli_safe.ts";
import {
  leave,
  libraryOf,
  load,
  loadingFlags,
  operandsOf,
} from "./_cli_shared.ts";
import { JsonText, type NativeToolResult } from "./codec.ts";
import { AbiError, reasonOf } from "./errors.ts";
import { NativeHost } from "./host.ts";
import { parseJson, stringifyJson } from "./json.ts";
import { EVENT_NAMES, eventTag } from "./codes.ts";
import type { NativePlugin } from "./plugin.ts";

/** Somebody sits in front of it: a tool that hangs must not take the terminal. */
const CALL_TIMEOUT_MS = 60_000;
/** What of a tool's own error is shown on a terminal; it may be an answer of any length. */
const MAX_ERROR = 2_000;
/** How many updates of a tool are shown. */
const MAX_UPDATES = 1_000;

interface Answer {
  tool: string;
  isError: boolean;
  content: NativeToolResult["content"];
  details?: unknown;
  terminate?: boolean;
  addedToolNames?: string[];
  usage?: unknown;
  updates: NativeToolResult[];
  durationMs: number;
  error?: {
    code: string;
    message: string;
    fix?: string;
    signal?: string;
    exitCode?: number;
  };
}

/** `abi call LIB TOOL...` */
export async function call(args: string[], io: CommandIo): Promise<number> {
  const usage = "bulkhead abi call LIB TOOL --args '{}'";
  const flags = loadingFlags(args, {
    string: ["args", "timeout-ms", "repeat", "call-id"],
  });
  const library = libraryOf(flags, usage);
  const tools = operandsOf(flags).slice(1);
  if (tools.length === 0) {
    throw new UsageError("Cannot call a tool: none is named", usage);
  }
  const text = await argumentsOf(flags, io);
  const repeat = flags.integer("repeat", 1) ?? 1;
  const plugin = await load(flags, io, library);
  const answers: Answer[] = [];
  try {
    for (const tool of tools) {
      let answer: Answer | undefined;
      for (let i = 0; i < repeat; i++) {
        answer = await callOnce(plugin, tool, text, flags, io);
      }
      if (answer !== undefined) answers.push(answer);
    }
  } finally {
    await plugin.close();
  }
  const failed = answers.find((answer) => answer.error !== undefined);
  if (flags.on("json")) {
    const [only] = answers;
    const body = answers.length === 1 && only !== undefined
      ? only
      : { results: answers };
    const head = { schema: 1, ok: failed === undefined, plugin: plugin.name };
    io.out(
      stringifyJson({
        ...head,
        ...body,
        ...failed === undefined ? {} : { error: failed.error },
      }) + "\n",
    );
  } else print(io, answers);
  return leave(flags, failed === undefined ? 0 : 1);
}

async function callOnce(
  plugin: NativePlugin,
  tool: string,
  text: string,
  flags: Flags,
  io: CommandIo,
): Promise<Answer> {
  const updates: NativeToolResult[] = [];
  let left = false;
  const started = performance.now();
  const timeoutMs = flags.integer("timeout-ms") ?? CALL_TIMEOUT_MS;
  const toolCallId = flags.text("call-id");
  const took = () => Math.round((performance.now() - started) * 1_000) / 1_000;
  try {
    const result = await plugin.callTool(tool, new JsonText(text), {
      ...timeoutMs === 0 ? {} : { timeoutMs },
      ...toolCallId === undefined ? {} : { toolCallId },
      onUpdate: (update) => {
        if (updates.length < MAX_UPDATES) {
          updates.push(update);
          if (!flags.on("json")) io.err(`... ${oneLine(textOf(update))}\n`);
        } else if (!left && !flags.on("json")) {
          left = true;
          io.err("... further updates are not shown\n");
        }
      },
    });
    return { tool, isError: false, ...result, updates, durationMs: took() };
  } catch (error) {
    if (!(error instanceof AbiError)) throw error;
    const { code, message, fix, signal, exitCode } = error;
    return {
      tool,
      isError: true,
      content: [{ type: "text", text: message }],
      updates,
      durationMs: took(),
      error: {
        code,
        message,
        ...fix === undefined ? {} : { fix },
        ...signal === undefined ? {} : { signal },
        ...exitCode === undefined ? {} : { exitCode },
      },
    };
  }
}

/** `abi command LIB NAME [ARGS]` */
export async function command(args: string[], io: CommandIo): Promise<number> {
  const usage = "bulkhead abi command LIB NAME [ARGS]";
  const flags = loadingFlags(args, { string: ["timeout-ms"] });
  const library = libraryOf(flags, usage);
  const [, name, ...words] = operandsOf(flags);
  if (name === undefined) {
    throw new UsageError("Cannot run a command: none is named", usage);
  }
  const timeoutMs = flags.integer("timeout-ms", 1);
  const plugin = await load(flags, io, library);
  try {
    const answer = await plugin.runCommand(
      name,
      words.join(" "),
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    if (flags.on("json")) {
      io.out(
        stringifyJson({
          schema: 1,
          ok: true,
          plugin: plugin.name,
          command: name,
          answer,
        }) + "\n",
      );
    } else io.out(`${stringifyJson(answer)}\n`);
  } finally {
    await plugin.close();
  }
  return leave(flags, 0);
}

/** `abi emit LIB EVENT...` */
export async function emit(args: string[], io: CommandIo): Promise<number> {
  const flags = loadingFlags(args, { string: ["data"] });
  const library = libraryOf(flags, "bulkhead abi emit LIB SessionStart");
  const names = operandsOf(flags).slice(1).flatMap((name) =>
    name === "all" ? EVENT_NAMES : [name]
  );
  if (names.length === 0) {
    throw new UsageError(
      "Cannot send an event: no event is named",
      "bulkhead abi emit LIB SessionStart",
    );
  }
  const data = jsonOf("data", flags.text("data") ?? "{}");
  const types = names.map((name) => {
    const type = EVENT_NAMES[eventTag(name) ?? -1];
    if (type === undefined) {
      throw new UsageError(
        `Cannot send "${name}": it is no event`,
        `one of ${EVENT_NAMES.join(", ")}, all`,
      );
    }
    return type;
  });
  await using host = new NativeHost();
  let crash: AbiError | undefined;
  const onCrash = (error: AbiError) => void (crash ??= error);
  host.add(await load(flags, io, library, { onCrash }));
  const results = [];
  for (const type of types) {
    const payload = {
      message: data,
      toolCallId: "call",
      toolName: "tool",
      params: data,
      result: data,
      data,
    };
    results.push({ event: type, ...await host.dispatch({ type, ...payload }) });
  }
  if (!flags.on("json")) {
    for (const { event, ...result } of results) {
      io.out(`${event} ${JSON.stringify(result)}\n`);
    }
  }
  await host.close();
  if (crash !== undefined) throw crash;
  if (flags.on("json")) printResult(io, { results });
  return leave(flags, 0);
}

async function argumentsOf(flags: Flags, io: CommandIo): Promise<string> {
  const given = flags.text("args") ?? "{}";
  const text = given === "-" ? await new Response(io.stdin).text() : given;
  jsonOf("args", text);
  return text;
}

function jsonOf(flag: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new UsageError(
      `Cannot read --${flag}: ${reasonOf(error)}`,
      `--${flag} '{"key":"value"}'`,
    );
  }
}

function print(io: CommandIo, answers: readonly Answer[]): void {
  for (const { error, content } of answers) {
    if (error === undefined) {
      io.out(`${textOf({ content })}\n`);
    } else {
      const fix = error.fix === undefined ? "" : `; ${error.fix}`;
      io.err(`error: ${oneLine(error.message, MAX_ERROR)}${fix}\n`);
    }
  }
}

function textOf({ content }: Pick<NativeToolResult, "content">): string {
  return content.map((part) =>
    part.type === "text" ? part.text : `(${part.type})`
  ).join("\n");
}
