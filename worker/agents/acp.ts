/**
 * Any agent that speaks the Agent Client Protocol, behind the driver interface.
 *
 * The protocol has no gate: which calls are asked about is the agent's choice. So the agent runs confined by the
 * operating system, which lets it write only into the workspace and into its own state, and is refused where that
 * cannot be had.
 *
 * @module
 */

import { probeIsolation, reasonOf } from "@bulkhead/sandbox";
import { AgentChild, agentEnvironment } from "../agent_child.ts";
import { type Frame, isJsonObject, type JsonObject } from "../frame.ts";
import { readFile, writeFile } from "./acp_files.ts";
import { AcpFrames } from "./acp_frames.ts";
import { askMode, canLoad, openSession } from "./acp_start.ts";
import { confinement, findAcpProgram } from "./acp_program.ts";
import { within } from "./_within.ts";
import { NEVER, NOTHING_TO_SAVE, notRunning, startError } from "./_basics.ts";
import { Hosting, openBridge } from "./_hosting.ts";
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
} from "./driver.ts";
import { JsonRpc, RPC_ERRORS, type RpcId } from "./json_rpc.ts";
import { toolEntry } from "./relays.ts";

export type * from "./driver.ts";
export type * from "../frame.ts";

/** Options of {@linkcode acpDriver}. */
export interface AcpOptions {
  /** The program and its arguments, for example `["opencode", "acp"]`. */
  readonly command: readonly string[];
  /** Variables on top of the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Directories besides the workspace that the agent may write to: its own state.
   *
   * @default what is known of the program: those of OpenCode, of Claude Code, of Codex
   */
  readonly state?: readonly string[];
  /** Paths besides its home and its program that it must be able to read. */
  readonly read?: readonly string[];
  /**
   * How long the agent may take until it has a session.
   *
   * @default {60000}
   */
  readonly readyMs?: number;
}

interface Running {
  readonly child: AgentChild;
  readonly rpc: JsonRpc;
  readonly bridge: Bridge;
  readonly desk: AskDesk;
}

interface OpenAsk {
  readonly id: RpcId;
  readonly options: readonly JsonObject[];
}

