// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What goes over the wire besides frames: parameters read, states and questions as JSON.
 *
 * @module
 */

import type { TurnImage } from "./agents/driver.ts";
import { isJsonObject, type JsonObject } from "./frame.ts";
import { boundedJson } from "./frame_wire.ts";
import { MAX_BODY, RpcError } from "./rpc.ts";
import type { Session } from "./session.ts";

/** How much of one question's arguments goes to clients. */
const ASK_BYTES = 1_048_576;

/** How much an answer may hold beside its envelope. */
const ANSWER_BYTES = MAX_BODY - 1024;

const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Anything that is no unsigned integer means 0; what is beyond the end means the end. */
export function cursorOf(value: unknown): number {
  if (
    typeof value !== "number" || !Number.isInteger(value) || value < 0 ||
    value > 18_446_744_073_709_551_616
  ) return 0;
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

/** The pictures of a turn; throws when one of them is not usable. */
export function imagesOf(value: unknown): TurnImage[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    throw new RpcError("invalid_params", "`images` is no list");
  }
  return value.map((image) => {
    if (
      !isJsonObject(image) || typeof image.media_type !== "string" ||
      typeof image.data !== "string" ||
      !IMAGE_TYPE.test(image.media_type) || !BASE64.test(image.data)
    ) {
      throw new RpcError(
        "invalid_params",
        "`images` holds something without a `media_type` of png, jpeg, gif or webp and base64 `data`",
      );
    }
    return { mediaType: image.media_type, data: image.data };
  });
}

/** How a turn stands, as JSON; long texts are cut where the whole would be more than a message. */
export function turnJson(session: Session, turn: string): string {
  const outcome = session.turns.outcome(turn);
  if (outcome === undefined) {
    return JSON.stringify({
      turn,
      phase: session.turns.phase(turn) ?? "done",
    });
  }
  const whole = {
    turn,
    phase: "done",
    outcome: outcome.outcome,
    text: outcome.text,
    errors: outcome.errors,
    denied: outcome.denied,
    cost_usd: outcome.costUsd,
    duration_ms: outcome.durationMs,
  };
  return boundedJson(whole, ANSWER_BYTES) ??
    JSON.stringify({ ...whole, text: null, errors: [], denied: [] });
}

/** The open questions, however many, large or deep they are: a person gets to see the beginning of each. */
export function asksJson(session: Session): string {
  const { asks } = session;
  const share = Math.min(ASK_BYTES, Math.floor(ANSWER_BYTES / asks.length));
  return `[${
    asks.map((ask) =>
      boundedJson(ask, share) ?? boundedJson({ ...ask, input: null }, Infinity)
    ).join(",")
  }]`;
}

/** What watchers get when the state changes. */
export function stateOf(session: Session): JsonObject {
  return {
    state: session.state,
    child_alive: session.driver.status().alive,
    open_asks: session.asks.length,
    open_tasks: session.tasks.size,
    pending_turns: session.turns.pending,
    cost_usd: session.turns.totalCostUsd,
    stalled: session.stalled,
  };
}

/** How a session stands, for `stream.status`. */
export function statusOf(session: Session, clients: number): JsonObject {
  const status = session.driver.status();
  return {
    child_pid: status.pid,
    child_alive: status.alive,
    exit_code: status.exitCode,
    child_ready: session.ready,
    ...stateOf(session),
    agent: session.driver.name,
    session_id: session.sessionId ?? null,
    model: session.model ?? null,
    permission_mode: session.permissionMode ?? null,
    gate: session.gate ?? null,
    judged_by: [...session.judgedBy],
    next: session.log.end,
    silent_ms: Math.round(session.silentMs),
    clients,
    worker_pid: Deno.pid,
  };
}
