/**
 * Anthropic Messages.
 *
 * @module
 */
import {
  contentText,
  isObject,
  type JsonObject,
  listOf,
  objectsOf,
  textOf,
} from "./_json.ts";
import type {
  Answer,
  ModelEvent,
  ModelRequest,
  OfferedTool,
  Protocol,
  ToolResult,
} from "./request.ts";

function parametersOf(schema: unknown): readonly string[] {
  return isObject(schema) && isObject(schema.properties)
    ? Object.keys(schema.properties)
    : [];
}

function read(body: unknown): ModelRequest {
  const request = isObject(body) ? body : {};
  const userTexts: string[] = [];
  const results: ToolResult[] = [];
  for (const message of objectsOf(request.messages)) {
    if (message.role !== "user") continue;
    if (typeof message.content === "string") userTexts.push(message.content);
    for (const block of objectsOf(message.content)) {
      if (block.type === "text") userTexts.push(textOf(block.text));
      if (block.type === "tool_result") {
        results.push({
          callId: textOf(block.tool_use_id),
          content: contentText(block.content),
          isError: block.is_error === true,
        });
      }
    }
  }
  const tools: OfferedTool[] = objectsOf(request.tools).map((tool) => ({
    name: textOf(tool.name),
    kind: "function",
    parameters: parametersOf(tool.input_schema),
  }));
  return {
    protocol: "messages",
    model: textOf(request.model),
    stream: request.stream === true,
    system: contentText(request.system),
    userTexts,
    tools,
    results,
  };
}

function parsedInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function envelope(
  answer: Answer,
  content: readonly unknown[],
  stop: string | null,
): JsonObject {
  return {
    id: answer.id,
    type: "message",
    role: "assistant",
    model: answer.model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: {
      input_tokens: answer.usage.input,
      output_tokens: stop === null ? 1 : answer.usage.output,
    },
  };
}

function whole(answer: Answer): JsonObject {
  const content: unknown[] = [];
  if (answer.thinking !== "") {
    content.push({
      type: "thinking",
      thinking: answer.thinking,
      signature: "scripted",
    });
  }
  if (answer.text.length > 0) {
    content.push({ type: "text", text: answer.text.join("") });
  }
  for (const call of answer.calls) {
    content.push({
      type: "tool_use",
      id: call.id,
      name: call.name,
      input: parsedInput(call.arguments),
    });
  }
  return envelope(answer, content, answer.stop);
}

function* events(answer: Answer): Generator<ModelEvent> {
  let index = 0;
  const named = (type: string, rest: JsonObject, pace = false): ModelEvent => ({
    event: type,
    data: { type, ...rest },
    pace,
  });
  function* block(
    start: JsonObject,
    deltas: readonly JsonObject[],
  ): Generator<ModelEvent> {
    yield named("content_block_start", { index, content_block: start });
    for (const delta of deltas) {
      yield named("content_block_delta", { index, delta }, true);
    }
    yield named("content_block_stop", { index: index++ });
  }
  yield named("message_start", { message: envelope(answer, [], null) });
  if (answer.thinking !== "") {
    yield* block({ type: "thinking", thinking: "", signature: "" }, [
      { type: "thinking_delta", thinking: answer.thinking },
      { type: "signature_delta", signature: "scripted" },
    ]);
  }
  if (answer.text.length > 0) {
    yield* block(
      { type: "text", text: "" },
      answer.text.map((text) => ({ type: "text_delta", text })),
    );
  }
  for (const call of answer.calls) {
    const half = Math.ceil(call.arguments.length / 2);
    const pieces = [call.arguments.slice(0, half), call.arguments.slice(half)];
    yield* block(
      { type: "tool_use", id: call.id, name: call.name, input: {} },
      pieces.map((piece) => ({
        type: "input_json_delta",
        partial_json: piece,
      })),
    );
  }
  yield named("message_delta", {
    delta: { stop_reason: answer.stop, stop_sequence: null },
    usage: { output_tokens: answer.usage.output },
  });
  yield named("message_stop", {});
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function error(status: number, message: string): JsonObject {
  return {
    type: "error",
    error: { type: ERROR_TYPES[status] ?? "api_error", message },
  };
}

/**
 * An estimate for `count_tokens`: a quarter of the characters.
 *
 * @param body Of the request.
 * @returns The answer body.
 */
export function countTokens(body: unknown): JsonObject {
  const request = isObject(body) ? body : {};
  const text = JSON.stringify([
    request.system,
    listOf(request.messages),
    listOf(request.tools),
  ]);
  return { input_tokens: Math.ceil(text.length / 4) };
}

/** Anthropic Messages. */
export const messages: Protocol = {
  read,
  whole,
  events,
  error,
  errorEvent: (status, message) => ({
    event: "error",
    data: error(status, message),
  }),
};
