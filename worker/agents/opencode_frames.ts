// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What OpenCode's server tells, as frames.
 *
 * @module
 */

import type {
  ControlRequestFrame,
  Frame,
  FrameUsage,
  SystemFrame,
} from "../frame.ts";
import { cap, isJsonObject, type JsonObject, TEXT_CAP } from "../frame.ts";
import type { KnownCall } from "./codex_frames.ts";
import type { OpenCodeEvent } from "./opencode_api.ts";

/** Events that say nothing about a session. */
const NOISE =
  /^(?:plugin\.added|catalog\.updated|reference\.updated|file\.|lsp\.|server\.heartbeat|installation\.|project\.)/;

/** Turns the events of one server into frames. Holds what later ones refer to. */
export class OpenCodeFrames {
  /** The id of the session that people talk to. */
  root = "";
  /** True while the root session works. */
  busy = false;
  /** True when the running turn is being stopped by us. */
  stopping = false;
  readonly #parents = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  readonly #roles = new Map<string, string>();
  readonly #echoed = new Set<string>();
  readonly #spent = new Map<string, JsonObject>();
  readonly #billed = new Set<string>();
  readonly #sent: string[] = [];
  #reply = "";
  #error: string | undefined;
  #cost = 0;

  /**
   * A turn was sent; its echo will name it.
   *
   * @param uuid The id of the turn.
   */
  sent(uuid: string): void {
    this.#sent.push(uuid);
  }

  /**
   * The sessions that work below the root, as far as they are known.
   *
   * @returns Their ids.
   */
  children(): string[] {
    return [...this.#parents.keys()];
  }

  /**
   * The frames of one event.
   *
   * @param event The event.
   * @returns The frames in order.
   */
  event(event: OpenCodeEvent): Frame[] {
    const { type, properties } = event;
    if (NOISE.test(type)) return [];
    const session = sessionOf(properties);
    const own = session === "" || session === this.root;
    if (!own && !this.#parents.has(session) && type !== "session.created") {
      return [];
    }
    const frames = this.#event(type, properties, own);
    for (const frame of frames) {
      frame.session_id = this.root;
      if (!own) {
        frame.parent_tool_use_id = this.#parents.get(session) ?? session;
      }
    }
    return frames;
  }

  /**
   * The frame of a question of the server.
   *
   * @param askId The id under which it is answered.
   * @param properties What is asked.
   * @param known The call as the plugin has seen it.
   * @returns The frame.
   */
  ask(
    askId: string,
    properties: JsonObject,
    known: KnownCall | undefined,
  ): ControlRequestFrame {
    const permission = text(properties.permission);
    const session = text(properties.sessionID);
    const tool = isJsonObject(properties.tool) ? properties.tool : {};
    const call = known ??
      { toolName: permission, input: properties.metadata ?? {} };
    return {
      kind: "control_request",
      request_id: askId,
      subtype: "can_use_tool",
      tool_name: call.toolName,
      input: call.input,
      decision_reason: `permission "${permission}"`,
      decision_reason_type: permission === "external_directory"
        ? "workingDir"
        : "rule",
      session_id: this.root,
      ...(typeof tool.callID === "string" ? { tool_use_id: tool.callID } : {}),
      ...(session === this.root ? {} : { agent_id: session }),
    };
  }

  #event(type: string, properties: JsonObject, own: boolean): Frame[] {
    switch (type) {
      case "session.created": {
        const info = isJsonObject(properties.info) ? properties.info : {};
        const parent = text(info.parentID);
        if (
          parent !== "" && (parent === this.root || this.#parents.has(parent))
        ) {
          this.#parents.set(text(info.id), text(info.id));
        } else if (info.id !== this.root) return [];
        return [{ kind: "system", subtype: type }];
      }
      case "session.status":
        return this.#status(properties, own);
      case "session.error":
        if (own) this.#failed(properties.error);
        return [{
          kind: "system",
          subtype: type,
          error: errorText(properties.error),
        }];
      case "session.idle":
        return own ? this.#idle() : [{ kind: "system", subtype: type }];
      case "message.updated":
        return this.#message(properties, own);
      case "message.part.delta":
        if (properties.field !== "text") return [];
        return own
          ? [{
            kind: "stream_event",
            delta: text(properties.delta),
            event: type,
          }]
          : [];
      case "message.part.updated":
        return this.#part(properties, own);
      case "permission.asked":
        return [];
      default:
        return [
          type.startsWith("session.") || type.startsWith("permission.")
            ? { kind: "system", subtype: type }
            : { kind: "other", type_name: type },
        ];
    }
  }

  #status(properties: JsonObject, own: boolean): Frame[] {
    const status = isJsonObject(properties.status) ? properties.status : {};
    if (!own || status.type === "idle") return [];
    if (status.type === "retry") {
      return [{
        kind: "system",
        subtype: "api_retry",
        error: text(status.message),
        ...(typeof status.attempt === "number"
          ? { attempt: status.attempt }
          : {}),
      }];
    }
    if (this.busy) return [];
    this.busy = true;
    return [state("running")];
  }

