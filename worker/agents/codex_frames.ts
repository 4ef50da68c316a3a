// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What Codex's app-server tells, as frames.
 *
 * @module
 */

import type {
  ControlRequestFrame,
  Frame,
  FrameUsage,
  SystemFrame,
  ToolResultPart,
} from "../frame.ts";
import { cap, isJsonObject, type JsonObject, TEXT_CAP } from "../frame.ts";

/** A call that Codex asks about, in the words of the hook. */
export interface KnownCall {
  /** The tool. */
  readonly toolName: string;
  /** The arguments. */
  readonly input: unknown;
}

/** Items that are tool calls, and under which name the hook knows them. */
const TOOL_ITEMS: Readonly<Record<string, (item: JsonObject) => string>> = {
  commandExecution: () => "Bash",
  fileChange: () => "apply_patch",
  mcpToolCall: (item) => `mcp__${item.server}__${item.tool}`,
  dynamicToolCall: (item) => text(item.tool),
  collabAgentToolCall: (item) => text(item.tool),
  webSearch: () => "web_search",
  imageView: () => "view_image",
};

/** Notices that are about the session itself. */
const SESSION_NOTICES = new Set([
  "turn/started",
  "hook/started",
  "hook/completed",
  "mcpServer/startupStatus/updated",
  "thread/tokenUsage/updated",
  "thread/status/changed",
  "thread/started",
  "thread/compacted",
  "model/rerouted",
  "warning",
  "configWarning",
  "deprecationNotice",
  "guardianWarning",
]);

/** Turns the notices and requests of one app-server into frames. Holds what later ones refer to. */
export class CodexFrames {
  /** The id of the thread that people talk to, once it is known. */
  root: string | undefined;
  /** The id of the running turn. */
  turn: string | undefined;
  readonly #threads = new Map<string, string>();
  readonly #changes = new Map<string, JsonObject>();
  #reply = "";
  #total: Totals = NOTHING;
  #before: Totals = NOTHING;

  /**
   * The frames of one notice.
   *
   * @param method What is told.
   * @param params With what.
   * @returns The frames in order.
   */
  notice(method: string, params: JsonObject): Frame[] {
    const frames = this.#notice(method, params);
    for (const frame of frames) {
      if (this.root !== undefined) frame.session_id = this.root;
      const parent = this.#parentOf(params.threadId);
      if (parent !== undefined) frame.parent_tool_use_id = parent;
    }
    return frames;
  }

  /**
   * The frame of a request of the agent that a person may have to answer.
   *
   * @param askId The id under which it is answered.
   * @param method What is asked.
   * @param params With what.
   * @param known The call as the hook has seen it.
   * @returns The frame, or `undefined` when it is no question about a call.
   */
  ask(
    askId: string,
    method: string,
    params: JsonObject,
    known: KnownCall | undefined,
  ): ControlRequestFrame | undefined {
    const call = known ?? this.#callOf(method, params);
    if (call === undefined) return undefined;
    const itemId = text(params.itemId);
    return {
      kind: "control_request",
      request_id: askId,
      subtype: "can_use_tool",
      tool_name: call.toolName,
      input: call.input,
      decision_reason_type: "rule",
      ...(itemId === "" ? {} : { tool_use_id: itemId }),
      ...(typeof params.reason === "string"
        ? { decision_reason: params.reason }
        : {}),
      ...(this.root === undefined ? {} : { session_id: this.root }),
      ...(params.threadId !== this.root && typeof params.threadId === "string"
        ? { agent_id: params.threadId }
        : {}),
    };
  }

