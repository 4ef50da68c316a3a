/**
 * A scripted model: one loopback server that plays a JSON script to a coding agent, so that the agent's
 * real program can be tested without a model, a login or a network.
 *
 * It speaks Anthropic Messages (`/v1/messages`, `count_tokens`), OpenAI Responses (`/v1/responses`) and
 * Chat Completions (`/v1/chat/completions`), streaming and not. Each request that offers tools gets the
 * next step of the script; a request whose user texts contain a conversation's `match` (a subagent's
 * prompt) gets the next step of that conversation. Everything is recorded, so a test can read the tool
 * results the agent sent back.
 *
 * Point agents at it with {@linkcode ScriptedModel.origin}: `ANTHROPIC_BASE_URL=<origin>` for Claude
 * Code, `base_url = "<origin>/v1"` for Codex, `baseURL: "<origin>/v1"` for OpenCode.
 *
 * @example A client that calls a tool and is answered
 * ```ts
 * import { startScriptedModel } from "@bulkhead/guard/scripted-model";
 * import { assertEquals } from "@std/assert";
 *
 * await using model = await startScriptedModel({
 *   steps: [{ text: "hello" }],
 *   side: false,
 * });
 * const answer = await fetch(`${model.origin}/v1/chat/completions`, {
 *   method: "POST",
 *   body: JSON.stringify({ model: "any", messages: [{ role: "user", content: "hi" }] }),
 * });
 * assertEquals((await answer.json()).choices[0].message.content, "hello");
 * assertEquals(model.requests[0]?.request.userTexts, ["hi"]);
 * model.assertFinished();
 * ```
 *
 * As a program: `deno run --allow-net=127.0.0.1 --allow-read --allow-write scripted_model.ts script.json`
 * prints the origin, and at SIGINT or SIGTERM the steps no agent asked for (exit code 1 if there are any).
 *
 * @module
 */
export * from "./scripted_model/script.ts";
export * from "./scripted_model/server.ts";
export type {
  ModelProtocol,
  ModelRequest,
  OfferedTool,
  ToolResult,
} from "./scripted_model/request.ts";
export type { JsonObject } from "./scripted_model/_json.ts";

import { main } from "./scripted_model/cli.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));
