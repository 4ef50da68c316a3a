/**
 * The agent's own tools, with real effects: `Write`, `Read`, `Edit`, `Bash`.
 *
 * @module
 */
import { inheritedEnvironment, reasonOf, run } from "@bulkhead/sandbox";
import type { Json } from "./output.ts";

/** What a tool call gave. */
export interface ToolAnswer {
  /** Text, or content blocks, for the model. */
  content: string | Json[];
  /** Whether it failed. */
  isError: boolean;
  /** The `tool_use_result` of the frame. */
  detail: unknown;
  /** Whether `is_error: false` is spelt out, as for shell commands. */
  saysFalse?: boolean;
}

/** What a tool may use. */
export interface ToolScope {
  /** The session's directory. */
  cwd: string;
  /** Ends a running command. */
  signal: AbortSignal;
}

const MAX_READ = 16 * 1024 * 1024;

/** The names of the tools with an executor here. */
export const OWN_TOOLS: readonly string[] = ["Write", "Read", "Edit", "Bash"];

/** Runs one of the agent's own tools. */
export async function runTool(
  tool: string,
  input: Json,
  scope: ToolScope,
): Promise<ToolAnswer> {
  try {
    switch (tool) {
      case "Write":
        return await write(input);
      case "Read":
        return await read(input);
      case "Edit":
        return await edit(input);
      case "Bash":
        return await bash(input, scope);
      default:
        return failed(
          `<tool_use_error>Error: No such tool available: ${tool}</tool_use_error>`,
        );
    }
  } catch (error) {
    return failed(reasonOf(error));
  }
}

/** A tool result that reports an error. */
export function failed(content: string): ToolAnswer {
  return { content, isError: true, detail: `Error: ${content}` };
}

/** Makes the paths of an input absolute, as the real child does before it asks. */
export function absoluteInput(input: Json, cwd: string): Json {
  const path = input.file_path;
  if (typeof path !== "string") return input;
  const trimmed = path.trim();
  const home = Deno.env.get("HOME");
  const full = trimmed.startsWith("~/") && home
    ? `${home}/${trimmed.slice(2)}`
    : trimmed.startsWith("/")
    ? trimmed
    : `${cwd}/${trimmed}`;
  return { ...input, file_path: normalise(full) };
}

function normalise(path: string): string {
  const out: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") out.pop();
    else out.push(part);
  }
  return "/" + out.join("/");
}

async function write(input: Json): Promise<ToolAnswer> {
  const path = String(input.file_path ?? "");
  const content = String(input.content ?? "");
  const before = await readIfThere(path);
  const link = await Deno.lstat(path).catch(() => undefined);
  if (link?.isSymlink && before === undefined) {
    return failed(`Refusing to write through symlink: ${path}`);
  }
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")) || "/", {
    recursive: true,
  });
  await Deno.writeTextFile(path, content);
  return {
    content: before === undefined
      ? `File created successfully at: ${path} (file state is current in your context — no need to Read it back)`
      : `The file ${path} has been updated successfully. (file state is current in your context — no need to Read it back)`,
    isError: false,
    detail: {
      type: before === undefined ? "create" : "update",
      filePath: path,
      content,
      structuredPatch: [],
      originalFile: before ?? null,
      userModified: false,
    },
  };
}

async function read(input: Json): Promise<ToolAnswer> {
  const path = String(input.file_path ?? "");
  const info = await Deno.stat(path).catch(() => undefined);
  if (info === undefined) {
    return failed(`File does not exist. Current path: ${path}`);
  }
  if (!info.isFile) {
    return failed("EISDIR: illegal operation on a directory, read");
  }
  if (info.size > MAX_READ) {
    return failed(`File is too large: ${info.size} bytes`);
  }
  const text = await Deno.readTextFile(path);
  const lines = text.split("\n");
  const start = typeof input.offset === "number"
    ? Math.max(1, input.offset)
    : 1;
  const count = typeof input.limit === "number" ? input.limit : 2000;
  const part = lines.slice(start - 1, start - 1 + count);
  return {
    content: part.map((line, i) => `${start + i}\t${line}`).join("\n"),
    isError: false,
    detail: {
      type: "text",
      file: {
        filePath: path,
        content: part.join("\n"),
        numLines: part.length,
        startLine: start,
        totalLines: lines.length,
      },
    },
  };
}

async function edit(input: Json): Promise<ToolAnswer> {
  const path = String(input.file_path ?? "");
  const from = String(input.old_string ?? "");
  const to = String(input.new_string ?? "");
  const before = await readIfThere(path);
  if (before === undefined) {
    return failed(`File does not exist. Current path: ${path}`);
  }
  const parts = before.split(from);
  if (from === "" || parts.length === 1) {
    return failed(
      `<tool_use_error>String to replace not found in file.\nString: ${from}</tool_use_error>`,
    );
  }
  if (parts.length > 2 && input.replace_all !== true) {
    return failed(
      `<tool_use_error>Found ${
        parts.length - 1
      } matches of the string to replace, but replace_all is false.</tool_use_error>`,
    );
  }
  await Deno.writeTextFile(path, parts.join(to));
  return {
    content:
      `The file ${path} has been updated successfully. (file state is current in your context — no need to Read it back)`,
    isError: false,
    detail: {
      filePath: path,
      oldString: from,
      newString: to,
      originalFile: before,
      structuredPatch: [],
      userModified: false,
      replaceAll: input.replace_all === true,
    },
  };
}

async function bash(input: Json, scope: ToolScope): Promise<ToolAnswer> {
  const command = String(input.command ?? "");
  const result = await run(["/bin/sh", "-c", command], {
    cwd: scope.cwd,
    env: { ...inheritedEnvironment(), ...visibleEnvironment() },
    timeoutMs: typeof input.timeout === "number" ? input.timeout : 120_000,
    signal: scope.signal,
  });
  const detail = {
    stdout: result.stdout.trimEnd(),
    stderr: result.stderr.trimEnd(),
    interrupted: result.aborted || result.timedOut,
    isImage: false,
    noOutputExpected: result.stdout === "" && result.stderr === "",
  };
  const text = [detail.stdout, detail.stderr].filter((t) => t !== "").join(
    "\n",
  );
  if (!result.success) {
    const code = result.timedOut
      ? `Command timed out`
      : `Exit code ${result.code ?? result.signal ?? "unknown"}`;
    const content = text === "" ? code : `${code}\n${text}`;
    return { content, isError: true, detail: `Error: ${content}` };
  }
  return {
    content: text === "" ? "(Bash completed with no output)" : text,
    isError: false,
    detail,
    saysFalse: true,
  };
}

/** An agent's shell sees the agent's environment; loader variables need wider grants, so they stay out. */
function visibleEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) =>
      !/^(LD_|DYLD_)/.test(name)
    ),
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
