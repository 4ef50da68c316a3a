/**
 * What we say to Codex, and what it leaves unsaid.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type { JsonObject } from "../frame.ts";
import type { AgentEnd, AgentTurn, AskAnswer } from "./driver.ts";

/**
 * The parameters of a turn.
 *
 * @param threadId The thread.
 * @param turn The turn.
 * @returns What `turn/start` and `turn/steer` take.
 */
export function turnParams(threadId: string, turn: AgentTurn): JsonObject {
  const images = (turn.images ?? []).map((image) => ({
    type: "image",
    url: `data:${image.mediaType};base64,${image.data}`,
  }));
  const text = { type: "text", text: turn.text, ["text_elements"]: [] };
  return {
    threadId,
    input: [...images, text],
    ...(turn.uuid === undefined ? {} : { clientUserMessageId: turn.uuid }),
  };
}

/**
 * The answer to an ask of Codex's own.
 *
 * @param method How it was asked.
 * @param answer What the person said.
 * @returns The result of the request.
 */
export function askAnswer(method: string, answer: AskAnswer): JsonObject {
  const yes = answer.decision === "allow";
  if (method === "mcpServer/elicitation/request") {
    return { action: yes ? "accept" : "decline", content: {} };
  }
  if (yes) return { decision: "accept" };
  return { decision: answer.interrupt === true ? "cancel" : "decline" };
}

/**
 * Why Codex did not start. It does not say itself where it could not write.
 *
 * @param error What went wrong.
 * @param end How it ended.
 * @param env Its environment.
 * @returns The reason.
 */
export function withHome(
  error: unknown,
  end: AgentEnd,
  env: Readonly<Record<string, string>>,
): string {
  const why = reasonOf(error);
  if (!/os error (?:13|20|28|30)\)/.test(end.stderrTail)) return why;
  return `${why}, can "${
    env.CODEX_HOME ?? `${env.HOME}/.codex`
  }" be written to?`;
}
