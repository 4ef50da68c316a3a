/**
 * The driver for agents that speak stream-json over their pipes: Claude Code, the scripted agent, and whatever argv a
 * caller brings.
 *
 * @module
 */

import { findExecutable } from "@bulkhead/sandbox";
import {
  AgentChild,
  agentEnvironment,
  type AgentLine,
} from "../agent_child.ts";
import type { JsonObject } from "../frame.ts";
import { askResponse } from "../gate.ts";
import { TurnState } from "../turn_state.ts";
import type {
  AgentDriver,
  AgentEnd,
  AgentFrame,
  AgentStart,
  AgentStarted,
  AgentStatus,
  AgentTurn,
  AskAnswer,
  Gate,
} from "./driver.ts";
import { NEVER, NOT_STARTED, NOTHING_TO_SAVE } from "./_basics.ts";
import { ControlAnswers } from "./control_answers.ts";
import { ControlRequests } from "./control_requests.ts";
import { inputText } from "./input_text.ts";
import { lineFrame } from "./line_frame.ts";
import { AgentStartError } from "./start_error.ts";
import type { StreamJsonOptions } from "./stream_json_options.ts";
import { ToolServer } from "./tool_server.ts";
import { turnLine } from "./turn_line.ts";

export type { StreamJsonOptions } from "./stream_json_options.ts";

const ALREADY_IN_USE = /Session ID \S+ is already in use/;
/** The id of our PreToolUse callback. */
const CALLBACK = "gate";
/** How long the agent waits for the callback, in seconds. */
const CALLBACK_TIMEOUT_S = 30;
/** How long the agent may take to confirm an interrupt. */
const INTERRUPT_MS = 10_000;
/** How long the end waits for a turn that is interrupted. */
const SETTLE_MS = 1500;

