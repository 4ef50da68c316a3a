/**
 * Neutral calls (`do: "write"`) as calls of the tools an agent offers.
 *
 * @module
 */
import type { JsonObject } from "./_json.ts";
import type { AnswerCall, ModelRequest, OfferedTool } from "./request.ts";
import type { ScriptCall } from "./script.ts";

/** A neutral call for which the agent offers no tool. */
export class NoSuchToolError extends Error {
  /** Name of the error. */
  override name = "NoSuchToolError";
}

type Arguments = JsonObject | string;
type Form = (call: ScriptCall, tool: OfferedTool) => Arguments;

/** Fills the first name out of several spellings that the tool's schema lists. */
function put(
  tool: OfferedTool,
  values: ReadonlyArray<readonly [names: readonly string[], value: unknown]>,
): JsonObject {
  return Object.fromEntries(values.flatMap(([names, value]) => {
    const name = names.find((name) => tool.parameters.includes(name));
    return name === undefined ? [] : [[name, value]];
  }));
}

function patchText(call: ScriptCall): string {
  const lines = (call.content ?? "").replace(/\n$/, "").split("\n").map((
    line,
  ) => `+${line}`);
  return [
    "*** Begin Patch",
    `*** Add File: ${call.path}`,
    ...lines,
    "*** End Patch",
    "",
  ].join("\n");
}

function patch(call: ScriptCall, tool: OfferedTool): Arguments {
  const text = patchText(call);
  return tool.kind === "custom"
    ? text
    : put(tool, [[["patchText", "input", "patch"], text]]);
}

function shell(call: ScriptCall, tool: OfferedTool): JsonObject {
  const wantsList = tool.name === "shell";
  return {
    ...put(tool, [[["cmd"], call.command]]),
    ...put(tool, [[
      ["command"],
      wantsList ? ["bash", "-lc", call.command] : call.command,
    ]]),
    ...put(tool, [[["description"], "Run a command"]]),
  };
}

function subagent(call: ScriptCall, tool: OfferedTool): JsonObject {
  return put(tool, [
    [["prompt", "message"], call.prompt],
    [["description"], "Do a part of the work"],
    [["task_name"], "part"],
    [["subagent_type"], tool.name === "task" ? "general" : "general-purpose"],
  ]);
}

/** For each verb the tool names that do it, best first. */
const VERBS: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  write: {
    Write: (call) => ({ file_path: call.path, content: call.content }),
    write: (call) => ({ filePath: call.path, content: call.content }),
    write_file: (call) => ({ file_path: call.path, content: call.content }),
    apply_patch: patch,
  },
  read: {
    Read: (call) => ({ file_path: call.path }),
    read: (call) => ({ filePath: call.path }),
    read_file: (call) => ({ file_path: call.path }),
  },
  shell: {
    Bash: shell,
    bash: shell,
    exec_command: shell,
    shell_command: shell,
    shell: shell,
    run_shell_command: shell,
  },
  subagent: {
    Agent: subagent,
    Task: subagent,
    task: subagent,
    spawn_agent: subagent,
  },
};

/** Arguments of the tools that only exist inside a code tool, by verb: Codex's `exec` runs JavaScript. */
const CODE_VERBS: Readonly<
  Record<
    string,
    (call: ScriptCall) => readonly [tool: string, input: Arguments]
  >
> = {
  write: (call) => ["apply_patch", patchText(call)],
  shell: (call) => ["exec_command", { cmd: call.command }],
  read: (
    call,
  ) => ["exec_command", {
    cmd: `cat '${call.path?.replaceAll("'", `'\\''`)}'`,
  }],
  tool: (call) => [call.name ?? "", call.input ?? {}],
};

/** JavaScript that calls one nested tool, whatever prefix its name has, and says what came back. */
function code(tool: string, input: Arguments): string {
  return [
    `const name = Object.keys(tools).find((name) => name === ${
      JSON.stringify(tool)
    }) ??`,
    `  ALL_TOOLS.map((tool) => tool.name).find((name) => name.endsWith(${
      JSON.stringify("_" + tool)
    }));`,
    `try { text(await tools[name ?? ${JSON.stringify(tool)}](${
      JSON.stringify(input)
    })); }`,
    `catch (error) { text("error: " + (error?.message ?? error)); }`,
  ].join("\n");
}

function offered(request: ModelRequest): string {
  return request.tools.map((tool) =>
    tool.namespace ? `${tool.namespace}/${tool.name}` : tool.name
  ).join(", ") || "none";
}

/** The tool on offer that does what a neutral call says, and its arguments. */
function find(
  call: ScriptCall,
  request: ModelRequest,
): { tool: OfferedTool; input: Arguments } | undefined {
  if (call.do === "tool") {
    const name = call.name ?? "";
    const tool = request.tools.find((tool) => tool.name === name) ??
      request.tools.find((tool) => tool.name.endsWith(`_${name}`));
    if (tool) return { tool, input: call.input ?? {} };
  }
  for (const [name, form] of Object.entries(VERBS[call.do ?? ""] ?? {})) {
    const tool = request.tools.find((tool) => tool.name === name);
    if (tool) return { tool, input: form(call, tool) };
  }
  const coded = CODE_VERBS[call.do ?? ""]?.(call);
  const tool = request.tools.find((tool) =>
    tool.name === "exec" && tool.kind === "custom"
  );
  return coded && tool && { tool, input: code(...coded) };
}

/**
 * The search for the tools that a step calls and that are not on offer yet.
 *
 * @param calls Of the step.
 * @param request Whose tools count.
 * @param id Of the search.
 * @returns The call of the search tool, or `undefined` when there is none or nothing to search.
 */
export function searchFor(
  calls: readonly ScriptCall[],
  request: ModelRequest,
  id: string,
): AnswerCall | undefined {
  const search = request.tools.find((tool) => tool.kind === "search");
  const missing = calls.find((call) =>
    call.do === "tool" && !find(call, request)
  );
  if (!search || !missing) return undefined;
  const query = missing.name?.replaceAll("_", " ");
  return {
    id,
    name: search.name,
    kind: "search",
    arguments: JSON.stringify({ query, limit: 8 }),
  };
}

/**
 * Turns a call of the script into the call the agent gets.
 *
 * @param call Of the script.
 * @param request Whose tools count.
 * @param id Of the call, unless the script says one.
 * @returns The call.
 * @throws {NoSuchToolError} When a neutral call finds no tool; an exact name is always sent.
 */
export function resolveCall(
  call: ScriptCall,
  request: ModelRequest,
  id: string,
): AnswerCall {
  if (call.tool !== undefined) {
    const known = request.tools.find((tool) =>
      tool.name === call.tool &&
      (call.namespace === undefined || tool.namespace === call.namespace)
    );
    const namespace = call.namespace ?? known?.namespace;
    return {
      id: call.id ?? id,
      name: call.tool,
      ...(namespace === undefined ? {} : { namespace }),
      kind: known?.kind ?? "function",
      arguments: typeof call.input === "string"
        ? call.input
        : JSON.stringify(call.input ?? {}),
    };
  }
  const found = find(call, request);
  if (!found) {
    const wanted = call.do === "tool"
      ? `is or ends with "${call.name}"`
      : `can do "${call.do}"`;
    throw new NoSuchToolError(
      `no tool on offer ${wanted}: on offer are ${offered(request)}`,
    );
  }
  const { tool, input } = found;
  return {
    id: call.id ?? id,
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
    kind: tool.kind,
    arguments: typeof input === "string" ? input : JSON.stringify(input),
  };
}
