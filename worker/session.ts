/**
 * One agent session in this process: its frames, its state, its turns and its open questions, whoever watches.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type {
  AgentDriver,
  AgentEnd,
  AgentFrame,
  AgentStart,
  AgentStarted,
  AgentTurn,
  AskAnswer,
  Gate,
  ToolCall,
  Verdict,
} from "./agents/driver.ts";
import type { OpenAsk } from "./asks.ts";
import { FrameLog } from "./frame_log.ts";
import { Judge } from "./gate.ts";
import { Listeners } from "./listeners.ts";
import { OutcomeBook, unknownOutcome } from "./outcome_book.ts";
import { SessionAsks } from "./session_asks.ts";
import type {
  JudgedCall,
  SentTurn,
  SessionChange,
  SessionOptions,
} from "./session_options.ts";
import { StallWatch } from "./stall_watch.ts";
import { type SessionState, TurnState } from "./turn_state.ts";
import { TurnLedger, type TurnOutcome } from "./turns.ts";

export type * from "./session_options.ts";

/** One agent session. */
export class Session {
  /** The kept frames. */
  readonly log: FrameLog;
  /** Resolves when the agent has ended and its last frame is kept. */
  readonly ended: Promise<AgentEnd>;
  readonly #options: SessionOptions;
  readonly #driver: AgentDriver;
  readonly #state = new TurnState();
  readonly #turns: TurnLedger;
  readonly #judge: Judge;
  readonly #asks: SessionAsks;
  readonly #stall: StallWatch;
  readonly #watchers: Listeners<SessionChange>;
  readonly #judged: Listeners<JudgedCall>;
  readonly #outcomes = new OutcomeBook();
  #resolveEnded: (end: AgentEnd) => void = () => {};
  #end: AgentEnd | undefined;
  #pace: (() => Promise<void> | undefined) | undefined;
  #localTurns = 0;
  #lastFrameAt = performance.now();
  #lastActivity = performance.now();
  #shown: SessionState = "idle";
  #started: AgentStarted | undefined;
  #sessionId: string | undefined;
  #model: string | undefined;
  #permissionMode: string | undefined;

