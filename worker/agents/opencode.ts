/**
 * OpenCode behind the driver interface, hosted on its server.
 *
 * @module
 */

import { AgentChild, type AgentLine } from "../agent_child.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { NEVER, NOTHING_TO_SAVE, notRunning, startError } from "./_basics.ts";
import { Hosting, openBridge, SETTLE_MS } from "./_hosting.ts";
import type { AskDesk } from "./ask_desk.ts";
import type { Bridge } from "./bridge.ts";
import type {
  AgentDriver,
  AgentEnd,
  AgentFrame,
  AgentStart,
  AgentStarted,
  AgentStatus,
  AgentTurn,
  AskAnswer,
  ToolCall,
} from "./driver.ts";
import { OpenCodeApi } from "./opencode_api.ts";
import { keepConfig } from "./opencode_config.ts";
import { OpenCodeFrames } from "./opencode_frames.ts";
import {
  openCodeEnvironment,
  sessionOf,
  versionOf,
  whereItListens,
} from "./opencode_start.ts";
import { findOpenCode } from "./opencode_program.ts";
import { askReply, promptBody } from "./opencode_words.ts";
import type { ProgramOptions } from "./program_options.ts";
import { atMost, within } from "./_within.ts";
import type { AgentStartError } from "./start_error.ts";

export type * from "./driver.ts";
export type * from "./program_options.ts";
export type * from "../frame.ts";

/** Options of {@linkcode openCodeDriver}. */
export interface OpenCodeOptions extends ProgramOptions {
  /**
   * How long OpenCode may take until it listens.
   *
   * @default {60000}
   */
  readonly readyMs?: number;
  /**
   * How long it may take to make a session: at its first start it fetches packages.
   *
   * @default {120000}
   */
  readonly sessionMs?: number;
}

/** How long the plugin may take to call home. */
const HELLO_MS = 30_000;
const NO_HELLO =
  "its plugin did not call home, so no turn is started: is OPENCODE_PURE set?";
/** How long after a broken request the end of its server may show. */
const GOING_MS = 1000;
const ENDED = "it ended before it was ready";

/** Everything that exists once OpenCode runs. */
interface Running {
  readonly child: AgentChild;
  readonly bridge: Bridge;
  readonly desk: AskDesk;
  readonly lines: AsyncGenerator<readonly AgentLine[], void, undefined>;
  api?: OpenCodeApi;
}

/** Drives one OpenCode server. */
class OpenCodeDriver implements AgentDriver {
  /** The agent's name. */
  readonly name = "opencode";
  /** Turns come back before their result. */
  readonly replays = true;
  /** Every turn gets an id of ours. */
  readonly stampsTurns = true;
  /** OpenCode tells its state. */
  readonly tellsState = true;
  /** Resolves when the process has ended and what it left is removed. */
  readonly ended: Promise<AgentEnd>;
  readonly #options: OpenCodeOptions;
  readonly #host = new Hosting();
  readonly #frames = new OpenCodeFrames();
  readonly #asks = new Map<string, string>();
  #running: Running | undefined;

  /**
   * Makes a driver for one process.
   *
   * @param options The program and its rules.
   */
  constructor(options: OpenCodeOptions = {}) {
    this.#options = options;
    this.ended = this.#host.ended;
  }