  #message(properties: JsonObject, own: boolean): Frame[] {
    const info = isJsonObject(properties.info) ? properties.info : {};
    const id = text(info.id);
    this.#roles.set(id, text(info.role));
    if (info.role === "assistant") {
      // A message of a turn that is over is told again, with what ended it.
      if (this.#billed.has(id)) return [];
      this.#spent.set(id, info);
      if (own && info.error !== undefined) this.#failed(info.error);
      return [];
    }
    if (info.role !== "user" || this.#echoed.has(id)) return [];
    this.#echoed.add(id);
    if (!own) return [{ kind: "user_echo", source: "subagent" }];
    const uuid = this.#sent.shift();
    const echo: Frame = {
      kind: "user_echo",
      source: "replay",
      ...(uuid === undefined ? {} : { uuid }),
    };
    // The server takes a turn up before it says that it is busy.
    if (this.busy) return [echo];
    this.busy = true;
    return [state("running"), echo];
  }

  #part(properties: JsonObject, own: boolean): Frame[] {
    const part = isJsonObject(properties.part) ? properties.part : {};
    const id = text(part.id);
    if (part.type === "text") {
      const time = isJsonObject(part.time) ? part.time : {};
      const mine = this.#roles.get(text(part.messageID)) === "assistant";
      if (!mine || time.end === undefined) return [];
      if (this.#texts.get(id) === part.text) return [];
      this.#texts.set(id, text(part.text));
      if (own) this.#reply = text(part.text);
      return [{
        kind: "assistant",
        text: text(part.text),
        message_id: text(part.messageID),
      }];
    }
    if (part.type !== "tool") return [];
    return this.#tool(part);
  }

  #tool(part: JsonObject): Frame[] {
    const call = text(part.callID);
    const at = isJsonObject(part.state) ? part.state : {};
    const metadata = isJsonObject(at.metadata) ? at.metadata : {};
    if (part.tool === "task" && typeof metadata.sessionId === "string") {
      this.#parents.set(metadata.sessionId, call);
    }
    const status = text(at.status);
    if (this.#texts.get(call) === status) return [];
    this.#texts.set(call, status);
    const frame: SystemFrame = {
      kind: "system",
      subtype: "item",
      tool_use_id: call,
      status,
      text: cap(`${text(part.tool)} ${describe(at.input)}`.trim()),
    };
    if (status !== "completed" && status !== "error") return [frame];
    const output = status === "error" ? text(at.error) : text(at.output);
    return [frame, {
      kind: "user_echo",
      source: "tool_result",
      tool_results: [{
        tool_use_id: call,
        is_error: status === "error",
        text: cap(output),
        ...(output.length > TEXT_CAP ? { truncated: true as const } : {}),
      }],
    }];
  }

  #idle(): Frame[] {
    if (!this.busy) return [];
    this.busy = false;
    const stopped = this.stopping;
    this.stopping = false;
    const failed = stopped || this.#error !== undefined;
    const { usage, cost } = this.#bill();
    this.#cost += cost;
    const result: Frame = {
      kind: "result",
      subtype: failed ? "error_during_execution" : "success",
      is_error: failed,
      result: failed ? null : this.#reply,
      terminal_reason: stopped ? "aborted_tools" : "completed",
      usage,
      total_cost_usd: this.#cost,
      ...(this.#error === undefined ? {} : { errors: [this.#error] }),
    };
    this.#reply = "";
    this.#error = undefined;
    this.#texts.clear();
    return [result, state("idle")];
  }

  /** Notes why the turn fails; that it was stopped is no failure. */
  #failed(error: unknown): void {
    if (isJsonObject(error) && error.name === "MessageAbortedError") return;
    this.#error = errorText(error);
  }

  /** Tokens and money of the messages since the last bill. */
  #bill(): { usage: FrameUsage; cost: number } {
    const usage = {
      input_tokens: 0,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    let cost = 0;
    for (const [id, info] of this.#spent) {
      this.#billed.add(id);
      const tokens = isJsonObject(info.tokens) ? info.tokens : {};
      const cache = isJsonObject(tokens.cache) ? tokens.cache : {};
      usage.input_tokens += count(tokens.input);
      usage.output_tokens += count(tokens.output);
      usage.cache_read_input_tokens += count(cache.read);
      usage.cache_creation_input_tokens += count(cache.write);
      cost += count(info.cost);
    }
    this.#spent.clear();
    return { usage, cost };
  }
}

function sessionOf(properties: JsonObject): string {
  if (typeof properties.sessionID === "string") return properties.sessionID;
  const info = isJsonObject(properties.info) ? properties.info : {};
  return text(info.sessionID) || text(info.id);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function state(name: string): SystemFrame {
  return { kind: "system", subtype: "session_state_changed", state: name };
}

function describe(input: unknown): string {
  if (!isJsonObject(input)) return "";
  return text(input.command) || text(input.filePath) || text(input.prompt) ||
    JSON.stringify(input);
}

function errorText(error: unknown): string {
  if (!isJsonObject(error)) return text(error);
  const data = isJsonObject(error.data) ? error.data : {};
  return text(data.message) || text(error.message) || text(error.name);
}
