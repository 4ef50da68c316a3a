/**
 * Each adapter inside the real package it is for. The packages have an import map of their own: in the root's they
 * would be downloaded by every first run of anything. `plugins_adapters_slow_test.ts` runs this file.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  textResult,
  toAiSdkTools,
  toMastraTools,
  type Tool,
  toOpenAiAgentsTools,
  toPiTools,
} from "@bulkhead/plugins";
import * as ai from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as agents from "@openai/agents-core";
import {
  Agent as PiAgent,
  type AgentEvent,
} from "@earendil-works/pi-agent-core";
import {
  type AssistantMessage,
  createAssistantMessageEventStream,
  type Model,
} from "@earendil-works/pi-ai";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A tool that greets with a text and a picture, and fails for nobody. */
function greeter(): {
  tool: Tool;
  calls: { args: unknown; toolCallId?: string; signal: boolean }[];
} {
  const calls: { args: unknown; toolCallId?: string; signal: boolean }[] = [];
  const tool: Tool = {
    name: "plugin__demo__greet",
    title: "Greet",
    description: "Greets somebody",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
      additionalProperties: false,
    },
    source: {
      plugin: "demo",
      tool: "greet",
      version: "1.0.0",
      hash: "",
      dir: "",
    },
    execute(args, context) {
      calls.push({
        args,
        signal: context?.signal instanceof AbortSignal,
        ...(context?.toolCallId === undefined
          ? {}
          : { toolCallId: context.toolCallId }),
      });
      const name = typeof args === "object" && args !== null && "name" in args
        ? String(args.name)
        : "";
      if (name === "nobody") {
        return Promise.resolve(textResult("nobody is there", true));
      }
      context?.onUpdate?.(textResult("looking for a greeting"));
      return Promise.resolve({
        content: [{ type: "text", text: `Hello, ${name}!` }, {
          type: "image",
          data: PIXEL,
          mimeType: "image/png",
        }],
      });
    },
  };
  return { tool, calls };
}

Deno.test("toAiSdkTools() works in generateText() of the AI SDK 6", async () => {
  const { tool, calls } = greeter();
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const finish = (unified: "tool-calls" | "stop") => ({
    unified,
    raw: undefined,
  });
  const call = (toolCallId: string, name: string) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName: tool.name,
    input: JSON.stringify({ name }),
  });
  const model = new MockLanguageModelV3({
    doGenerate: [
      {
        content: [call("c1", "Ada"), call("c2", "nobody")],
        finishReason: finish("tool-calls"),
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "done" }],
        finishReason: finish("stop"),
        usage,
        warnings: [],
      },
    ],
  });
  const result = await ai.generateText({
    model,
    prompt: "greet",
    tools: toAiSdkTools([tool], ai),
    stopWhen: ai.stepCountIs(3),
    abortSignal: new AbortController().signal,
  });
  assertEquals(result.text, "done");
  assertEquals(calls, [
    { args: { name: "Ada" }, toolCallId: "c1", signal: true },
    { args: { name: "nobody" }, toolCallId: "c2", signal: true },
  ]);
  const sent = JSON.stringify(model.doGenerateCalls[1]?.prompt);
  assertStringIncludes(sent, "Hello, Ada!");
  assertStringIncludes(sent, PIXEL);
  assertStringIncludes(sent, "nobody is there");
  const schema = JSON.stringify(model.doGenerateCalls[0]?.tools);
  assertStringIncludes(schema, '"additionalProperties":false');
});

Deno.test("toAiSdkTools() streams partial results", async () => {
  const { tool } = greeter();
  const made = toAiSdkTools([tool], ai)[tool.name];
  assert(made !== undefined);
  const seen: string[] = [];
  for await (const part of made.execute({ name: "Ada" }, { toolCallId: "c" })) {
    seen.push(
      part.content.map((piece) =>
        piece.type === "text" ? piece.text : piece.type
      ).join("+"),
    );
  }
  assertEquals(seen.at(-1), "Hello, Ada!+image");
});