  /**
   * Starts OpenCode and a session in it, and waits until our plugin has called home.
   *
   * @param start What to start.
   * @returns The session and the gate.
   * @throws {AgentStartError} When OpenCode does not come up or does not load the plugin.
   */
  async start(start: AgentStart): Promise<AgentStarted> {
    this.#host.begin(start);
    const password = crypto.randomUUID();
    const path =
      { ...Deno.env.toObject(), ...this.#options.env, ...start.env }.PATH ?? "";
    const command = this.#options.command ?? [await this.#program(path)];
    const { bridge, desk } = await openBridge(start, {
      show: (frame) => this.#host.show(frame, this.#frames.root),
      call: (payload) => this.#callOf(payload),
    });
    let child: AgentChild;
    let restore = (): Promise<void> => Promise.resolve();
    try {
      const env = await openCodeEnvironment({
        bridge,
        password,
        marker: this.#options.marker,
        tools: start.tools !== undefined,
        env: { ...this.#options.env, ...start.env },
      });
      restore = await keepConfig(env);
      child = await AgentChild.start([
        ...command,
        "serve",
        "--hostname",
        "127.0.0.1",
        "--port",
        "0",
      ], {
        cwd: start.cwd,
        env,
      });
    } catch (error) {
      await bridge.close();
      throw this.#failed(error, NEVER);
    }
    const running: Running = { child, bridge, desk, lines: child.lines() };
    this.#running = running;
    this.#host.host(child, child.ended, async () => {
      running.api?.close();
      await bridge.close();
      await restore();
    });
    try {
      return await this.#open(running, start, password);
    } catch (error) {
      // A request that breaks off says less than that the server is gone, which shows a moment later.
      const broken = error instanceof TypeError ||
        error instanceof DOMException;
      if (broken) await atMost(child.ended, GOING_MS);
      const gone = broken && !child.status.alive;
      const end = await child.close(NOTHING_TO_SAVE);
      await this.ended;
      throw this.#failed(gone ? ENDED : error, end);
    }
  }

