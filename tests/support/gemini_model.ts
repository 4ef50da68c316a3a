/**
 * The few lines of the Gemini API that let a test play tool calls to the real Gemini CLI.
 *
 * @module
 */

/** A call of one of Gemini's tools. */
export interface GeminiCall {
  /** The tool. */
  readonly name: string;
  /** Its arguments. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** A running model. */
export interface GeminiModel extends AsyncDisposable {
  /** Its address. */
  readonly origin: string;
  /** What the tools answered, as JSON text. */
  readonly answers: string[];
}

/** Starts a model on loopback that makes one call per request, then says "done". */
export function startGeminiModel(calls: readonly GeminiCall[]): GeminiModel {
  let next = 0;
  const answers: string[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname.endsWith(":countTokens")) {
        return Response.json({ totalTokens: 1 });
      }
      const body = await request.json();
      const parts = (body.contents ?? []).at(-1)?.parts ?? [];
      for (const { functionResponse } of parts) {
        if (functionResponse) answers.push(JSON.stringify(functionResponse));
      }
      const call = body.tools ? calls[next++] : undefined;
      const content = {
        role: "model",
        parts: [call ? { functionCall: call } : { text: "done" }],
      };
      const answer = {
        candidates: [{ content, finishReason: "STOP", index: 0 }],
      };
      return pathname.endsWith(":streamGenerateContent")
        ? new Response(`data: ${JSON.stringify(answer)}\r\n\r\n`, {
          headers: { "content-type": "text/event-stream" },
        })
        : Response.json(answer);
    },
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    answers,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
