/**
 * The way back from an agent that is hosted beside a bridge.
 *
 * @module
 */

import type { Frame, JsonObject } from "../frame.ts";
import { AskDesk } from "./ask_desk.ts";
import { Bridge } from "./bridge.ts";
import type { AgentStart, ToolCall } from "./driver.ts";
import { ToolServer } from "./tool_server.ts";

/** What a bridge needs of its driver. */
export interface BridgePort {
  /**
   * Shows a frame of ours.
   *
   * @param frame The frame
   */
  show(frame: Frame): void;
  /**
   * The call that the agent's hook or plugin asks about; without it nobody may ask.
   *
   * @param payload What it sent
   * @returns The call
   */
  call?(payload: JsonObject): ToolCall;
}

/**
 * Opens the way back from the agent's hooks, plugins and tool relays to us.
 *
 * @param start What is started
 * @param port The driver
 * @returns The bridge, and the desk that judges for it
 */
export async function openBridge(
  start: AgentStart,
  port: BridgePort,
): Promise<{ bridge: Bridge; desk: AskDesk }> {
  const tools = start.tools === undefined
    ? undefined
    : new ToolServer(start.tools, "bulkhead", start.cwd);
  const desk = new AskDesk({
    judge: (call) => start.judge(call),
    show: (frame) => port.show(frame),
  });
  const bridge = await Bridge.open({
    judge: (payload, gone) =>
      port.call === undefined
        ? { decision: "deny", reason: "nobody is asked here" }
        : desk.judge(port.call(payload), gone),
    ...(tools === undefined ? {} : { tools }),
    log: (line) => start.log?.(line),
  });
  return { bridge, desk };
}