  /** The subagent's call that started a thread; `undefined` for the root. */
  #parentOf(threadId: unknown): string | undefined {
    if (typeof threadId !== "string" || threadId === this.root) {
      return undefined;
    }
    return this.#threads.get(threadId) ?? threadId;
  }

  #callOf(method: string, params: JsonObject): KnownCall | undefined {
    switch (method) {
      case "item/commandExecution/requestApproval":
        return {
          toolName: "Bash",
          input: { command: params.command ?? "", cwd: params.cwd },
        };
      case "item/fileChange/requestApproval":
        // The paths came with the item that began before.
        return {
          toolName: "apply_patch",
          input: {
            changes: this.#changes.get(text(params.itemId))?.changes ?? [],
            ...(params.grantRoot == null
              ? {}
              : { grantRoot: params.grantRoot }),
          },
        };
      case "mcpServer/elicitation/request": {
        const meta = isJsonObject(params._meta) ? params._meta : {};
        if (meta.codex_approval_kind !== "mcp_tool_call") return undefined;
        return {
          toolName: `mcp__${text(params.serverName)}__${text(meta.tool_name)}`,
          input: meta.tool_params ?? {},
        };
      }
      default:
        return undefined;
    }
  }

  #notice(method: string, params: JsonObject): Frame[] {
    const own = params.threadId === undefined || params.threadId === this.root;
    switch (method) {
      case "turn/started":
        if (!own) break;
        this.turn = text(isJsonObject(params.turn) ? params.turn.id : "");
        this.#reply = "";
        this.#before = this.#total;
        return [state("running"), { kind: "system", subtype: method }];
      case "thread/status/changed":
        return this.#status(params, own);
      case "thread/tokenUsage/updated":
        if (own) this.#total = totalsOf(params.tokenUsage);
        break;
      case "item/agentMessage/delta":
        if (!own) break;
        return [{
          kind: "stream_event",
          delta: text(params.delta),
          event: method,
        }];
      case "item/started":
      case "item/completed":
        return this.#item(method, params, own);
      case "turn/completed":
        if (own) return this.#completed(params);
        break;
      case "error":
        return [{
          kind: "system",
          subtype: params.willRetry === true ? "api_retry" : method,
          error: text(isJsonObject(params.error) ? params.error.message : ""),
        }];
    }
    if (method.startsWith("hook/")) return [hookFrame(method, params)];
    return SESSION_NOTICES.has(method)
      ? [{ kind: "system", subtype: method }]
      : [{ kind: "other", type_name: method }];
  }

  #status(params: JsonObject, own: boolean): Frame[] {
    const status = isJsonObject(params.status) ? params.status : {};
    const plain: SystemFrame = {
      kind: "system",
      subtype: "thread/status/changed",
      status: text(status.type),
    };
    // Idle is told when the turn's result is: it comes a moment after this.
    if (!own || status.type !== "active") return [plain];
    const flags = Array.isArray(status.activeFlags) ? status.activeFlags : [];
    return [
      state(
        flags.includes("waitingOnApproval") ? "requires_action" : "running",
      ),
      plain,
    ];
  }

  #item(method: string, params: JsonObject, own: boolean): Frame[] {
    const item = isJsonObject(params.item) ? params.item : {};
    const type = text(item.type);
    const id = text(item.id);
    const done = method === "item/completed";
    if (type === "agentMessage" && done) {
      if (own) this.#reply = text(item.text);
      return [{ kind: "assistant", text: text(item.text), message_id: id }];
    }
    if (type === "userMessage" && done) {
      return [{
        kind: "user_echo",
        source: own ? "replay" : "subagent",
        text: inputText(item.content),
        ...(typeof item.clientId === "string" ? { uuid: item.clientId } : {}),
      }];
    }
    const name = TOOL_ITEMS[type]?.(item);
    if (name === undefined) {
      return [{ kind: "system", subtype: "item", text: type }];
    }
    for (
      const thread of Array.isArray(item.receiverThreadIds)
        ? item.receiverThreadIds
        : []
    ) {
      this.#threads.set(text(thread), id);
    }
    const frame: SystemFrame = {
      kind: "system",
      subtype: "item",
      tool_use_id: id,
      status: text(item.status) || (done ? "completed" : "inProgress"),
      text: `${name} ${describe(item)}`.trim(),
    };
    if (!done) {
      this.#changes.set(id, item);
      return [frame];
    }
    this.#changes.delete(id);
    return [frame, {
      kind: "user_echo",
      source: "tool_result",
      tool_results: [resultOf(id, item)],
    }];
  }

  #completed(params: JsonObject): Frame[] {
    const turn = isJsonObject(params.turn) ? params.turn : {};
    this.turn = undefined;
    this.#changes.clear();
    const failure = isJsonObject(turn.error) ? text(turn.error.message) : "";
    const good = turn.status === "completed";
    const result: Frame = {
      kind: "result",
      subtype: good ? "success" : "error_during_execution",
      result: good ? this.#reply : null,
      is_error: !good,
      terminal_reason: turn.status === "interrupted"
        ? "aborted_tools"
        : text(turn.status),
      usage: difference(this.#total, this.#before),
      ...(failure === "" ? {} : { errors: [failure] }),
      ...(typeof turn.durationMs === "number"
        ? { duration_ms: turn.durationMs }
        : {}),
    };
    return [result, state("idle")];
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function state(name: string): SystemFrame {
  return { kind: "system", subtype: "session_state_changed", state: name };
}

function hookFrame(method: string, params: JsonObject): SystemFrame {
  const run = isJsonObject(params.run) ? params.run : {};
  return { kind: "system", subtype: method, status: text(run.status) };
}

function inputText(content: unknown): string {
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return cap(parts.map((part) => text(part.text)).join("\n"));
}

function pathsOf(item: JsonObject): string[] {
  const changes = Array.isArray(item.changes)
    ? item.changes.filter(isJsonObject)
    : [];
  return changes.map((change) => text(change.path));
}

function describe(item: JsonObject): string {
  return cap(
    text(item.command) || pathsOf(item).join(", ") || text(item.prompt) ||
      (item.arguments === undefined ? "" : JSON.stringify(item.arguments)),
  );
}

function resultOf(id: string, item: JsonObject): ToolResultPart {
  const status = text(item.status);
  const failed = ["failed", "declined"].includes(status) ||
    item.error != null ||
    item.success === false ||
    (typeof item.exitCode === "number" && item.exitCode !== 0);
  const whole = text(item.aggregatedOutput) || contentText(item) || status;
  return {
    tool_use_id: id,
    is_error: failed,
    text: cap(whole),
    ...(whole.length > TEXT_CAP ? { truncated: true as const } : {}),
  };
}

function contentText(item: JsonObject): string {
  const result = isJsonObject(item.result) ? item.result : {};
  const error = isJsonObject(item.error) ? text(item.error.message) : "";
  const blocks = Array.isArray(result.content)
    ? result.content
    : Array.isArray(item.contentItems)
    ? item.contentItems
    : [];
  return error ||
    blocks.filter(isJsonObject).map((block) => text(block.text)).join("\n");
}

interface Totals {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
}

const NOTHING: Totals = { input: 0, cached: 0, cacheWrite: 0, output: 0 };

function totalsOf(usage: unknown): Totals {
  const total = isJsonObject(usage) && isJsonObject(usage.total)
    ? usage.total
    : {};
  const count = (value: unknown) => typeof value === "number" ? value : 0;
  return {
    input: count(total.inputTokens),
    cached: count(total.cachedInputTokens),
    cacheWrite: count(total.cacheWriteInputTokens),
    output: count(total.outputTokens),
  };
}

function difference(now: Totals, before: Totals): FrameUsage {
  return {
    input_tokens: now.input - before.input,
    output_tokens: now.output - before.output,
    cache_read_input_tokens: now.cached - before.cached,
    cache_creation_input_tokens: now.cacheWrite - before.cacheWrite,
  };
}
