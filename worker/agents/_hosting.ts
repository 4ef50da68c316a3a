/**
 * What hosting an agent beside a bridge is the same for, whatever the agent speaks.
 *
 * @module
 */

import type { AgentChild } from "../agent_child.ts";
import type { Frame, JsonObject } from "../frame.ts";
import { callOf, NEVER, NOT_STARTED, withdrawn } from "./_basics.ts";
import { atMost } from "./_within.ts";
import { AskDesk } from "./ask_desk.ts";
import { Bridge } from "./bridge.ts";
import type { AgentEnd, AgentStart, AgentStatus, ToolCall } from "./driver.ts";
import { FrameQueue } from "./frame_queue.ts";
import { ToolServer } from "./tool_server.ts";

/** What a bridge needs of its driver. */
export interface BridgePort {
  /**
   * Shows a frame of ours.
   *
   * @param frame The frame.
   */
  show(frame: Frame): void;
  /**
   * The call that the agent's hook or plugin asks about; without it nobody may ask.
   *
   * @param payload What it sent.
   * @returns The call.
   */
  call?(payload: JsonObject): ToolCall;
}

/**
 * Opens the way back from the agent's hooks, plugins and tool relays to us.
 *
 * @param start What is started.
 * @param port The driver.
 * @returns The bridge, and the desk that judges for it.
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

/** How long a running turn may take to stop before the process is ended. */
export const SETTLE_MS = 1500;

/** One hosted agent: the way of its frames, the calls it was judged for, its process and its end. */
export class Hosting {
  /** The frames on their way out. */
  readonly queue = new FrameQueue();
  /** The calls of the running turn, by the agent's ids. */
  readonly calls = new Map<string, ToolCall>();
  /** Resolves when the process has ended and what it left is removed. */
  readonly ended: Promise<AgentEnd>;
  #start: AgentStart | undefined;
  #child: AgentChild | undefined;
  #rested = Promise.withResolvers<void>();
  #resolveEnded: (end: AgentEnd | PromiseLike<AgentEnd>) => void = () => {};

  /** Hosts nothing yet. */
  constructor() {
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /**
   * A start begins.
   *
   * @param start What is started.
   */
  begin(start: AgentStart): void {
    this.#start = start;
  }

  /** The directory of the session. */
  get cwd(): string {
    return this.#start?.cwd ?? "/";
  }

  /** The model that was asked for. */
  get model(): string | undefined {
    return this.#start?.model;
  }

  /** True while the process lives. */
  get alive(): boolean {
    return this.#child?.status.alive === true;
  }

  /** How the process stands. */
  get status(): AgentStatus {
    return this.#child?.status ?? NOT_STARTED;
  }

  /**
   * Says something in the worker's own log.
   *
   * @param line One line.
   */
  log(line: string): void {
    this.#start?.log?.(line);
  }

  /**
   * The process is up: its end is the agent's, once it is read to the end and cleared up behind it.
   *
   * @param child The process.
   * @param reading Settles when no frame comes any more.
   * @param clear Removes what was made for it.
   */
  host(
    child: AgentChild,
    reading: Promise<unknown>,
    clear: () => Promise<unknown>,
  ): void {
    this.#child = child;
    const read = reading.catch((error) =>
      this.log(`Cannot read the agent: ${error}`)
    ).then(() => this.queue.end());
    this.#resolveEnded(child.ended.then(async (end) => {
      await read;
      this.rested();
      await clear();
      return end;
    }));
  }

  /**
   * Nothing was started, or not for long enough to be hosted.
   *
   * @param end How it ended.
   */
  failed(end: AgentEnd): void {
    if (this.#child === undefined) this.#resolveEnded(end);
  }

  /**
   * Shows a frame of ours.
   *
   * @param frame The frame.
   * @param session The session, once it has a name.
   */
  show(frame: Frame, session: string | undefined): void {
    if (session !== undefined && session !== "") frame.session_id = session;
    this.queue.push(frame, JSON.stringify(frame));
  }

  /**
   * A question is no longer open, and we have not answered it.
   *
   * @param askId The question.
   * @param session The session.
   */
  withdraw(askId: string, session: string | undefined): void {
    this.show(withdrawn(askId), session);
  }

  /**
   * The call that the agent's hook or plugin tells about, kept for when the agent itself asks about it.
   *
   * @param payload What it sent.
   * @returns The call.
   */
  callOf(payload: JsonObject): ToolCall {
    const call = callOf(payload, this.cwd);
    if (call.toolUseId !== undefined) this.calls.set(call.toolUseId, call);
    return call;
  }

  /** No turn runs any more. */
  rested(): void {
    this.#rested.resolve();
    this.#rested = Promise.withResolvers();
  }

  /** Resolves when the running turn is over, or the process. */
  get rest(): Promise<unknown> {
    return Promise.race([this.#rested.promise, this.#child?.ended]);
  }

  /**
   * Ends the process.
   *
   * @param options How long to wait at each step.
   * @param stop Stops what runs, which may take a moment and no more.
   * @returns How it ended.
   */
  async close(
    options: { eofMs?: number; termMs?: number },
    stop: () => Promise<unknown>,
  ): Promise<AgentEnd> {
    const child = this.#child;
    if (child === undefined) return NEVER;
    if (child.status.alive) {
      await atMost(Promise.race([stop(), child.ended]), SETTLE_MS);
    }
    const { by } = await child.close(options);
    return { ...await this.ended, by };
  }
}
