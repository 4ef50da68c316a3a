// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * The frames of the scripted agent, in the shapes of the real child.
 *
 * @module
 */
import type { FrameOutput, Json } from "./output.ts";

/** Version reported in `init`: of the stream shapes that are reproduced. */
export const SHAPE_VERSION = "2.1.197";
const MODEL = "scripted";

/** Running totals of a session. */
export interface Totals {
  /** Model messages so far, subagents included. */
  messages: number;
  /** Cost so far. */
  costUsd: number;
  /** Milliseconds spent in model messages. */
  apiMs: number;
}

/** What a `result` frame needs to know. */
export interface ResultInput {
  subtype: string;
  isError: boolean;
  result?: string;
  errors?: string[];
  apiErrorStatus?: number | null;
  durationMs: number;
  ttftMs: number;
  numTurns: number;
  stopReason: string | null;
  terminalReason?: string;
  messages: number;
  denials: Json[];
  origin?: Json;
}

/** Builds and queues frames. */
export class Frames {
  /** Id of the session. */
  readonly sessionId: string;
  readonly #output: FrameOutput;
  readonly #partials: boolean;
  readonly #stateEvents: boolean;
  readonly #tokens: { input: number; output: number };
  #state = "idle";
  #messageCount = 0;

  /** @param output Where frames go. @param options Session id and what the host asked for. */
  constructor(
    output: FrameOutput,
    options: {
      sessionId: string;
      partials: boolean;
      stateEvents: boolean;
      tokens: { input: number; output: number };
    },
  ) {
    this.#output = output;
    this.sessionId = options.sessionId;
    this.#partials = options.partials;
    this.#stateEvents = options.stateEvents;
    this.#tokens = options.tokens;
  }

  /** `system/session_state_changed`, when the host asked for it and it changes, or is told of each of several asks. */
  state(state: "running" | "requires_action" | "idle", each = false): void {
    if (state === this.#state && !each) return;
    this.#state = state;
    if (this.#stateEvents) this.system("session_state_changed", { state });
  }

  /** A `system` frame. */
  system(subtype: string, fields: Json): void {
    this.#output.frame({
      type: "system",
      subtype,
      ...fields,
      uuid: crypto.randomUUID(),
      session_id: this.sessionId,
    });
  }

