/**
 * A small host for Claude Code over stream-json, straight on the pipes: what the real program does is
 * shown without any of our own worker in between.
 *
 * @module
 */
import {
  type ManagedProcess,
  readLines,
  startProcess,
} from "@bulkhead/sandbox";

/** A parsed line. */
export type Line = Record<string, unknown>;

/** Options of {@linkcode openClaude}. */
export interface ClaudeOptions {
  /** Working directory. */
  readonly cwd: string;
  /** Whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Judges a call: a reason denies it. */
  readonly gate: (toolName: string, input: unknown) => string | undefined;
  /** Further arguments. */
  readonly args?: readonly string[];
}

const ARGS = [
  "-p",
  "--input-format=stream-json",
  "--output-format=stream-json",
  "--verbose",
  "--include-partial-messages",
  "--replay-user-messages",
  "--permission-prompt-tool=stdio",
  "--setting-sources=user",
  "--strict-mcp-config",
  "--settings",
  JSON.stringify({
    disableAllHooks: false,
    permissions: { ask: ["Bash", "Write", "Edit", "NotebookEdit"] },
  }),
];

/** A running Claude Code with our gate. */
export interface ClaudeSession extends AsyncDisposable {
  /** The process. */
  readonly child: ManagedProcess;
  /** Every line so far. */
  readonly lines: readonly Line[];
  /** Tool names the gate saw, in order. */
  readonly gated: readonly string[];
  /** Sends a turn. */
  send(text: string): Promise<void>;
  /** Reads until a line of that type, and of that subtype if given. */
  until(type: string, subtype?: string): Promise<Line>;
}

function inner(line: Line): Line {
  const request = line.request;
  return typeof request === "object" && request !== null ? { ...request } : {};
}

/**
 * Starts Claude Code, registers the gate and waits until it is confirmed.
 *
 * @param binary The program.
 * @param options Where, with what, and the gate.
 * @returns The session.
 */
export async function openClaude(
  binary: string,
  options: ClaudeOptions,
): Promise<ClaudeSession> {
  const env = { ...options.env, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1" };
  const argv = [binary, ...ARGS, ...options.args ?? []];
  const child = await startProcess(argv, {
    cwd: options.cwd,
    env,
    stderr: "null",
    parentDeath: "SIGTERM",
  });
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  const write = (line: Line) =>
    writer.write(encoder.encode(JSON.stringify(line) + "\n"));
  const lines: Line[] = [];
  const gated: string[] = [];
  const source = readLines(child.stdout);

  function answer(line: Line): Promise<void> {
    const request = inner(line);
    const respond = (response: Line) =>
      write({
        type: "control_response",
        response: { subtype: "success", request_id: line.request_id, response },
      });
    if (request.subtype === "can_use_tool") {
      return respond({ behavior: "allow", updatedInput: request.input });
    }
    if (request.subtype !== "hook_callback") return respond({});
    const { input } = request;
    const call: Line = typeof input === "object" && input !== null
      ? { ...input }
      : {};
    gated.push(String(call.tool_name));
    const reason = options.gate(String(call.tool_name), call.tool_input);
    return respond(
      reason === undefined ? {} : {
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "deny",
          permissionDecisionReason: reason,
        },
      },
    );
  }

  async function until(type: string, subtype?: string): Promise<Line> {
    for (;;) {
      const { value, done } = await source.next();
      if (done) {
        throw new Error(
          `Claude Code ended before "${type}": ${JSON.stringify(lines.at(-1))}`,
        );
      }
      const line: Line = JSON.parse(new TextDecoder().decode(value.bytes));
      lines.push(line);
      if (line.type === "control_request") await answer(line);
      if (
        line.type === type &&
        (subtype === undefined || line.subtype === subtype)
      ) return line;
    }
  }

  await write({
    type: "control_request",
    request_id: "init-1",
    request: {
      subtype: "initialize",
      hooks: {
        PreToolUse: [{ matcher: null, hookCallbackIds: ["gate"], timeout: 30 }],
      },
    },
  });
  await until("control_response");
  return {
    child,
    lines,
    gated,
    send: (text) =>
      write({
        type: "user",
        message: { role: "user", content: [{ type: "text", text }] },
      }),
    until,
    async [Symbol.asyncDispose]() {
      await child.end({ eofMs: 5000 });
      await source.return(undefined);
    },
  };
}