class AcpDriver implements AgentDriver {
  readonly name: string;
  readonly replays = true;
  readonly stampsTurns = true;
  readonly tellsState = true;
  readonly ended: Promise<AgentEnd>;
  readonly #options: AcpOptions;
  readonly #host = new Hosting();
  readonly #frames = new AcpFrames();
  readonly #asks = new Map<string, OpenAsk>();
  #running: Running | undefined;
  #prompts: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(options: AcpOptions) {
    this.#options = options;
    this.name = `acp:${options.command[0] ?? ""}`;
    this.ended = this.#host.ended;
  }

  async start(start: AgentStart): Promise<AgentStarted> {
    this.#host.begin(start);
    const { bridge, desk } = await openBridge(start, {
      show: (frame) => this.#show(frame),
    });
    let child: AgentChild | undefined;
    try {
      child = await this.#launch(start, bridge);
      const rpc = new JsonRpc(child, { jsonrpc: "2.0" });
      const running: Running = { child, rpc, bridge, desk };
      this.#running = running;
      this.#host.host(child, this.#read(running), () => bridge.close());
      const limit = this.#options.readyMs ?? 60_000;
      const late = `it had no session within ${limit} ms`;
      return await within(this.#open(running, start), limit, late);
    } catch (error) {
      const end = await child?.close(NOTHING_TO_SAVE) ?? NEVER;
      if (child === undefined) {
        await bridge.close();
        this.#host.failed(end);
      } else await this.ended;
      throw startError(this.name, error, end);
    }
  }

  send(turn: AgentTurn): Promise<number> {
    const running = this.#running;
    if (running === undefined || !this.#host.alive) {
      return Promise.reject(notRunning());
    }
    const images = (turn.images ?? []).map((image) => ({
      type: "image",
      mimeType: image.mediaType,
      data: image.data,
    }));
    const prompt = [...images, { type: "text", text: turn.text }];
    // The protocol knows one prompt at a time.
    this.#prompts = this.#prompts.then(() =>
      this.#prompt(running, prompt, turn)
    );
    return Promise.resolve(
      new TextEncoder().encode(JSON.stringify(prompt)).length,
    );
  }

  interrupt(): Promise<void> {
    const running = this.#running;
    if (running === undefined || !this.#busy) return Promise.resolve();
    // What is open has to be answered as cancelled, says the protocol.
    for (const [askId, ask] of this.#asks) {
      running.rpc.respond(ask.id, { outcome: { outcome: "cancelled" } });
      this.#withdraw(askId);
    }
    running.rpc.notify("session/cancel", { sessionId: this.#frames.session });
    return Promise.resolve();
  }

  answer(askId: string, answer: AskAnswer): void {
    const running = this.#running;
    if (running === undefined || running.desk.answer(askId, answer)) return;
    const ask = this.#asks.get(askId);
    if (ask === undefined) return;
    this.#asks.delete(askId);
    const wanted = answer.decision === "allow" ? "allow_once" : "reject_once";
    const option = ask.options.find((option) => option.kind === wanted) ??
      ask.options.find((option) =>
        String(option.kind).startsWith(wanted.slice(0, 5))
      );
    running.rpc.respond(ask.id, {
      outcome: option === undefined
        ? { outcome: "cancelled" }
        : { outcome: "selected", optionId: option.optionId },
    });
    if (answer.interrupt === true) this.interrupt();
  }

  frames(): AsyncGenerator<readonly AgentFrame[], void, undefined> {
    return this.#host.queue.batches();
  }

  status(): AgentStatus {
    return this.#host.status;
  }

  close(options: { eofMs?: number; termMs?: number } = {}): Promise<AgentEnd> {
    return this.#host.close(options, async () => {
      if (!this.#busy) return;
      const { rest } = this.#host;
      await this.interrupt();
      await rest;
    });
  }

  async #launch(start: AgentStart, bridge: Bridge): Promise<AgentChild> {
    const probe = await probeIsolation();
    if (probe.backend === "none") {
      throw new Error(
        `the protocol has no gate and nothing here can confine it (${probe.detail}), run: ${
          probe.fix ?? "bulkhead doctor"
        }`,
      );
    }
    const relay = toolEntry(bridge.path);
    const env = agentEnvironment({
      ...relay.env,
      ...this.#options.env,
      ...start.env,
    });
    const [command = "", ...args] = this.#options.command;
    const program = await findAcpProgram(command, env.PATH ?? "");
    if (program === undefined) {
      throw new Error(
        `the program "${command}" is not on the PATH: install it, or give its path`,
      );
    }
    const policy = await confinement({
      program,
      env,
      workspace: start.cwd,
      state: this.#options.state,
      read: [
        ...this.#options.read ?? [],
        ...start.tools === undefined ? [] : relay.readable,
      ],
      socketDir: bridge.dir,
    });
    return await AgentChild.start([program, ...args], {
      cwd: start.cwd,
      env,
      isolation: { policy, level: "required" },
    });
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
    const hello = await rpc.request("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "bulkhead", title: "Bulkhead", version: "1" },
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: false,
      },
    }, 0);
    const relay = toolEntry(bridge.path);
    const [command, ...args] = relay.argv;
    const mcpServers = start.tools === undefined ? [] : [{
      name: "bulkhead",
      command,
      args,
      env: Object.entries(relay.env).map(([name, value]) => ({ name, value })),
    }];
    const opened = await openSession(rpc, start, hello, {
      mcpServers,
      // Its first updates come before the answer.
      named: (session) => this.#frames.session = session,
    });
    await askMode(rpc, opened, this.#frames.session);
    const info = isJsonObject(hello.agentInfo) ? hello.agentInfo : {};
    this.#host.queue.push({
      kind: "system",
      subtype: "init",
      cwd: start.cwd,
      version: `${info.name ?? this.name} ${info.version ?? ""}`.trim(),
      ["session_id"]: this.#frames.session,
    }, JSON.stringify(hello));
    this.#show(this.#frames.rests());
    return {
      sessionId: this.#frames.session,
      resumable: canLoad(hello),
      gate: {
        kind: "none",
        verified: false,
        detail:
          `asks only, no gate: ${running.child.confinedBy} lets it write into the workspace and its own state only`,
      },
    };
  }

  async #prompt(
    running: Running,
    prompt: readonly JsonObject[],
    turn: AgentTurn,
  ): Promise<void> {
    this.#busy = true;
    for (const frame of this.#frames.begun(turn.text, turn.uuid)) {
      this.#show(frame);
    }
    let frames: Frame[];
    let answer: JsonObject = {};
    try {
      answer = await running.rpc.request("session/prompt", {
        sessionId: this.#frames.session,
        prompt,
      }, 0);
      frames = this.#frames.ended(
        typeof answer.stopReason === "string" ? answer.stopReason : "",
        answer,
      );
    } catch (error) {
      frames = this.#frames.ended("error", {}, reasonOf(error));
    }
    this.#busy = false;
    for (const askId of [...this.#asks.keys()]) this.#withdraw(askId);
    for (const frame of frames) {
      this.#host.queue.push(frame, JSON.stringify(answer));
    }
    this.#host.rested();
  }

  #notice(method: string, params: JsonObject, raw: string): void {
    if (method !== "session/update") {
      this.#host.queue.push({ kind: "other", ["type_name"]: method }, raw);
      return;
    }
    const update = isJsonObject(params.update) ? params.update : {};
    for (const frame of this.#frames.update(update)) {
      this.#host.queue.push(frame, raw);
    }
  }

  #request(
    running: Running,
    id: RpcId,
    method: string,
    params: JsonObject,
    raw: string,
  ): void {
    switch (method) {
      case "session/request_permission": {
        const askId = `acp-${id}`;
        const options = Array.isArray(params.options)
          ? params.options.filter(isJsonObject)
          : [];
        this.#asks.set(askId, { id, options });
        this.#host.queue.push(this.#frames.ask(askId, params), raw);
        return;
      }
      case "fs/read_text_file":
        this.#serve(running, id, () => readFile(params));
        return;
      case "fs/write_text_file":
        this.#serve(
          running,
          id,
          () => writeFile(running.desk, params, this.#host.cwd),
        );
        return;
      default:
        running.rpc.refuse(
          id,
          RPC_ERRORS.methodNotFound,
          `"${method}" is not answered here`,
        );
    }
  }

  #serve(running: Running, id: RpcId, work: () => Promise<JsonObject>): void {
    work().then((result) => running.rpc.respond(id, result)).catch((error) =>
      running.rpc.refuse(id, RPC_ERRORS.internal, reasonOf(error))
    ).catch((error) => this.#host.log(`Cannot answer the agent: ${error}`));
  }

  #withdraw(askId: string): void {
    if (!this.#asks.delete(askId)) return;
    this.#host.withdraw(askId, this.#frames.session);
  }

  #show(frame: Frame): void {
    this.#host.show(frame, this.#frames.session);
  }
}

/**
 * A driver for one process that speaks the Agent Client Protocol.
 *
 * @param options The program.
 * @returns The driver; `start` it once.
 */
export function acpDriver(options: AcpOptions): AgentDriver {
  return new AcpDriver(options);
}
