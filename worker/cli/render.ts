/**
 * Frames as lines for people.
 *
 * @module
 */

import { visible, visibleLines } from "@bulkhead/sandbox/command";
import type { Frame } from "../frame.ts";
import { askLine } from "./questions.ts";

/**
 * A frame as text for a terminal; control characters of the agent are shown and not obeyed.
 *
 * @param frame The frame.
 * @returns The text, or the empty string for a frame that tells a person nothing.
 */
export function renderFrame(frame: Frame): string {
  const sub = frame.parent_tool_use_id === undefined ? "" : "  | ";
  switch (frame.kind) {
    case "assistant": {
      const calls = (frame.tool_uses ?? []).map((use) =>
        `${sub}> ${callLine(use.name, use.input)}\n`
      );
      const text = frame.text === ""
        ? ""
        : `${sub}${visibleLines(frame.text)}\n`;
      return text + calls.join("");
    }
    case "user_echo":
      if (frame.source === "replay") {
        return `» ${visible(shorten(frame.text ?? "", 400))}\n`;
      }
      return (frame.tool_results ?? [])
        .map((part) =>
          `${sub}${part.is_error ? "! " : "  "}${visible(shorten(part.text))}\n`
        ).join("");
    case "control_request":
      return frame.subtype === "can_use_tool"
        ? `${sub}? ${callLine(frame.tool_name, frame.input)}\n`
        : "";
    case "result":
      return `= ${frame.subtype}${
        frame.is_error
          ? ` (error): ${visible(shorten((frame.errors ?? []).join("; ")))}`
          : ""
      }\n`;
    case "system":
      if (frame.subtype === "api_retry") {
        return `~ retry ${frame.attempt}/${frame.max_retries}: ${
          frame.error ?? ""
        }\n`;
      }
      if (frame.subtype === "task_started") {
        return `~ task ${frame.task_id}: ${visible(frame.description ?? "")}\n`;
      }
      if (frame.subtype === "task_notification") {
        return `~ task ${frame.task_id} ${frame.status}\n`;
      }
      return "";
    case "malformed":
      return `~ a line that is no frame${
        frame.size === undefined ? "" : ` (${frame.size} bytes)`
      }\n`;
    default:
      return "";
  }
}

/** A call, or the agent's own question, in one line. */
function callLine(tool: string, input: unknown): string {
  const line = askLine(
    { ["tool_name"]: tool, input },
    (rest) => shorten(json(rest)),
  );
  return visible(shorten(line, 400));
}

function shorten(text: string, max = 160): string {
  const points = Array.from(text.slice(0, max * 2 + 2));
  return points.length <= max && text.length <= max * 2
    ? text
    : `${points.slice(0, max).join("")}…`;
}

function json(value: unknown): string {
  try {
    return visible(JSON.stringify(value) ?? "");
  } catch {
    return "…";
  }
}
