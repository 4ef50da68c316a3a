// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What an agent tells over the Agent Client Protocol, as frames.
 *
 * @module
 */

import {
  cap,
  type ControlRequestFrame,
  type Frame,
  type FrameUsage,
  isJsonObject,
  type JsonObject,
  type SystemFrame,
  TEXT_CAP,
} from "../frame.ts";
import type { KnownCall } from "./codex_frames.ts";

/** The tools that the protocol's kinds of calls stand for. */
const KINDS: Readonly<Record<string, string>> = {
  execute: "Bash",
  edit: "Write",
  delete: "Write",
  move: "Write",
  read: "Read",
  search: "Grep",
  fetch: "WebFetch",
};

/** Turns updates of one session into frames. Holds what later ones refer to. */
export class AcpFrames {
  /** The id of the session. */
  session = "";
  readonly #calls = new Map<string, JsonObject>();
  #reply = "";
  #cost: number | undefined;

  /**
   * The frames of one update.
   *
   * @param update The update.
   * @returns The frames in order.
   */
  update(update: JsonObject): Frame[] {
    const frames = this.#update(update);
    const parent = parentOf(update);
    for (const frame of frames) {
      frame.session_id = this.session;
      if (parent !== undefined) frame.parent_tool_use_id = parent;
    }
    return frames;
  }

  /**
   * The frame of a question.
   *
   * @param askId The id under which it is answered.
   * @param params What is asked.
   * @returns The frame.
   */
  ask(askId: string, params: JsonObject): ControlRequestFrame {
    const given = isJsonObject(params.toolCall) ? params.toolCall : {};
    const id = text(given.toolCallId);
    const call = { ...this.#calls.get(id), ...given };
    const { toolName, input } = knownCall(call);
    const parent = parentOf(given);
    return {
      kind: "control_request",
      request_id: askId,
      subtype: "can_use_tool",
      tool_name: toolName,
      input,
      description: text(call.title),
      decision_reason_type: "rule",
      session_id: this.session,
      ...(id === "" ? {} : { tool_use_id: id }),
      ...(parent === undefined ? {} : { agent_id: parent }),
    };
  }

  /**
   * The frames of the end of a prompt.
   *
   * @param stop Why it ended.
   * @param answer What the agent said about it.
   * @param error What went wrong.
   * @returns The frames in order.
   */
  ended(stop: string, answer: JsonObject, error?: string): Frame[] {
    const good = error === undefined && stop === "end_turn";
    const text = this.#reply;
    this.#reply = "";
    this.#calls.clear();
    const reply: Frame[] = text === ""
      ? []
      : [{ kind: "assistant", text, session_id: this.session }];
    return [...reply, {
      kind: "result",
      subtype: good ? "success" : "error_during_execution",
      is_error: !good,
      result: good ? text : null,
      terminal_reason: stop === "cancelled" ? "aborted_tools" : stop,
      session_id: this.session,
      ...(error === undefined ? {} : { errors: [error] }),
      ...(this.#cost === undefined ? {} : { total_cost_usd: this.#cost }),
      ...usageOf(answer.usage),
    }, state("idle", this.session)];
  }

  /**
   * The frame of a session at rest.
   *
   * @returns The frame.
   */
  rests(): Frame {
    return state("idle", this.session);
  }

  /**
   * The frames of the beginning of a prompt.
   *
   * @param prompt What is said.
   * @param uuid The id of the turn.
   * @returns The frames in order.
   */
  begun(prompt: string, uuid: string | undefined): Frame[] {
    // What an earlier session said was told again when it was loaded.
    this.#reply = "";
    this.#calls.clear();
    return [state("running", this.session), {
      kind: "user_echo",
      source: "replay",
      text: cap(prompt),
      session_id: this.session,
      ...(uuid === undefined ? {} : { uuid }),
    }];
  }

  #update(update: JsonObject): Frame[] {
    const kind = text(update.sessionUpdate);
    switch (kind) {
      case "agent_message_chunk": {
        const delta = blockText(update.content);
        if (parentOf(update) === undefined) this.#reply += delta;
        return [{ kind: "stream_event", delta, event: kind }];
      }
      case "agent_thought_chunk":
        return [{ kind: "stream_event", delta: null, event: kind }];
      case "user_message_chunk":
        return [{
          kind: "user_echo",
          source: "other",
          text: cap(blockText(update.content)),
        }];
      case "tool_call":
      case "tool_call_update":
        return this.#call(update);
      case "usage_update": {
        const cost = isJsonObject(update.cost) ? update.cost.amount : undefined;
        if (typeof cost === "number") this.#cost = cost;
        return [{ kind: "system", subtype: kind }];
      }
      default:
        return [{ kind: "system", subtype: kind }];
    }
  }

  #call(update: JsonObject): Frame[] {
    const id = text(update.toolCallId);
    const before = this.#calls.get(id);
    const call = { ...before, ...update };
    this.#calls.set(id, call);
    const status = text(call.status) || "pending";
    const frame: SystemFrame = {
      kind: "system",
      subtype: "item",
      tool_use_id: id,
      status,
      text: cap(text(call.title)),
    };
    if (before?.status === call.status && before !== undefined) return [];
    if (status !== "completed" && status !== "failed") return [frame];
    const blocks = Array.isArray(call.content) ? call.content : [];
    const output = blocks.filter(isJsonObject).map((block) =>
      blockText(block.content)
    ).join("\n");
    return [frame, {
      kind: "user_echo",
      source: "tool_result",
      tool_results: [{
        tool_use_id: id,
        is_error: status === "failed",
        text: cap(output),
        ...(output.length > TEXT_CAP ? { truncated: true as const } : {}),
      }],
    }];
  }
}

/** A call in the words of the judges: the file it is about is named as they know it. */
function knownCall(call: JsonObject): KnownCall {
  const kind = text(call.kind);
  const raw = isJsonObject(call.rawInput) ? call.rawInput : {};
  if (typeof raw.server === "string" && typeof raw.tool === "string") {
    return {
      toolName: `mcp__${raw.server}__${raw.tool}`,
      input: raw.arguments ?? {},
    };
  }
  const places = Array.isArray(call.locations)
    ? call.locations.filter(isJsonObject)
    : [];
  const diffs = Array.isArray(call.content)
    ? call.content.filter(isJsonObject).filter((block) => block.type === "diff")
    : [];
  const path = text(raw.file_path) || text(raw.filePath) ||
    text(diffs[0]?.path) || text(places[0]?.path);
  return {
    toolName: KINDS[kind] ?? (text(call.title) || kind),
    input: path === "" ? raw : { ...raw, file_path: path },
  };
}

function parentOf(update: JsonObject): string | undefined {
  const meta = isJsonObject(update._meta) ? update._meta : {};
  const claude = isJsonObject(meta.claudeCode) ? meta.claudeCode : {};
  return typeof claude.parentToolUseId === "string"
    ? claude.parentToolUseId
    : undefined;
}

function usageOf(usage: unknown): { usage?: FrameUsage } {
  if (!isJsonObject(usage)) return {};
  const count = (value: unknown) => typeof value === "number" ? value : 0;
  return {
    usage: {
      input_tokens: count(usage.inputTokens),
      output_tokens: count(usage.outputTokens),
      cache_read_input_tokens: count(usage.cachedReadTokens),
      cache_creation_input_tokens: count(usage.cachedWriteTokens),
    },
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function blockText(block: unknown): string {
  return isJsonObject(block) ? text(block.text) : "";
}

function state(name: string, session: string): SystemFrame {
  return {
    kind: "system",
    subtype: "session_state_changed",
    state: name,
    session_id: session,
  };
}
