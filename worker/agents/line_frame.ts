/**
 * One line of a stream-json agent as a frame, with what is left of a line that cannot be read.
 *
 * @module
 */

import type { AgentLine } from "../agent_child.ts";
import { type Frame, type ParsedLine, parseLine } from "../frame.ts";
import type { AgentFrame } from "./driver.ts";

/** How much of an unreadable line its frame shows. */
const HEAD = 512;

/** How much of a line that was cut is kept. */
const KEPT = 65_536;

/** A frame as the driver hands it on, and the object of its line. */
export interface LineFrame {
  /** The frame. */
  readonly item: AgentFrame;
  /** The object that was read, if it was one. */
  readonly value: ParsedLine["value"];
}

/**
 * Reads a line.
 *
 * @param line The line.
 * @returns The frame.
 */
export function lineFrame(line: AgentLine): LineFrame {
  if (line.cut) {
    const frame: Frame = {
      kind: "malformed",
      size: line.size,
      head: line.text.slice(0, HEAD),
    };
    return { item: { frame, raw: line.text.slice(0, KEPT) }, value: undefined };
  }
  const { frame, value } = parseLine(line.text);
  if (frame.kind !== "malformed") {
    return { item: { frame, raw: line.text, bytes: line.bytes }, value };
  }
  if (line.size > 4096) {
    frame.size = line.size;
    frame.head = line.text.slice(0, HEAD);
  }
  return { item: { frame, raw: line.text }, value };
}
