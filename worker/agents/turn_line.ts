/**
 * A turn as agents that speak stream-json read it.
 *
 * @module
 */

import type { AgentTurn } from "./driver.ts";

/**
 * The line of a turn.
 *
 * @param turn The turn.
 * @returns One JSON line without its newline.
 */
export function turnLine(turn: AgentTurn): string {
  const images = (turn.images ?? []).map((image) => ({
    type: "image",
    source: { type: "base64", media_type: image.mediaType, data: image.data },
  }));
  const content = [...images, { type: "text", text: turn.text }];
  return JSON.stringify({
    type: "user",
    message: { role: "user", content },
    ...(turn.uuid === undefined ? {} : { uuid: turn.uuid }),
  });
}
