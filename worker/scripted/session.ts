/**
 * One session of the scripted agent: lines from stdin in, turns played in
 * order, an end on stdin EOF.
 *
 * @module
 */
import { LineSplitter } from "@bulkhead/sandbox";
import type { AgentArguments } from "./argv.ts";
import { ControlChannel } from "./channel.ts";
import { answerControl } from "./control.ts";
import { Frames, type Totals } from "./frames.ts";
import { emitInit, finishTurn } from "./finish.ts";
import { McpServers } from "./mcp.ts";
import { complain, FrameOutput, isJson, type Json } from "./output.ts";
import type { Rules } from "./permissions.ts";
import { playSteps } from "./play.ts";
import type { AgentScript, ScriptStep } from "./script.ts";
import {
  type BackgroundTask,
  type HookGroup,
  type QueuedTurn,
  type Stage,
  Turn,
} from "./stage.ts";
import type { SessionRecord } from "./memory.ts";

/** How long background tasks may go on after the end of input. */
const TASK_GRACE_MS = 5_000;
/** How long a turn that was stopped may take to end. */
const STOP_MS = 2_000;
/** Ids of user lines that are remembered, so that a second one is not run. */
const MAX_UUIDS = 4_096;

/** What a session starts from. */
export interface SessionOptions {
  args: AgentArguments;
  script: AgentScript;
  cwd: string;
  rules: Rules;
  record: SessionRecord;
  mcpConfigs: Json[];
  stateEvents: boolean;
  save(record: SessionRecord): Promise<void>;
}

/** The session and its queue. */
export class Session implements Stage {
  readonly args: AgentArguments;
  readonly script: AgentScript;
  readonly cwd: string;
  readonly transcriptPath: string;
  readonly output = new FrameOutput();
  readonly frames: Frames;
  readonly channel: ControlChannel;
  readonly rules: Rules;
  readonly mcp = new McpServers();
  readonly totals: Totals;
  readonly tasks = new Map<string, BackgroundTask>();
  readonly ended: Promise<void>;
  mode: string;
  hooks: HookGroup[] = [];
  openAsks = 0;
  toolOpen = false;
  /** Servers that the host answers over the pipes. */
  sdkServers: string[] = [];
  /** How often `initialize` came. */
  initialized = 0;
  /** The turn being played. */
  turn: Turn | undefined;
  readonly #options: SessionOptions;
  readonly #queue: QueuedTurn[] = [];
  readonly #setEnded: () => void;
  #wake: (() => void) | undefined;
  #eof = false;
  #mcpReady: Promise<void> | undefined;
  #failed = false;
  #playing: Promise<void> | undefined;

