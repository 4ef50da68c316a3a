/**
 * OpenAI Chat Completions.
 *
 * @module
 */
import {
  contentText,
  isObject,
  type JsonObject,
  objectsOf,
  textOf,
} from "./_json.ts";
import type {
  Answer,
  AnswerCall,
  ModelEvent,
  ModelRequest,
  OfferedTool,
  Protocol,
  ToolResult,
} from "./request.ts";

function read(body: unknown): ModelRequest {
  const request = isObject(body) ? body : {};
  const system: string[] = [];
  const userTexts: string[] = [];
  const results: ToolResult[] = [];
  for (const message of objectsOf(request.messages)) {
    const text = contentText(message.content);
    if (message.role === "user") userTexts.push(text);
    else if (message.role === "system" || message.role === "developer") {
      system.push(text);
    } else if (message.role === "tool") {
      results.push({
        callId: textOf(message.tool_call_id),
        content: text,
        isError: false,
      });
    }
  }
  const tools: OfferedTool[] = objectsOf(request.tools).map((tool) => {
    const made = isObject(tool.function) ? tool.function : {};
    const schema = isObject(made.parameters) ? made.parameters : {};
    return {
      name: textOf(made.name),
      kind: "function",
      parameters: isObject(schema.properties)
        ? Object.keys(schema.properties)
        : [],
    };
  });
  return {
    protocol: "chat",
    model: textOf(request.model),
    stream: request.stream === true,
    system: system.join("\n"),
    userTexts,
    tools,
    results,
  };
}

function stopOf(answer: Answer): string {
  const names = {
    end_turn: "stop",
    tool_use: "tool_calls",
    max_tokens: "length",
    refusal: "content_filter",
  } as const;
  return names[answer.stop];
}

function usageOf(answer: Answer): JsonObject {
  const { input, output } = answer.usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  };
}

function callOf(call: AnswerCall): JsonObject {
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  };
}

function whole(answer: Answer): JsonObject {
  return {
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion",
    created: 0,
    model: answer.model,
    choices: [{
      index: 0,
      finish_reason: stopOf(answer),
      message: {
        role: "assistant",
        content: answer.text.length > 0 ? answer.text.join("") : null,
        ...(answer.calls.length > 0
          ? { tool_calls: answer.calls.map(callOf) }
          : {}),
      },
    }],
    usage: usageOf(answer),
  };
}

function* events(answer: Answer): Generator<ModelEvent> {
  const chunk = (
    delta: JsonObject,
    finish: string | null = null,
    pace = false,
  ): ModelEvent => ({
    data: {
      id: `chatcmpl-${answer.id}`,
      object: "chat.completion.chunk",
      created: 0,
      model: answer.model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
    pace,
  });
  yield chunk({ role: "assistant", content: "" });
  for (const content of answer.text) yield chunk({ content }, null, true);
  for (const [index, call] of answer.calls.entries()) {
    yield chunk({ tool_calls: [{ index, ...callOf(call) }] }, null, true);
  }
  yield chunk({}, stopOf(answer));
  yield {
    data: {
      id: `chatcmpl-${answer.id}`,
      object: "chat.completion.chunk",
      created: 0,
      model: answer.model,
      choices: [],
      usage: usageOf(answer),
    },
  };
}

function error(status: number, message: string): JsonObject {
  return {
    error: {
      message,
      type: status === 429 ? "rate_limit_error" : "server_error",
      param: null,
      code: status,
    },
  };
}

/** OpenAI Chat Completions. */
export const chat: Protocol = {
  read,
  whole,
  events,
  terminator: "[DONE]",
  error,
  errorEvent: (status, message) => ({ data: error(status, message) }),
};
