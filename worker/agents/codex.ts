/**
 * Codex behind the driver interface, hosted on its app-server.
 *
 * @module
 */

import { AgentChild, agentEnvironment } from "../agent_child.ts";
import { isJsonObject, type JsonObject } from "../frame.ts";
import { findCodex } from "./codex_program.ts";
import { within } from "./_within.ts";
import { NEVER, NOTHING_TO_SAVE, notRunning, startError } from "./_basics.ts";
import { Hosting, openBridge } from "./_hosting.ts";
import type { AskDesk } from "./ask_desk.ts";
import type { Bridge } from "./bridge.ts";
import { greetCodex, openThread } from "./codex_start.ts";
import { CodexFrames } from "./codex_frames.ts";
import { askAnswer, turnParams, withHome } from "./codex_words.ts";
import type {
  AgentDriver,
  AgentEnd,
  AgentFrame,
  AgentStart,
  AgentStarted,
  AgentStatus,
  AgentTurn,
  AskAnswer,
} from "./driver.ts";
import { JsonRpc, RPC_ERRORS, RpcError, type RpcId } from "./json_rpc.ts";
import type { ProgramOptions } from "./program_options.ts";
import { watchLeftovers } from "./leftovers.ts";
import { hookEntry } from "./relays.ts";

export type * from "./driver.ts";
export type * from "./program_options.ts";
export type * from "../frame.ts";

/** Options of {@linkcode codexDriver}. */
export interface CodexOptions extends ProgramOptions {
  /**
   * When Codex asks by itself: `on-request` for what its sandbox does not allow, `untrusted` for everything.
   *
   * @default {"on-request"}
   */
  readonly approvals?: "on-request" | "untrusted";
  /**
   * How long Codex may take until its gate is confirmed.
   *
   * @default {30000}
   */
  readonly readyMs?: number;
}

/** Directories that Codex makes for its sandbox and leaves behind when it is ended in a command. */
const LEFTOVERS = [".git", ".agents", ".aws", ".codex"];

/** How long Codex may take to answer an interrupt. */
const INTERRUPT_MS = 10_000;

/** Everything that exists once Codex runs. */
interface Running {
  readonly rpc: JsonRpc;
  readonly bridge: Bridge;
  readonly desk: AskDesk;
  threadId: string;
}

/** Drives one Codex app-server. */
class CodexDriver implements AgentDriver {
  /** The agent's name. */
  readonly name = "codex";
  /** Turns come back before their result. */
  readonly replays = true;
  /** Every turn gets an id of ours. */
  readonly stampsTurns = true;
  /** Codex tells its state. */
  readonly tellsState = true;
  /** Resolves when the process has ended and what it left is removed. */
  readonly ended: Promise<AgentEnd>;
  readonly #options: CodexOptions;
  readonly #host = new Hosting();
  readonly #frames = new CodexFrames();
  readonly #asks = new Map<string, { id: RpcId; method: string }>();
  #running: Running | undefined;
  #sending: Promise<unknown> = Promise.resolve();

  /**
   * Makes a driver for one process.
   *
   * @param options The program and its rules.
   */
  constructor(options: CodexOptions = {}) {
    this.#options = options;
    this.ended = this.#host.ended;
  }

  /**
   * Starts Codex and a thread in it, and proves that our hook will run.
   *
   * @param start What to start.
   * @returns The thread and the gate.
   * @throws {AgentStartError} When Codex does not come up or does not trust the hook.
   */
  async start(start: AgentStart): Promise<AgentStarted> {
    this.#host.begin(start);
    const entry = hookEntry("/");
    const env = agentEnvironment({
      ...entry.env,
      ...this.#options.env,
      ...start.env,
    });
    const command = this.#options.command ??
      [await this.#program(env.PATH ?? "")];
    const clean = await watchLeftovers(start.cwd, LEFTOVERS);
    const child = await AgentChild.start([...command, "app-server"], {
      cwd: start.cwd,
      env,
    });
    let bridge: Bridge | undefined;
    try {
      const opened = await openBridge(start, {
        show: (frame) => this.#host.show(frame, this.#frames.root),
        call: (payload) => this.#host.callOf(payload),
      });
      const { desk } = opened;
      bridge = opened.bridge;
      const rpc = new JsonRpc(child);
      const running: Running = { rpc, bridge, desk, threadId: "" };
      this.#running = running;
      this.#host.host(child, this.#read(running), async () => {
        await running.bridge.close();
        await clean();
      });
      const limit = this.#options.readyMs ?? 30_000;
      const late = `it was not ready within ${limit} ms`;
      return await within(this.#open(running, start), limit, late);
    } catch (error) {
      const end = await child.close(NOTHING_TO_SAVE);
      await bridge?.close();
      await clean();
      this.#host.failed(end);
      throw startError(this.name, withHome(error, end, env), end);
    }
  }

  /**
   * Sends one turn: a new one, or more for the one that runs.
   *
   * @param turn The turn.
   * @returns How many bytes were sent.
   */
  send(turn: AgentTurn): Promise<number> {
    const sent = this.#sending.then(() => this.#send(turn));
    this.#sending = sent.catch(() => {});
    return sent;
  }

  /** Stops the running turn. */
  async interrupt(): Promise<void> {
    const { turn } = this.#frames;
    const running = this.#running;
    if (turn === undefined || running === undefined) return;
    const { rpc, threadId } = running;
    await rpc.request(
      "turn/interrupt",
      { threadId, turnId: turn },
      INTERRUPT_MS,
    );
  }