  /** @param options Arguments, script and what is remembered. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.args = options.args;
    this.script = options.script;
    this.cwd = options.cwd;
    this.rules = options.rules;
    this.mode = options.args.permissionMode;
    const { record } = options;
    this.transcriptPath = `${options.args.sessions}/${record.sessionId}.jsonl`;
    this.totals = { messages: 0, costUsd: 0, apiMs: 0 };
    this.frames = new Frames(this.output, {
      sessionId: record.sessionId,
      partials: options.args.partials,
      stateEvents: options.stateEvents,
      tokens: options.script.tokens ?? { input: 10, output: 5 },
    });
    this.channel = new ControlChannel(this.output, options.args.replay);
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#setEnded = ended.resolve;
  }

  /** Plays until stdin ends. @returns the exit code. */
  async run(): Promise<number> {
    const input = this.#readInput();
    for (;;) {
      const next = this.#queue.shift();
      if (next !== undefined) await this.#play(next);
      else if (this.#eof) break;
      else await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
    await input;
    await this.#endTasks();
    await this.mcp.close();
    await this.output.drained();
    return this.#failed ? 1 : 0;
  }

  /** Adds a turn to the queue. */
  enqueue(turn: QueuedTurn): void {
    this.#queue.push(turn);
    this.#wake?.();
  }

  /** Takes the turns that merge into the running one. */
  takeMerged(): QueuedTurn[] {
    const merged = this.#queue.filter((turn) => turn.merges);
    for (const turn of merged) this.#queue.splice(this.#queue.indexOf(turn), 1);
    return merged;
  }

  /** Starts the MCP servers once. */
  connectMcp(): Promise<void> {
    return this.#mcpReady ??= this.mcp.connect(
      this.#options.mcpConfigs,
      (server, message) => this.#sendToHost(server, message),
      this.sdkServers,
    );
  }

  /** Ends on a signal: commands first, nothing more is written. */
  async terminate(code: number): Promise<never> {
    this.output.stop();
    this.turn?.abort.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => timer = setTimeout(resolve, STOP_MS));
    await Promise.race([this.#playing, late]);
    clearTimeout(timer);
    return await this.exit(code);
  }

  /** Ends the process at once. */
  async exit(code: number): Promise<never> {
    this.output.stop();
    this.turn?.abort.abort();
    for (const task of this.tasks.values()) task.abort.abort();
    await Promise.all([
      this.mcp.close(),
      ...[...this.tasks.values()].map((task) => task.done),
    ]);
    Deno.exit(code);
  }

  /** Writes to stderr. */
  complain(text: string): Promise<void> {
    return complain(text);
  }

  async #play(queued: QueuedTurn): Promise<void> {
    const turn = new Turn(queued.user?.text ?? "");
    this.turn = turn;
    const { user } = queued;
    if (user && this.args.replay) {
      turn.owedReplay = () =>
        this.frames.replay(user.message, user.uuid, false);
    }
    const { record } = this.#options;
    const steps = queued.steps ?? this.#stepsFor(turn.prompt);
    if (user) record.uuids.push(user.uuid);
    if (record.uuids.length > MAX_UUIDS) record.uuids.shift();
    await this.#options.save(record);
    await this.connectMcp();
    this.frames.state("running");
    queued.before?.();
    emitInit(this);
    this.#playing = playSteps(this, turn, steps);
    await this.#playing;
    this.#failed = finishTurn(this, turn, queued.origin);
    this.turn = undefined;
    if (this.#queue.length === 0) this.frames.state("idle");
    await this.output.relax();
  }

  /** The first turn that matches, then the next without a match, then the rest of the script. */
  #stepsFor(prompt: string): readonly ScriptStep[] {
    const { record } = this.#options;
    const found = this.script.turns.findIndex((turn, i) =>
      turn.match === undefined
        ? !record.played.includes(i)
        : !record.played.includes(i) && prompt.includes(turn.match)
    );
    const turn = this.script.turns[found];
    if (turn === undefined) {
      return this.script.otherwise ?? [{ say: "You said: ${prompt}" }];
    }
    record.played.push(found);
    return turn.steps;
  }

  async #sendToHost(server: string, message: Json): Promise<Json | undefined> {
    const reply = await this.channel.ask({
      subtype: "mcp_message",
      server_name: server,
      message,
    });
    if (reply.kind !== "success") {
      throw new Error(`MCP server "${server}" is not available`);
    }
    const answer = reply.response.mcp_response;
    return isJson(answer) ? answer : undefined;
  }

  async #readInput(): Promise<void> {
    const splitter = new LineSplitter();
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(64 * 1024);
    for (;;) {
      const size = await Deno.stdin.read(buffer).catch(() => null);
      const lines = size === null
        ? splitter.end()
        : splitter.push(buffer.slice(0, size));
      for (const line of lines) {
        await this.#takeLine(decoder.decode(line.bytes));
      }
      if (size === null) break;
    }
    if (this.script.ignoreEof) {
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
    this.#eof = true;
    this.channel.close();
    this.#setEnded();
    this.#wake?.();
  }

  async #takeLine(text: string): Promise<void> {
    if (text === "") return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      await complain(
        `Error parsing streaming input line: ${text.slice(0, 200)}: ${error}\n`,
      );
      await this.exit(1);
    }
    if (!isJson(value)) return;
    if (value.type === "control_response") return this.channel.settle(value);
    if (value.type === "control_request") {
      return await answerControl(this, value);
    }
    if (value.type === "user") await this.#takeUser(value);
  }

  async #takeUser(line: Json): Promise<void> {
    const message = isJson(line.message) ? line.message : undefined;
    if (message?.role !== "user") {
      await complain(
        `Error: Expected message role 'user', got '${message?.role}'\n`,
      );
      await this.exit(1);
    }
    const known = typeof line.uuid === "string";
    const uuid = known ? String(line.uuid) : crypto.randomUUID();
    const waiting = this.#queue.some((turn) => turn.user?.uuid === uuid);
    if (known && (waiting || this.#options.record.uuids.includes(uuid))) {
      if (this.args.replay) this.frames.replay(message, uuid, true);
      return;
    }
    this.enqueue({
      user: { message, uuid, text: promptText(message?.content) },
      merges: this.toolOpen,
    });
  }

  /** Background tasks get a short grace after stdin has ended; turns they start are played. */
  async #endTasks(): Promise<void> {
    if (this.tasks.size === 0) return;
    const all = () =>
      Promise.all([...this.tasks.values()].map((task) => task.done));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) =>
      timer = setTimeout(resolve, TASK_GRACE_MS)
    );
    await Promise.race([all(), late]);
    clearTimeout(timer);
    for (const task of this.tasks.values()) task.abort.abort();
    await all();
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      await this.#play(next);
    }
  }
}

function promptText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => isJson(block) ? String(block.text ?? "") : "")
    .join("");
}