Deno.test("toOpenAiAgentsTools() works in an agent of the OpenAI Agents SDK", async () => {
  agents.setTracingDisabled(true);
  const { tool, calls } = greeter();
  const requests: agents.ModelRequest[] = [];
  const call = (callId: string, name: string) => ({
    type: "function_call" as const,
    callId,
    name: tool.name,
    status: "completed" as const,
    arguments: JSON.stringify({ name }),
  });
  const outputs: agents.AgentOutputItem[][] = [
    [call("c1", "Ada"), call("c2", "nobody")],
    [{
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "done" }],
    }],
  ];
  const model: agents.Model = {
    getResponse(request) {
      requests.push(request);
      return Promise.resolve({
        usage: new agents.Usage(),
        output: outputs.shift() ?? [],
      });
    },
    getStreamedResponse: () => {
      throw new Error("not used");
    },
  };
  const agent = new agents.Agent({
    name: "a",
    model,
    tools: toOpenAiAgentsTools([tool], agents),
  });
  const result = await agents.run(agent, "greet");
  assertEquals(result.finalOutput, "done");
  assertEquals(calls.map((each) => [each.args, each.toolCallId]), [
    [{ name: "Ada" }, "c1"],
    [{ name: "nobody" }, "c2"],
  ]);
  const sent = JSON.stringify(requests[1]?.input);
  assertStringIncludes(sent, "Hello, Ada!");
  assertStringIncludes(sent, "nobody is there");
  assertEquals(requests[0]?.tools.map((each) => each.name), [tool.name]);
});

Deno.test("toPiTools() works in the agent core of pi", async () => {
  const { tool, calls } = greeter();
  const model: Model<"openai-completions"> = {
    id: "m",
    name: "m",
    api: "openai-completions",
    provider: "scripted",
    baseUrl: "http://127.0.0.1:9",
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1000,
    maxTokens: 100,
  };
  const message = (
    content: AssistantMessage["content"],
    stopReason: "toolUse" | "stop",
  ): AssistantMessage => ({
    role: "assistant",
    content,
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason,
    timestamp: 0,
  });
  const call = (id: string, name: string) => ({
    type: "toolCall" as const,
    id,
    name: tool.name,
    arguments: { name },
  });
  const answers = [
    message([call("c1", "Ada"), call("c2", "nobody")], "toolUse"),
    message([{ type: "text", text: "done" }], "stop"),
  ];
  const agent = new PiAgent({
    initialState: { systemPrompt: "", model, tools: toPiTools([tool]) },
    streamFn() {
      const stream = createAssistantMessageEventStream();
      const answer = answers.shift();
      if (answer !== undefined) {
        stream.push({ type: "start", partial: answer });
        stream.push({
          type: "done",
          reason: answer.stopReason === "stop" ? "stop" : "toolUse",
          message: answer,
        });
      }
      return stream;
    },
  });
  const events: AgentEvent[] = [];
  agent.subscribe((event) => void events.push(event));
  await agent.prompt("greet");
  assertEquals(calls.map((each) => [each.args, each.toolCallId, each.signal]), [
    [{ name: "Ada" }, "c1", true],
    [{ name: "nobody" }, "c2", true],
  ]);
  const results = agent.state.messages.filter((each) =>
    each.role === "toolResult"
  );
  assertEquals(results.map((each) => each.isError), [false, true]);
  assertStringIncludes(JSON.stringify(results[0]), "Hello, Ada!");
  assertStringIncludes(JSON.stringify(results[1]), "nobody is there");
  const updates = events.filter((event) =>
    event.type === "tool_execution_update"
  );
  assertStringIncludes(JSON.stringify(updates), "looking for a greeting");
});

Deno.test("toMastraTools() works as tools of Mastra", async () => {
  const { tool, calls } = greeter();
  const [options] = toMastraTools([tool], z);
  assert(options !== undefined);
  const made = createTool(options);
  assertEquals(made.id, tool.name);
  const { signal: abortSignal } = new AbortController();
  const observe = {
    span: <T>(_name: string, body: () => T | Promise<T>) =>
      Promise.resolve(body()),
    log() {},
  };
  const context = { abortSignal, observe };
  const result = await made.execute?.({ name: "Ada" }, context);
  assertStringIncludes(JSON.stringify(result), "Hello, Ada!");
  assertEquals(calls, [{ args: { name: "Ada" }, signal: true }]);
  const wrong = await made.execute?.({ name: 5 }, context);
  assertStringIncludes(JSON.stringify(wrong), "validation");
  assertEquals(calls.length, 1);
  const failed = await made.execute?.({ name: "nobody" }, context).catch((
    error: Error,
  ) => error.message);
  assertStringIncludes(JSON.stringify(failed), "nobody is there");
});