  /** A `stream_event` frame, when partial messages are on. */
  stream(event: Json, extra: Json = {}): void {
    if (!this.#partials) return;
    this.#output.frame({
      type: "stream_event",
      event,
      session_id: this.sessionId,
      parent_tool_use_id: null,
      uuid: crypto.randomUUID(),
      ...extra,
    });
  }

  /** Ids of a new message and of its tool calls. */
  newMessageIds(
    subagent: boolean,
  ): { message: string; tool: (block: number, blocks: number) => string } {
    const stamp = Date.now();
    const n = this.#messageCount++;
    const letter = subagent ? "s" : "m";
    return {
      message: `msg_${stamp}_${n}`,
      tool: (block, blocks) =>
        blocks > 1
          ? `toolu_${letter}${n}_${block}_${stamp}`
          : `toolu_${letter}${n}_${stamp}`,
    };
  }

  /** The `message` object of `message_start` and of `assistant` frames. */
  message(id: string, content: Json[]): Json {
    return {
      id,
      type: "message",
      role: "assistant",
      model: MODEL,
      content,
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: this.#tokens.input,
        output_tokens: 1,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    };
  }

  /** An `assistant` frame with one block. */
  assistant(id: string, block: Json, parent: Json | undefined): void {
    this.#output.frame({
      type: "assistant",
      message: { ...this.message(id, [block]), context_management: null },
      parent_tool_use_id: parent?.parent_tool_use_id ?? null,
      session_id: this.sessionId,
      uuid: crypto.randomUUID(),
      ...withoutParent(parent),
    });
  }

  /** The synthetic `assistant` frame of an API error. */
  apiErrorText(text: string, error: string): void {
    this.#output.frame({
      type: "assistant",
      message: {
        id: crypto.randomUUID(),
        container: null,
        model: "<synthetic>",
        role: "assistant",
        stop_details: null,
        stop_reason: "stop_sequence",
        stop_sequence: "",
        type: "message",
        usage: {
          ...this.usage(0),
          service_tier: null,
          inference_geo: null,
          iterations: null,
          speed: null,
        },
        content: [{ type: "text", text }],
        context_management: null,
      },
      parent_tool_use_id: null,
      session_id: this.sessionId,
      uuid: crypto.randomUUID(),
      error,
    });
  }

  /** The replay of a host's user line; `known` for one that was seen before. */
  replay(message: unknown, uuid: string, known: boolean): void {
    this.#output.frame({
      type: "user",
      message,
      session_id: this.sessionId,
      parent_tool_use_id: null,
      uuid,
      ...(known ? {} : { timestamp: new Date().toISOString() }),
      isReplay: true,
    });
  }

  /** A `user` frame of the session's own: results, subagent prompts, interruptions. */
  user(content: Json[], parent: Json | undefined, extra: Json = {}): void {
    this.#output.frame({
      type: "user",
      message: { role: "user", content },
      parent_tool_use_id: parent?.parent_tool_use_id ?? null,
      session_id: this.sessionId,
      uuid: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      ...extra,
      ...withoutParent(parent),
    });
  }

  /** The `result` frame of a turn. */
  result(input: ResultInput, totals: Totals): void {
    const shared = {
      stop_reason: input.stopReason,
      session_id: this.sessionId,
      total_cost_usd: totals.costUsd,
      usage: this.usage(input.messages),
      modelUsage: totals.messages === 0 ? {} : this.#modelUsage(totals),
      permission_denials: input.denials,
      ...(input.terminalReason === undefined
        ? {}
        : { terminal_reason: input.terminalReason }),
      ...(input.terminalReason === undefined ? {} : { fast_mode_state: "off" }),
      ...(input.origin === undefined ? {} : { origin: input.origin }),
      uuid: crypto.randomUUID(),
    };
    const ok = input.result !== undefined;
    this.#output.frame(
      ok
        ? {
          type: "result",
          subtype: input.subtype,
          is_error: input.isError,
          api_error_status: input.apiErrorStatus ?? null,
          duration_ms: input.durationMs,
          duration_api_ms: totals.apiMs,
          ...(input.messages === 0 ? {} : {
            ttft_ms: input.ttftMs,
            ttft_stream_ms: input.ttftMs,
            time_to_request_ms: 0,
          }),
          num_turns: input.numTurns,
          result: input.result,
          ...shared,
        }
        : {
          type: "result",
          subtype: input.subtype,
          duration_ms: input.durationMs,
          duration_api_ms: totals.apiMs,
          is_error: input.isError,
          num_turns: input.numTurns,
          ...shared,
          errors: input.errors ?? [],
        },
    );
  }

  /** The `usage` object for so many model messages. */
  usage(messages: number): Json {
    return {
      input_tokens: this.#tokens.input * messages,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: this.#tokens.output * messages,
      server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
      service_tier: "standard",
      cache_creation: {
        ephemeral_1h_input_tokens: 0,
        ephemeral_5m_input_tokens: 0,
      },
      inference_geo: "",
      iterations: [],
      speed: "standard",
    };
  }

  #modelUsage(totals: Totals): Json {
    return {
      [MODEL]: {
        inputTokens: this.#tokens.input * totals.messages,
        outputTokens: this.#tokens.output * totals.messages,
        cacheReadInputTokens: 0,
        cacheCreationInputTokens: 0,
        webSearchRequests: 0,
        costUSD: totals.costUsd,
        contextWindow: 1_000_000,
        maxOutputTokens: 64_000,
      },
    };
  }
}

function withoutParent(parent: Json | undefined): Json {
  if (parent === undefined) return {};
  const { parent_tool_use_id: _, ...rest } = parent;
  return rest;
}
