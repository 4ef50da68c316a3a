/**
 * OpenAI Responses, as Codex speaks it: function and custom calls, namespaced tools, and tools that
 * come as an `additional_tools` item of `input`.
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

function* offeredTools(
  tools: unknown,
  namespace?: string,
): Generator<OfferedTool> {
  for (const tool of objectsOf(tools)) {
    if (tool.type === "namespace") {
      yield* offeredTools(tool.tools, textOf(tool.name));
    } else if (tool.type === "tool_search") {
      yield { name: "tool_search", kind: "search", parameters: ["query"] };
    } else if (tool.type === "function" || tool.type === "custom") {
      const schema = isObject(tool.parameters) ? tool.parameters : {};
      yield {
        name: textOf(tool.name),
        ...(namespace === undefined ? {} : { namespace }),
        kind: tool.type,
        parameters: isObject(schema.properties)
          ? Object.keys(schema.properties)
          : [],
      };
    }
  }
}

/** What one agent tells another: the text proper stands in a block of its own. */
function agentText(content: unknown): string {
  return objectsOf(content).map((block) =>
    textOf(block.text) || textOf(block.encrypted_content)
  ).join("\n");
}

function read(body: unknown): ModelRequest {
  const request = isObject(body) ? body : {};
  const tools = [...offeredTools(request.tools)];
  const system = [textOf(request.instructions)];
  const userTexts: string[] = [];
  const results: ToolResult[] = [];
  if (typeof request.input === "string") userTexts.push(request.input);
  for (const item of objectsOf(request.input)) {
    if (
      item.type === "additional_tools" || item.type === "tool_search_output"
    ) {
      tools.push(...offeredTools(item.tools));
    } else if (
      item.type === "function_call_output" ||
      item.type === "custom_tool_call_output"
    ) {
      results.push({
        callId: textOf(item.call_id),
        content: contentText(item.output),
        isError: false,
      });
    } else if (item.role === "user") {
      userTexts.push(contentText(item.content));
    } else if (item.type === "agent_message") {
      userTexts.push(agentText(item.content));
    } else if (item.role === "developer" || item.role === "system") {
      system.push(contentText(item.content));
    }
  }
  return {
    protocol: "responses",
    model: textOf(request.model),
    stream: request.stream === true,
    system: system.filter((text) => text !== "").join("\n"),
    userTexts,
    tools,
    results,
  };
}

function messageItem(answer: Answer, text: string): JsonObject {
  return {
    type: "message",
    id: `msg_${answer.id}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function callItem(call: AnswerCall): JsonObject {
  const common = {
    id: `item_${call.id}`,
    "call_id": call.id,
    name: call.name,
    ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
    status: "completed",
  };
  if (call.kind === "search") {
    return {
      type: "tool_search_call",
      id: common.id,
      "call_id": call.id,
      status: "completed",
      execution: "client",
      arguments: JSON.parse(call.arguments),
    };
  }
  return call.kind === "custom"
    ? { type: "custom_tool_call", ...common, input: call.arguments }
    : { type: "function_call", ...common, arguments: call.arguments };
}

function reasoningItem(answer: Answer): JsonObject {
  return {
    type: "reasoning",
    id: `rs_${answer.id}`,
    summary: [{ type: "summary_text", text: answer.thinking }],
    encrypted_content: null,
  };
}

function outputOf(answer: Answer): JsonObject[] {
  const items: JsonObject[] = [];
  if (answer.thinking !== "") items.push(reasoningItem(answer));
  if (answer.text.length > 0) {
    items.push(messageItem(answer, answer.text.join("")));
  }
  for (const call of answer.calls) items.push(callItem(call));
  return items;
}

function whole(answer: Answer): JsonObject {
  const { input, output } = answer.usage;
  const cut = answer.stop === "max_tokens";
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: 0,
    status: cut ? "incomplete" : "completed",
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    error: null,
    model: answer.model,
    output: outputOf(answer),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
  };
}

function* events(answer: Answer): Generator<ModelEvent> {
  let sequence = 0;
  const named = (type: string, rest: JsonObject, pace = false): ModelEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...rest },
    pace,
  });
  const done = whole(answer);
  yield named("response.created", {
    response: { ...done, status: "in_progress", output: [], usage: null },
  });
  for (const [index, item] of outputOf(answer).entries()) {
    const at = { "item_id": item.id, "output_index": index };
    const begun = {
      ...item,
      ...(item.type === "message"
        ? { status: "in_progress", content: [] }
        : {}),
    };
    yield named("response.output_item.added", {
      output_index: index,
      item: begun,
    });
    if (item.type === "message") {
      const text = answer.text.join("");
      const part = { type: "output_text", text: "", annotations: [] };
      yield named("response.content_part.added", {
        ...at,
        content_index: 0,
        part,
      });
      for (const delta of answer.text) {
        yield named("response.output_text.delta", {
          ...at,
          content_index: 0,
          delta,
        }, true);
      }
      yield named("response.output_text.done", {
        ...at,
        content_index: 0,
        text,
      });
      yield named("response.content_part.done", {
        ...at,
        content_index: 0,
        part: { ...part, text },
      });
    } else if (item.type === "function_call") {
      yield named("response.function_call_arguments.delta", {
        ...at,
        delta: item.arguments,
      }, true);
      yield named("response.function_call_arguments.done", {
        ...at,
        arguments: item.arguments,
      });
    } else if (item.type === "custom_tool_call") {
      yield named("response.custom_tool_call_input.delta", {
        ...at,
        delta: item.input,
      }, true);
      yield named("response.custom_tool_call_input.done", {
        ...at,
        input: item.input,
      });
    } else {
      yield named("response.reasoning_summary_text.delta", {
        ...at,
        summary_index: 0,
        delta: answer.thinking,
      }, true);
      yield named("response.reasoning_summary_text.done", {
        ...at,
        summary_index: 0,
        text: answer.thinking,
      });
    }
    yield named("response.output_item.done", { output_index: index, item });
  }
  yield named(
    done.status === "incomplete" ? "response.incomplete" : "response.completed",
    { response: done },
  );
}

function codeOf(status: number): string {
  return status === 429
    ? "rate_limit_exceeded"
    : status === 401
    ? "invalid_api_key"
    : "server_error";
}

function error(status: number, message: string): JsonObject {
  return {
    error: { message, type: codeOf(status), param: null, code: codeOf(status) },
  };
}

/** OpenAI Responses. */
export const responses: Protocol = {
  read,
  whole,
  events,
  error,
  errorEvent: (status, message) => ({
    event: "response.failed",
    data: {
      type: "response.failed",
      response: {
        id: "resp_failed",
        object: "response",
        status: "failed",
        error: { code: codeOf(status), message },
      },
    },
  }),
};