/** Drives one stream-json agent process. */
export class StreamJsonDriver implements AgentDriver {
  /** The agent's name. */
  readonly name: string;
  /** True when turns are known to come back before their result. */
  readonly replays: boolean;
  /** True when every turn gets an id of ours. */
  readonly stampsTurns: boolean;
  /** True when the agent is known to tell its state. */
  readonly tellsState: boolean;
  /** True when the caller answers for who writes the session. */
  readonly callersSession: boolean;
  /** Resolves when the process has ended. */
  readonly ended: Promise<AgentEnd>;
  readonly #options: StreamJsonOptions;
  readonly #gated: boolean;
  readonly #state = new TurnState();
  /** The open asks, each with the arguments of its call as JSON. */
  readonly #asks = new Map<string, string>();
  readonly #control = new ControlRequests((line) =>
    this.#running().writeUrgent(line)
  );
  #answers: ControlAnswers | undefined;
  #child: AgentChild | undefined;
  #start: AgentStart | undefined;
  #server: ToolServer | undefined;
  #batches: AsyncGenerator<readonly AgentLine[], void, undefined> | undefined;
  #early: AgentFrame[] = [];
  #sessionId: string | undefined;
  #resolveEnded: (end: AgentEnd | PromiseLike<AgentEnd>) => void = () => {};
  #idle: (() => void) | undefined;

  /**
   * Makes a driver for one process.
   *
   * @param options The agent.
   */
  constructor(options: StreamJsonOptions) {
    this.#options = options;
    this.name = options.name;
    this.#gated = options.gate ?? true;
    this.stampsTurns = options.stampsTurns ?? this.#gated;
    this.replays = this.#gated;
    this.tellsState = this.#gated;
    this.callersSession = options.callersSession ?? false;
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /**
   * Starts the process, and with a gate waits until the agent has confirmed it.
   *
   * @param start What to start.
   * @returns The session and the gate.
   * @throws {AgentStartError} When the agent ends or stays silent instead.
   */
  async start(start: AgentStart): Promise<AgentStarted> {
    try {
      return await this.#launch(start);
    } catch (error) {
      const taken = error instanceof AgentStartError &&
        ALREADY_IN_USE.test(error.end.stderrTail);
      if (!taken || start.sessionId === undefined) throw error;
      // A worker that was killed had begun the session: it goes on.
      start.log?.(
        `The session "${start.sessionId}" exists already: resuming it`,
      );
      this.#early = [];
      return await this.#launch({
        ...start,
        sessionId: undefined,
        resume: start.sessionId,
      });
    }
  }

  async #launch(start: AgentStart): Promise<AgentStarted> {
    this.#start = start;
    this.#sessionId = start.resume ?? start.sessionId;
    if (start.tools !== undefined) {
      this.#server = new ToolServer(
        start.tools,
        this.#options.serverName ?? "bulkhead",
        start.cwd,
      );
    }
    this.#answers = new ControlAnswers({
      cwd: start.cwd,
      judgeMs: this.#options.judgeMs ?? 25_000,
      serverName: this.#options.serverName ?? "bulkhead",
      server: this.#server,
      judge: (call) => start.judge(call),
      write: (line) => this.#running().writeUrgent(line),
      log: (line) => start.log?.(line),
    });
    const argv = this.#options.argv(start);
    const env = agentEnvironment({
      ...this.#options.env,
      ...start.env,
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1",
    });
    this.#find(argv[0] ?? "", start.cwd, env.PATH ?? "");
    const child = await AgentChild.start(argv, {
      cwd: start.cwd,
      env,
      ...(this.#options.maxQueueBytes === undefined
        ? {}
        : { maxQueueBytes: this.#options.maxQueueBytes }),
      ...(this.#options.parentDeath === undefined
        ? {}
        : { parentDeath: this.#options.parentDeath }),
      watchdog: this.#options.watchdog === true,
    });
    this.#child = child;
    this.#batches = child.lines();
    const gate: Gate = this.#gated
      ? await this.#openGate(child)
      : { kind: "none", verified: false, detail: "the argv is the caller's" };
    this.#resolveEnded(child.ended);
    return { sessionId: this.#sessionId, gate };
  }

  /** A program that is not there is told with the command that installs it. */
  #find(program: string, cwd: string, path: string): void {
    const { install } = this.#options;
    if (install === undefined || findExecutable(program, cwd, path) !== null) {
      return;
    }
    throw new Deno.errors.NotFound(
      `Cannot start the agent "${this.name}": the program "${program}" is not on the PATH, install it with "${install}"`,
    );
  }

  /**
   * Sends one turn.
   *
   * @param turn The turn.
   * @returns How many bytes were queued.
   */
  send(turn: AgentTurn): Promise<number> {
    try {
      return Promise.resolve(this.#running().writeTurn(turnLine(turn)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Stops the running turn and waits until the agent has taken note. */
  async interrupt(): Promise<void> {
    await this.#control.request({ subtype: "interrupt" }, INTERRUPT_MS);
  }

  /**
   * Answers an open ask; an unknown one is ignored.
   *
   * @param askId The ask.
   * @param answer The answer.
   */
  answer(askId: string, answer: AskAnswer): void {
    const input = this.#asks.get(askId);
    if (input === undefined) return;
    this.#asks.delete(askId);
    this.#state.answered(askId);
    this.#answers?.reply(askId, () => askResponse(askId, answer, input));
  }

  /**
   * The frames in order.
   *
   * @returns A batch per read.
   */
  async *frames(): AsyncGenerator<readonly AgentFrame[], void, undefined> {
    if (this.#early.length > 0) {
      yield this.#early;
      this.#early = [];
    }
    for (;;) {
      const batch = await this.#next();
      if (batch === undefined) return;
      if (batch.length > 0) yield batch;
    }
  }

  /**
   * How the process stands.
   *
   * @returns Its pid, life and exit.
   */
  status(): AgentStatus {
    return this.#child?.status ?? NOT_STARTED;
  }

  /** The end of what the agent wrote to stderr. */
  get stderrTail(): string {
    return this.#child?.stderrTail ?? "";
  }

  /**
   * Ends the agent: a running turn is interrupted first, because a closed stdin would leave it without its gate.
   *
   * @param options How long to wait after closing stdin and after TERM.
   * @returns How it ended.
   */
  async close(
    options: { eofMs?: number; termMs?: number } = {},
  ): Promise<AgentEnd> {
    const child = this.#child;
    if (child === undefined) return NEVER;
    if (this.#gated && child.status.alive && this.#state.working) {
      await this.#settle();
    }
    this.#server?.abort();
    return await child.close(
      this.#state.working && this.#gated ? { ...options, eofMs: 0 } : options,
    );
  }

  async #settle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    const timer = setTimeout(resolve, SETTLE_MS);
    this.interrupt().catch(() => {});
    this.#child?.ended.then(() => resolve());
    await promise;
    clearTimeout(timer);
  }

  async #openGate(child: AgentChild): Promise<Gate> {
    const servers = this.#server === undefined
      ? {}
      : { sdkMcpServers: [this.#options.serverName ?? "bulkhead"] };
    const confirmed = this.#control.request({
      subtype: "initialize",
      hooks: {
        PreToolUse: [{
          matcher: null,
          hookCallbackIds: [CALLBACK],
          timeout: CALLBACK_TIMEOUT_S,
        }],
      },
      ...servers,
    }, this.#options.readyMs ?? 30_000);
    let failure: Error | undefined;
    let open = false;
    confirmed.then(
      () => open = true,
      (error) =>
        failure = error instanceof Error ? error : new Error(String(error)),
    );
    const stopped = confirmed.catch(() => {});
    while (!open && failure === undefined) {
      const batch = this.#next();
      const first = await Promise.race([
        batch,
        stopped.then(() => "stopped" as const),
      ]);
      if (first === "stopped") {
        // The read that is under way belongs to whoever reads the frames next.
        this.#held = batch;
        break;
      }
      if (first === undefined) break;
      // Their bytes are gone by the time they are read; the lines are not.
      this.#early.push(...first.map(({ frame, raw }) => ({ frame, raw })));
      await Promise.resolve();
    }
    await Promise.race([stopped, child.ended]);
    if (open) {
      return {
        kind: "callback",
        verified: true,
        detail: "PreToolUse callback registered and confirmed",
      };
    }
    const end = await child.close(NOTHING_TO_SAVE);
    throw new AgentStartError(
      this.name,
      failure?.message ?? "it ended before it was ready",
      end,
      this.#early,
    );
  }

  #held: Promise<readonly AgentFrame[] | undefined> | undefined;

  async #next(): Promise<readonly AgentFrame[] | undefined> {
    if (this.#held !== undefined) {
      const held = this.#held;
      this.#held = undefined;
      return await held;
    }
    const step = await this.#batches?.next();
    if (step === undefined || step.done === true) {
      this.#state.ended();
      this.#server?.abort();
      this.#control.end();
      return undefined;
    }
    return step.value.map((line) => this.#line(line));
  }

  #line(line: AgentLine): AgentFrame {
    const { item, value } = lineFrame(line);
    const { kind } = item.frame;
    if (kind !== "malformed" && kind !== "stream_event") {
      this.#protocol(item, value);
    } else if (
      value?.type === "control_request" && typeof value.request_id === "string"
    ) this.#answers?.refuse(value.request_id, item.raw);
    return item;
  }

  #protocol({ frame, raw }: AgentFrame, value: JsonObject | undefined): void {
    this.#state.apply(frame);
    if (!this.#state.working) this.#idle?.();
    if (frame.kind === "system" && frame.session_id !== undefined) {
      this.#sessionId = frame.session_id;
    }
    if (frame.kind === "other" && frame.request_id !== undefined) {
      if (frame.type_name === "control_response") {
        this.#control.settle(frame.request_id, value);
      }
      if (frame.type_name === "control_cancel_request") {
        this.#asks.delete(frame.request_id);
      }
      return;
    }
    if (frame.kind !== "control_request") return;
    if (frame.request_id === "") {
      this.#start?.log?.(
        `Cannot answer a control request of type "${frame.subtype}": it has no request_id`,
      );
      return;
    }
    if (frame.subtype === "can_use_tool") {
      this.#asks.set(frame.request_id, inputText(raw));
    } else this.#answers?.answer(frame);
  }

  #running(): AgentChild {
    if (this.#child === undefined) {
      throw new Deno.errors.BrokenPipe(
        "Cannot write to the agent: it is not started",
      );
    }
    return this.#child;
  }
}

/**
 * A driver for an argv that the caller brings, as `worker --stream … -- ARGV` takes it: without a gate, and with turns
 * that have the bytes of the stream worker of `fno_agents`.
 *
 * @param argv The program and its arguments.
 * @returns The driver.
 */
export function argvDriver(argv: readonly string[]): StreamJsonDriver {
  return new StreamJsonDriver({
    name: "argv",
    argv: () => argv,
    gate: false,
    callersSession: true,
  });
}