  /**
   * Answers an open ask; an unknown one is ignored.
   *
   * @param askId The ask.
   * @param answer The answer.
   */
  answer(askId: string, answer: AskAnswer): void {
    const running = this.#running;
    if (running === undefined || running.desk.answer(askId, answer)) return;
    const ask = this.#asks.get(askId);
    if (ask === undefined) return;
    this.#asks.delete(askId);
    running.rpc.respond(ask.id, askAnswer(ask.method, answer));
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
   * Ends Codex: a running turn is interrupted first, so that it can clean up after its command.
   *
   * @param options How long to wait after closing stdin and after TERM.
   * @returns How it ended.
   */
  close(options: { eofMs?: number; termMs?: number } = {}): Promise<AgentEnd> {
    return this.#host.close(options, async () => {
      if (this.#frames.turn === undefined) return;
      const { rest } = this.#host;
      this.interrupt().catch(() => {});
      await rest;
    });
  }

  async #program(path: string): Promise<string> {
    const found = await findCodex("codex", path);
    if (found !== undefined) return found;
    this.#host.failed(NEVER);
    throw startError(
      this.name,
      'the program "codex" is not on the PATH, install it with "npm install -g @openai/codex"',
      NEVER,
    );
  }

  #read(running: Running): Promise<void> {
    return running.rpc.read({
      request: (id, method, params, raw) =>
        this.#request(running, id, method, params, raw),
      notice: (method, params, raw) => this.#notice(method, params, raw),
      malformed: (line, size) =>
        this.#host.queue.push({ kind: "malformed", size, head: line }, line),
    });
  }

  async #open(running: Running, start: AgentStart): Promise<AgentStarted> {
    const { rpc, bridge } = running;
    const version = await greetCodex(rpc);
    const opened = await openThread(rpc, start, {
      socket: bridge.path,
      approvals: this.#options.approvals ?? "on-request",
      marker: this.#options.marker,
      // Its first notices come before its hook is proven.
      named: (threadId) => running.threadId = this.#frames.root = threadId,
    });
    this.#greet(opened, start, version);
    const detail = `Codex ${version} lists the PreToolUse hook as trusted`;
    return {
      sessionId: running.threadId,
      gate: { kind: "hook", verified: true, detail },
    };
  }

  #greet(opened: JsonObject, start: AgentStart, version: string): void {
    this.#host.queue.push({
      kind: "system",
      subtype: "init",
      cwd: start.cwd,
      version,
      ...(typeof opened.model === "string" ? { model: opened.model } : {}),
      ...(typeof opened.approvalPolicy === "string"
        ? { permission_mode: opened.approvalPolicy }
        : {}),
      ...(this.#frames.root === undefined
        ? {}
        : { session_id: this.#frames.root }),
    }, JSON.stringify(opened));
  }

  async #send(turn: AgentTurn): Promise<number> {
    const running = this.#running;
    if (running === undefined || !this.#host.alive) throw notRunning();
    const { rpc, threadId } = running;
    const params = turnParams(threadId, turn);
    const written = new TextEncoder().encode(JSON.stringify(params)).length;
    const active = this.#frames.turn;
    if (active !== undefined) {
      try {
        await rpc.request(
          "turn/steer",
          { ...params, expectedTurnId: active },
          0,
        );
        return written;
      } catch (error) {
        // It ended a moment ago: then this is a turn of its own.
        if (!(error instanceof RpcError)) throw error;
      }
    }
    const answer = await rpc.request("turn/start", params, 0);
    const begun = isJsonObject(answer.turn) ? answer.turn.id : undefined;
    if (
      typeof begun === "string" && this.#frames.turn === undefined &&
      this.#finished !== begun
    ) {
      this.#frames.turn = begun;
    }
    return written;
  }

  #finished: string | undefined;

  #notice(method: string, params: JsonObject, raw: string): void {
    const before = this.#frames.turn;
    for (const frame of this.#frames.notice(method, params)) {
      this.#host.queue.push(frame, raw);
    }
    if (before !== undefined && this.#frames.turn === undefined) {
      this.#finished = before;
      this.#host.calls.clear();
      this.#asks.clear();
      this.#host.rested();
    }
    if (method === "serverRequest/resolved") this.#withdraw(params.requestId);
  }

  #request(
    running: Running,
    id: RpcId,
    method: string,
    params: JsonObject,
    raw: string,
  ): void {
    const itemId = typeof params.itemId === "string" ? params.itemId : "";
    const askId = `codex-${id}`;
    const frame = this.#frames.ask(
      askId,
      method,
      params,
      this.#host.calls.get(itemId),
    );
    if (frame === undefined) {
      if (method === "mcpServer/elicitation/request") {
        running.rpc.respond(id, { action: "decline", content: {} });
      } else {running.rpc.refuse(
          id,
          RPC_ERRORS.methodNotFound,
          `"${method}" is not answered here`,
        );}
      return;
    }
    this.#asks.set(askId, { id, method });
    const given = running.desk.given(itemId);
    if (given === undefined) this.#host.queue.push(frame, raw);
    else this.answer(askId, given);
  }

  /** Codex no longer waits for an answer that we have not given. */
  #withdraw(requestId: unknown): void {
    const askId = `codex-${requestId}`;
    if (!this.#asks.delete(askId)) return;
    this.#host.withdraw(askId, this.#frames.root);
  }
}

/**
 * A driver for one Codex process.
 *
 * @param options The program and its rules.
 * @returns The driver; `start` it once.
 */
export function codexDriver(options: CodexOptions = {}): AgentDriver {
  return new CodexDriver(options);
}
