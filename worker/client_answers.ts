/**
 * What a worker answers and pushes, checked before anybody relies on it.
 *
 * @module
 */

import type { Gate } from "./agents/driver.ts";
import type { OpenAsk } from "./asks.ts";
import type {
  ClientFrame,
  SessionStatus,
  TurnStatus,
  WatchEvent,
} from "./client_types.ts";
import { isJsonObject, type JsonObject } from "./frame.ts";
import { RpcError, type RpcErrorCode } from "./rpc.ts";
import type { DeniedCall, TurnOutcome } from "./turns.ts";

/** What a subscription pushes: an event, or `undefined` for one that this client does not know. */
export function eventOf(value: unknown): WatchEvent | undefined {
  if (!isJsonObject(value)) return undefined;
  if (isJsonObject(value.error)) {
    throw new RpcError(codeOf(value.error.code), textOf(value.error.message));
  }
  switch (value.event) {
    case "frames":
      return {
        type: "frames",
        from: numberOf(value.from),
        frames: framesOf(value.frames),
        next: numberOf(value.next),
        gap: value.gap === true,
      };
    case "state":
      return {
        type: "state",
        childAlive: value.child_alive === true,
        ...stateFields(value),
      };
    case "asks":
      return { type: "asks", asks: asksOf(value.asks) };
    case "end":
      return { type: "end", reason: textOf(value.reason) };
    default:
      return undefined;
  }
}

/**
 * The answer of `stream.status`, checked.
 *
 * @param value What came back.
 * @returns How the session stands.
 */
export function statusOf(value: unknown): SessionStatus {
  const status = objectOf(value, "stream.status");
  return {
    childPid: maybeNumber(status.child_pid),
    childAlive: status.child_alive === true,
    exitCode: maybeNumber(status.exit_code),
    childReady: status.child_ready === true,
    ...stateFields(status),
    agent: textOf(status.agent),
    sessionId: maybeText(status.session_id),
    model: maybeText(status.model),
    permissionMode: maybeText(status.permission_mode),
    gate: gateOf(status.gate),
    judgedBy: Array.isArray(status.judged_by)
      ? status.judged_by.map(textOf)
      : [],
    next: numberOf(status.next),
    silentMs: numberOf(status.silent_ms),
    clients: numberOf(status.clients),
    workerPid: maybeNumber(status.worker_pid),
  };
}

function stateFields(
  value: JsonObject,
): Pick<
  SessionStatus,
  "state" | "openAsks" | "openTasks" | "pendingTurns" | "costUsd" | "stalled"
> {
  const state = value.state;
  return {
    state:
      state === "running" || state === "requires_action" || state === "idle"
        ? state
        : "dead",
    openAsks: numberOf(value.open_asks),
    openTasks: numberOf(value.open_tasks),
    pendingTurns: numberOf(value.pending_turns),
    costUsd: numberOf(value.cost_usd),
    stalled: value.stalled === true,
  };
}

/** The worker's frames are taken as they are: their kind is looked at, their fields are the worker's word. */
export function framesOf(value: unknown): ClientFrame[] {
  return Array.isArray(value) ? value.filter(isClientFrame) : [];
}

function isClientFrame(value: unknown): value is ClientFrame {
  return isJsonObject(value) && typeof value.kind === "string";
}

/**
 * The answer of `stream.turn`, checked.
 *
 * @param value What came back.
 * @returns How the turn stands.
 */
export function turnStatusOf(value: unknown): TurnStatus {
  const answer = objectOf(value, "stream.turn");
  if (answer.phase === "written" || answer.phase === "delivered") {
    return { phase: answer.phase };
  }
  return {
    phase: "done",
    outcome: outcomeOf(answer.outcome),
    text: maybeText(answer.text),
    errors: Array.isArray(answer.errors)
      ? answer.errors.filter((error) => typeof error === "string")
      : [],
    denied: Array.isArray(answer.denied)
      ? answer.denied.filter(isJsonObject).map(deniedOf)
      : [],
    costUsd: maybeNumber(answer.cost_usd),
    durationMs: maybeNumber(answer.duration_ms),
  };
}

/** The open questions in an answer. */
export function asksOf(value: unknown): OpenAsk[] {
  return Array.isArray(value) ? value.filter(isOpenAsk) : [];
}

function isOpenAsk(value: unknown): value is OpenAsk {
  return isJsonObject(value) && typeof value.id === "string" &&
    typeof value.tool_name === "string";
}

function deniedOf(value: JsonObject): DeniedCall {
  return {
    tool: textOf(value.tool),
    ...(typeof value.toolUseId === "string"
      ? { toolUseId: value.toolUseId }
      : {}),
    ...(typeof value.reason === "string" ? { reason: value.reason } : {}),
  };
}

function outcomeOf(value: unknown): TurnOutcome["outcome"] {
  switch (value) {
    case "completed":
    case "aborted":
    case "max_turns":
    case "lost":
    case "duplicate":
      return value;
    default:
      return "error";
  }
}

function gateOf(value: unknown): Gate | null {
  if (!isJsonObject(value)) return null;
  const kind = value.kind === "callback" || value.kind === "hook" ||
      value.kind === "plugin"
    ? value.kind
    : "none";
  return {
    kind,
    verified: value.verified === true,
    detail: textOf(value.detail),
  };
}

const CODES: ReadonlySet<string> = new Set<RpcErrorCode>([
  "malformed_frame",
  "unknown_method",
  "invalid_params",
  "agent_not_found",
  "agent_exists",
  "invalid_status",
  "busy",
  "lock_timeout",
  "spawn_failed",
  "channel_unknown",
  "internal",
  "shutting_down",
]);

/** The code of an error; `internal` for one that this client does not know. */
export function codeOf(value: unknown): RpcErrorCode {
  return isCode(value) ? value : "internal";
}

function isCode(value: unknown): value is RpcErrorCode {
  return typeof value === "string" && CODES.has(value);
}

/** An answer that has to be an object. */
export function objectOf(value: unknown, method: string): JsonObject {
  if (!isJsonObject(value)) {
    throw new TypeError(
      `Cannot read the answer to "${method}": it is no object`,
    );
  }
  return value;
}

/** A text; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A text; `null` for anything else. */
export function maybeText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** A number; 0 for anything else. */
export function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function maybeNumber(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
