/**
 * One line of a stream-json agent as a frame, with what is left of a line that cannot be read.
 *
 * @module
 */

import type { AgentLine } from "../agent_child.ts";
import { cut, type Frame, type ParsedLine, parseLine } from "../frame.ts";
import type { AgentFrame } from "./driver.ts";

/** How much of an unreadable line its frame shows. */
const HEAD = 512;

/** How much of a line that was cut is kept. */
const KEPT = 65_536;

/** How much of a line that was cut is looked at for what it is. */
const SEEN = 4096;

/** A frame as the driver hands it on, and the object of its line. */
export interface LineFrame {
  /** The frame. */
  readonly item: AgentFrame;
  /** The object that was read, if it was one; of a line that was cut, its first members. */
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
    const { frame, value } = stub(line);
    return { item: { frame, raw: cut(line.text, KEPT) }, value };
  }
  const { frame, value } = parseLine(line.text);
  if (frame.kind !== "malformed") {
    return { item: { frame, raw: line.text, bytes: line.bytes }, value };
  }
  if (line.size > 4096) {
    frame.size = line.size;
    frame.head = cut(line.text, HEAD);
  }
  return { item: { frame, raw: line.text }, value };
}

/** A line that is too long is told by its type, size and beginning; a result among them still ends its turn. */
function stub(line: AgentLine): ParsedLine {
  const parsed = parseLine(firstMembers(line.text.slice(0, SEEN)));
  if (parsed.frame.kind === "result") return parsed;
  const { value } = parsed;
  const frame: Frame = {
    kind: "malformed",
    size: line.size,
    head: cut(line.text, HEAD),
    ...(typeof value?.type === "string" ? { type_name: value.type } : {}),
  };
  return { frame, value };
}

/** The beginning of an object, closed behind the last member that is whole. */
function firstMembers(head: string): string {
  for (
    let at = head.lastIndexOf(",");
    at > 0;
    at = head.lastIndexOf(",", at - 1)
  ) {
    const closed = `${head.slice(0, at)}}`;
    if (parseLine(closed).value !== undefined) return closed;
  }
  return "";
}
