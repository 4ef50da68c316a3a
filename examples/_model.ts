// deno-lint-ignore-file no-import-prefix -- an example that people copy
/** A model that plays a script: one tool call, then its answer. */
import { MockLanguageModelV3 } from "npm:ai@6.0.325/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export const model = new MockLanguageModelV3({
  doGenerate: (options) => {
    const last = options.prompt.at(-1);
    const finished = last?.role === "tool";
    return Promise.resolve({
      content: finished
        ? [{
          type: "text" as const,
          text: `The tool said ${JSON.stringify(last.content)}`,
        }]
        : [{
          type: "tool-call" as const,
          toolCallId: "call-1",
          toolName: options.tools?.[0]?.name ?? "",
          input: JSON.stringify({ name: "Ada" }),
        }],
      finishReason: {
        unified: finished ? "stop" as const : "tool-calls" as const,
        raw: undefined,
      },
      usage,
      warnings: [],
    });
  },
});