  /**
   * Sends one turn; while one runs it becomes part of it.
   *
   * @param turn The turn.
   * @returns How many bytes were sent.
   */
  async send(turn: AgentTurn): Promise<number> {
    const api = this.#running?.api;
    if (api === undefined || !this.#host.alive) throw notRunning();
    const body = promptBody(turn, this.#host.model);
    if (turn.uuid !== undefined) this.#frames.sent(turn.uuid);
    await api.call("POST", `/session/${this.#frames.root}/prompt_async`, body);
    return new TextEncoder().encode(JSON.stringify(body)).length;
  }

  /** Stops the running turn. */
  async interrupt(): Promise<void> {
    const api = this.#running?.api;
    if (api === undefined || !this.#frames.busy) return;
    this.#frames.stopping = true;
    await api.call("POST", `/session/${this.#frames.root}/abort`);
  }

  /**
   * Answers an open ask; an unknown one is ignored.
   *
   * @param askId The ask.
   * @param answer The answer.
   */
  async answer(askId: string, answer: AskAnswer): Promise<void> {
    const running = this.#running;
    if (running === undefined || running.desk.answer(askId, answer)) return;
    const permission = this.#asks.get(askId);
    if (permission === undefined) return;
    this.#asks.delete(askId);
    await running.api?.call(
      "POST",
      `/permission/${permission}/reply`,
      askReply(answer),
    );
    if (answer.interrupt === true) await this.interrupt();
  }

  /**
   * The frames in order.
   *
   * @returns A batch at a time.
   */
  frames(): AsyncGenerator<readonly AgentFrame[], void, undefined> {
    return this.#host.queue.batches();
  }

  /**
   * How the process stands.
   *
   * @returns Its pid, life and exit.
   */
  status(): AgentStatus {
    return this.#host.status;
  }

  /**
   * Ends OpenCode: running turns are stopped first, because it leaves their commands alive.
   *
   * @param options How long to wait after TERM; a closed stdin means nothing to it.
   * @returns How it ended.
   */
  close(options: { eofMs?: number; termMs?: number } = {}): Promise<AgentEnd> {
    return this.#host.close({ ...options, eofMs: 0 }, async () => {
      const api = this.#running?.api;
      if (api !== undefined) await this.#stop(api);
    });
  }

  async #program(path: string): Promise<string> {
    const found = await findOpenCode("opencode", path);
    if (found !== undefined) return found;
    throw this.#failed(
      new Error(
        'the program "opencode" is not on the PATH, install it with "npm install -g opencode-ai"',
      ),
      NEVER,
    );
  }

  #failed(error: unknown, end: AgentEnd): AgentStartError {
    this.#host.failed(end);
    return startError(this.name, error, end);
  }

  async #open(
    running: Running,
    start: AgentStart,
    password: string,
  ): Promise<AgentStarted> {
    const listenMs = this.#options.readyMs ?? 60_000;
    const origin = await whereItListens(running.lines, listenMs);
    const api = running.api = new OpenCodeApi(origin, password);
    // At the same time: each of the two is a round trip to a server that has just woken up.
    const [version, session] = await Promise.all([
      versionOf(api),
      sessionOf(api, start.resume, this.#options.sessionMs ?? 120_000),
    ]);
    this.#frames.root = session;
    const died = running.child.ended.then((): never => {
      throw new Error(ENDED);
    });
    const [events] = await Promise.all([
      api.events(),
      within(
        Promise.race([running.bridge.hello, died]),
        HELLO_MS,
        NO_HELLO,
      ),
    ]);
    this.#read(running, events);
    this.#host.queue.push({
      kind: "system",
      subtype: "init",
      cwd: start.cwd,
      version,
      session_id: session,
      ...(start.model === undefined ? {} : { model: start.model }),
    }, JSON.stringify({ version }));
    return {
      sessionId: session,
      gate: {
        kind: "plugin",
        verified: true,
        detail: `OpenCode ${version} has loaded the plugin and it called home`,
      },
    };
  }

  #read(
    running: Running,
    events: AsyncGenerator<
      { type: string; properties: JsonObject; raw: string }
    >,
  ): void {
    const reading = async (): Promise<void> => {
      for await (const event of events) {
        for (const frame of this.#frames.event(event)) {
          this.#host.queue.push(frame, event.raw);
        }
        if (event.type === "permission.asked") {
          this.#asked(running, event.properties, event.raw);
        }
        if (event.type === "permission.replied") {
          this.#replied(event.properties);
        }
        if (event.type === "question.asked") {
          this.#decline(running, event.properties);
        }
        if (!this.#frames.busy) this.#rest();
      }
    };
    reading().catch((error) => this.#host.log(`Cannot read OpenCode: ${error}`))
      .then(() => {
        // A server that we no longer hear is of no use.
        if (running.child.status.alive) {
          return running.child.close({ eofMs: 0 });
        }
      });
  }

  #asked(running: Running, properties: JsonObject, raw: string): void {
    const id = typeof properties.id === "string" ? properties.id : "";
    const askId = `opencode-${id}`;
    this.#asks.set(askId, id);
    const tool = isJsonObject(properties.tool) ? properties.tool : {};
    const callId = typeof tool.callID === "string" ? tool.callID : "";
    const given = running.desk.given(callId);
    if (given === undefined) {
      this.#host.queue.push(
        this.#frames.ask(askId, properties, this.#host.calls.get(callId)),
        raw,
      );
      return;
    }
    this.answer(askId, given).catch((error) =>
      this.#host.log(`Cannot answer OpenCode: ${error}`)
    );
  }

  /** An ask that was settled without us: another client, or the turn was stopped. */
  #replied(properties: JsonObject): void {
    const askId = `opencode-${
      properties.requestID ?? properties.permissionID ?? properties.id
    }`;
    if (!this.#asks.delete(askId)) return;
    this.#host.withdraw(askId, this.#frames.root);
  }

  #decline(running: Running, properties: JsonObject): void {
    running.api?.call("POST", `/question/${properties.id}/reject`).catch(
      () => {},
    );
  }

  #rest(): void {
    this.#host.calls.clear();
    this.#host.rested();
  }

  #callOf(payload: JsonObject): ToolCall {
    const call = this.#host.callOf(payload);
    const session = payload.session_id;
    const ours = typeof session !== "string" || session === "" ||
      session === this.#frames.root;
    return ours ? call : { ...call, agentId: session };
  }

  async #stop(api: OpenCodeApi): Promise<void> {
    for (const child of this.#frames.busy ? this.#frames.children() : []) {
      await api.call("POST", `/session/${child}/abort`, undefined, SETTLE_MS);
    }
    if (this.#frames.busy) {
      const { rest } = this.#host;
      await this.interrupt();
      await rest;
    }
    await api.call("POST", "/global/dispose", undefined, SETTLE_MS);
  }
}

/**
 * A driver for one OpenCode process.
 *
 * @param options The program and its rules.
 * @returns The driver; `start` it once.
 */
export function openCodeDriver(options: OpenCodeOptions = {}): AgentDriver {
  return new OpenCodeDriver(options);
}
