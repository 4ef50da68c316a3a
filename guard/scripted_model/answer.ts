/**
 * The answer to one request: from a step of the script to bytes on the wire.
 *
 * @module
 */
import { pause } from "@bulkhead/sandbox";
import { resolveCall, searchFor } from "./calls.ts";
import type { Turn } from "./player.ts";
import type {
  Answer,
  AnswerCall,
  ModelEvent,
  ModelRequest,
  Protocol,
} from "./request.ts";
import type { ScriptStep } from "./script.ts";

function piecesOf(text: string, wanted: number | undefined): string[] {
  if (text === "") return [];
  const count = wanted ??
    Math.max(
      Math.ceil(text.length / 16384),
      Math.min(4, Math.ceil(text.length / 8)),
    );
  const size = Math.ceil(text.length / Math.max(1, count));
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + size);
    const code = text.charCodeAt(end - 1);
    if (code >= 0xd800 && code <= 0xdbff && end < text.length) end++;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

/** A request got a search for a tool in place of its step. */
export function searchAnswer(
  turn: Turn,
  request: ModelRequest,
  number: number,
): Answer | undefined {
  const call = searchFor(turn.step.calls ?? [], request, `search_${number}`);
  return call &&
    {
      ...makeAnswer({ ...turn, step: {} }, request, number),
      calls: [call],
      stop: "tool_use",
    };
}

/** The answer that a step of the script gives to a request. */
export function makeAnswer(
  turn: Turn,
  request: ModelRequest,
  number: number,
): Answer {
  const { step } = turn;
  const label = turn.conversation.replace(/\W+/g, "-").slice(0, 30);
  const calls: AnswerCall[] = (step.calls ?? []).map((call, index) =>
    resolveCall(call, request, `call_${label}_${turn.index}_${index}`)
  );
  const text = step.text ?? "";
  return {
    id: `scripted${number}`,
    model: request.model || "scripted",
    thinking: step.thinking ?? "",
    text: piecesOf(text, step.chunks),
    calls,
    stop: step.stop ?? (calls.length > 0 ? "tool_use" : "end_turn"),
    usage: {
      input: step.usage?.input ?? 10,
      output: step.usage?.output ?? Math.max(1, Math.ceil(text.length / 4)),
    },
  };
}

function messageOf(step: ScriptStep): string {
  return step.error?.message ?? `scripted error ${step.error?.status}`;
}

/** The HTTP answer of a step that fails. */
export function errorAnswer(protocol: Protocol, step: ScriptStep): Response {
  const status = step.error?.status ?? 500;
  const headers = new Headers();
  if (step.error?.retryAfter !== undefined) {
    headers.set("retry-after", String(step.error.retryAfter));
  }
  return Response.json(protocol.error(status, messageOf(step)), {
    status,
    headers,
  });
}

/** The events of an answer; an error inside the stream comes after the first half. */
export function* eventsOf(
  protocol: Protocol,
  answer: Answer,
  step: ScriptStep,
): Generator<string> {
  const all = [...protocol.events(answer)];
  const end = step.cut || step.error
    ? Math.max(1, Math.floor(all.length / 2))
    : all.length;
  for (const event of all.slice(0, end)) yield lineOf(event);
  if (step.error) {
    yield lineOf(protocol.errorEvent(step.error.status, messageOf(step)));
  } else if (!step.cut && protocol.terminator !== undefined) {
    yield `data: ${protocol.terminator}\n\n`;
  }
}

function lineOf(event: ModelEvent): string {
  return `${event.event === undefined ? "" : `event: ${event.event}\n`}data: ${
    JSON.stringify(event.data)
  }\n\n`;
}

/** The lines of an answer as a stream, at the pace of its step. */
export function streamOf(
  lines: Generator<string>,
  step: ScriptStep,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = lines.next();
      if (done) return controller.close();
      if (step.chunkDelayMs) await pause(step.chunkDelayMs, signal);
      controller.enqueue(encoder.encode(value));
    },
  });
}
