/**
 * What we say to OpenCode.
 *
 * @module
 */

import type { JsonObject } from "../frame.ts";
import type { AgentTurn, AskAnswer } from "./driver.ts";

/**
 * The body of a prompt.
 *
 * @param turn The turn.
 * @param model The model as `provider/model`; the agent's own when absent or without a provider.
 * @returns What `prompt_async` takes.
 */
export function promptBody(
  turn: AgentTurn,
  model: string | undefined,
): JsonObject {
  const images = (turn.images ?? []).map((image) => ({
    type: "file",
    mime: image.mediaType,
    url: `data:${image.mediaType};base64,${image.data}`,
  }));
  const [providerID, ...rest] = (model ?? "").split("/");
  return {
    parts: [...images, { type: "text", text: turn.text }],
    ...(rest.length > 0
      ? { model: { providerID, modelID: rest.join("/") } }
      : {}),
  };
}

/**
 * The answer to an ask of OpenCode's own.
 *
 * @param answer What the person said.
 * @returns What the reply takes.
 */
export function askReply(answer: AskAnswer): JsonObject {
  if (answer.decision === "allow") return { reply: "once" };
  // Without a message the rejection would end the whole turn.
  return { reply: "reject", message: answer.reason ?? "denied" };
}