  /**
   * Makes a session; nothing is started.
   *
   * @param options The agent and the rules.
   */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#driver = options.driver;
    const log = (line: string) => options.log?.(line);
    this.#watchers = new Listeners(log);
    this.#judged = new Listeners(log);
    this.log = new FrameLog(options.frames);
    this.#turns = new TurnLedger({
      replays: options.driver.replays,
      tellsState: options.driver.tellsState === true,
    });
    this.#judge = new Judge(
      options.deciders,
      (call, verdict) => this.#noteVerdict(call, verdict),
    );
    this.#asks = new SessionAsks({
      options,
      judge: this.#judge,
      state: this.#state,
      turns: this.#turns,
      changed: () => this.#changed("asks"),
      stateChanged: () => this.#stateChanged(),
    });
    this.#stall = new StallWatch(options.stallMs ?? 600_000, {
      silentMs: () => this.silentMs,
      runs: () => this.#state.state === "running",
      stalled: (silent) => {
        options.event?.("agent_stalled", { silent_ms: Math.round(silent) });
        this.#changed("state");
      },
    });
    this.ended = new Promise((resolve) => this.#resolveEnded = resolve);
  }

  /**
   * Starts the agent and reads it to its end.
   *
   * @param start The session to make or to go on with.
   * @returns What the agent says about itself.
   */
  async start(
    start: Pick<AgentStart, "sessionId" | "resume" | "model" | "env"> = {},
  ): Promise<AgentStarted> {
    const started = await this.#driver.start({
      ...start,
      cwd: this.#options.cwd,
      ...(this.#options.tools === undefined
        ? {}
        : { tools: this.#options.tools }),
      judge: (call) => this.#judge.judge(call),
      log: (line) => this.#options.log?.(line),
    });
    this.#started = started;
    this.#sessionId ??= started.sessionId;
    this.#lastActivity = this.#lastFrameAt = performance.now();
    this.#read();
    return started;
  }

  /** Who judges a call, by name, in order. */
  get judgedBy(): readonly string[] {
    return this.#options.deciders.map(({ name }) => name);
  }

  /** What the session does. */
  get state(): SessionState {
    const state = this.#state.state;
    return state !== "dead" && this.#asks.size > 0 ? "requires_action" : state;
  }

  /** True when the session rests and nothing can start by itself. */
  get quiescent(): boolean {
    if (this.#asks.size > 0) return false;
    // Without echoes nobody sees a turn joined to another: that it rests with a result is all there is to go by.
    return this.#driver.replays || !this.#turns.overtaken
      ? this.#state.quiescent
      : this.#state.settled;
  }

  /** The open background tasks and what they are. */
  get tasks(): ReadonlyMap<string, string> {
    return this.#state.tasks;
  }

  /** The open questions, oldest first. */
  get asks(): OpenAsk[] {
    return this.#asks.open;
  }

  /** The gate, once the agent is started. */
  get gate(): Gate | undefined {
    return this.#started?.gate;
  }

  /** The session's id, once it is known. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** The model, once the agent has told it. */
  get model(): string | undefined {
    return this.#model;
  }

  /** The permission mode, once the agent has told it. */
  get permissionMode(): string | undefined {
    return this.#permissionMode;
  }

  /** The agent. */
  get driver(): AgentDriver {
    return this.#driver;
  }

  /** The book of the turns. */
  get turns(): TurnLedger {
    return this.#turns;
  }

  /** True when the agent has shown that it is up: by its gate or by its first frame. */
  get ready(): boolean {
    return this.#end === undefined && this.#started !== undefined &&
      (this.#started.gate.verified || this.log.end > 0);
  }

  /** How long the agent has been silent, in milliseconds. */
  get silentMs(): number {
    return performance.now() - this.#lastFrameAt;
  }

  /** True when a running turn has been silent for too long. */
  get stalled(): boolean {
    return this.#stall.stalled;
  }

  /** How long nothing has happened that would keep the session, in milliseconds. */
  get quietMs(): number {
    return performance.now() - this.#lastActivity;
  }

  /** Somebody uses the session: it is not let go for a while. */
  touch(): void {
    this.#lastActivity = performance.now();
  }

  /**
   * Calls a function after each change.
   *
   * @param watcher The function.
   * @returns A function that ends it.
   */
  watch(watcher: (change: SessionChange) => void): () => void {
    return this.#watchers.add(watcher);
  }

  /**
   * Calls a function after each verdict.
   *
   * @param listener The function.
   * @returns A function that ends it.
   */
  onVerdict(listener: (judged: JudgedCall) => void): () => void {
    return this.#judged.add(listener);
  }

  /**
   * Lets a server slow the reading of the agent a little, so that clients that keep up are not overrun by a flood.
   *
   * @param pace Gives a promise to wait for, or `undefined` to go on at once.
   */
  paceBy(pace: () => Promise<void> | undefined): void {
    this.#pace = pace;
  }

  /**
   * Counts somebody in who answers questions.
   *
   * @returns Counts them out again.
   */
  attachAnswerer(): () => void {
    return this.#asks.attach();
  }

  /**
   * Sends a turn. The same id is not sent twice.
   *
   * @param turn The turn; without an id it gets one.
   * @returns The id and what was written.
   * @throws {AgentBusyError} When too much waits for the agent already.
   */
  async send(turn: AgentTurn): Promise<SentTurn> {
    this.touch();
    const stamped = turn.uuid !== undefined || this.#driver.stampsTurns;
    const id = turn.uuid ??
      (stamped ? crypto.randomUUID() : `turn-${++this.#localTurns}`);
    if (this.#turns.phase(id) !== undefined) {
      return { turn: id, written: 0, repeated: true };
    }
    this.#turns.written(id, stamped, turn.text.startsWith("/"));
    this.#pendingChanged();
    try {
      const written = await this.#driver.send(
        stamped ? { ...turn, uuid: id } : turn,
      );
      return { turn: id, written, repeated: false };
    } catch (error) {
      this.#turns.withdrawn(id);
      this.#pendingChanged();
      throw error;
    }
  }

  /**
   * How a turn ends.
   *
   * @param turn The id of a turn that was sent.
   * @returns Resolves with the outcome; with `lost` when the agent ends first or the id is unknown.
   */
  outcome(turn: string): Promise<TurnOutcome> {
    const known = this.#turns.outcome(turn);
    if (known !== undefined) return Promise.resolve(known);
    if (this.#end !== undefined || this.#turns.phase(turn) === undefined) {
      return Promise.resolve(unknownOutcome(turn));
    }
    return this.#outcomes.wait(turn);
  }

  /** The outcomes of the last turns, oldest first, self-started ones too. */
  get outcomes(): readonly TurnOutcome[] {
    return this.#outcomes.last;
  }

  /** Stops the running turn; does nothing when none runs. */
  async interrupt(): Promise<void> {
    this.touch();
    await this.#driver.interrupt();
  }

  /**
   * Answers an open question.
   *
   * @param id The question.
   * @param answer The answer.
   * @returns False when it is not open.
   */
  answer(id: string, answer: AskAnswer): boolean {
    this.touch();
    return this.#asks.answer(id, answer);
  }

  /**
   * Ends the agent.
   *
   * @param options How long to wait at each step.
   * @returns How it ended.
   */
  async close(
    options: { eofMs?: number; termMs?: number } = {},
  ): Promise<AgentEnd> {
    const end = await this.#driver.close(options);
    if (this.#started === undefined) this.#finish(end);
    return { ...(await this.ended), by: end.by };
  }

  async #read(): Promise<void> {
    try {
      for await (const batch of this.#driver.frames()) {
        this.#take(batch);
        const pause = this.#pace?.();
        if (pause !== undefined) await pause;
      }
    } catch (error) {
      // A reader that fails is the end of the session, never a session without ears.
      this.#options.log?.(
        `Cannot read the agent: ${reasonOf(error)}`,
      );
      this.#driver.close({ eofMs: 0 });
    }
    this.#finish(await this.#driver.ended);
  }

  #take(batch: readonly AgentFrame[]): void {
    this.#lastActivity = this.#lastFrameAt = performance.now();
    this.#stall.heard();
    this.log.begin();
    for (const item of batch) {
      const { frame } = item;
      if (frame.kind === "stream_event") {
        this.#state.apply(frame);
        this.log.push(item);
        continue;
      }
      const settled = frame.kind === "control_request" &&
        frame.subtype === "can_use_tool" && this.#asks.take(frame);
      this.#state.apply(frame);
      if (settled && frame.kind === "control_request") {
        this.#state.answered(frame.request_id);
      }
      this.log.push(item);
      if (frame.kind === "system") {
        if (frame.session_id !== undefined) this.#sessionId = frame.session_id;
        if (frame.model !== undefined) this.#model = frame.model;
        if (frame.permission_mode !== undefined) {
          this.#permissionMode = frame.permission_mode;
        }
      }
      const outcome = this.#turns.apply(frame);
      if (outcome !== undefined) this.#turnEnded(outcome);
      if (frame.kind !== "control_request" && this.#asks.size > 0) {
        this.#asks.withdrawClosed();
      }
    }
    this.#changed("frames");
    this.#stateChanged();
  }

  #noteVerdict(call: ToolCall, verdict: Verdict): void {
    if (verdict.decision === "deny") {
      this.#turns.denied({
        tool: call.toolName,
        ...(call.toolUseId === undefined ? {} : { toolUseId: call.toolUseId }),
        ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
      });
      this.#options.log?.(
        `Denied "${call.toolName}" by ${verdict.by ?? "a decider"}: ${
          verdict.reason ?? ""
        }`,
      );
    }
    this.#judged.tell({ call, verdict });
  }

  #turnEnded(outcome: TurnOutcome): void {
    this.#outcomes.settle(outcome);
    this.#state.turnsPending(this.#turns.pending);
  }

  #pendingChanged(): void {
    this.#state.turnsPending(this.#turns.pending);
    this.#stateChanged();
  }

  #finish(end: AgentEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#state.ended();
    this.#asks.withdrawAll();
    const lost = this.#turns.ended();
    if (lost !== undefined) this.#turnEnded(lost);
    this.#stateChanged();
    this.#changed("ended");
    this.#resolveEnded(end);
  }

  #stateChanged(): void {
    const { state } = this;
    if (state !== this.#shown) {
      this.#shown = state;
      this.#changed("state");
    }
    this.#stall.watch(state === "running" && this.#end === undefined);
  }

  #changed(change: SessionChange): void {
    this.#watchers.tell(change);
  }
}
