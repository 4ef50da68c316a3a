/**
 * One worker: a session with its claim, its record on the disk, its socket and its end.
 *
 * @module
 */

import { MAX_TIMER_MS, reasonOf } from "@bulkhead/sandbox";
import type {
  AgentEnd,
  AgentStarted,
  AgentTurn,
  AskAnswer,
  Decider,
  Gate,
} from "./agents/driver.ts";
import type { OpenAsk } from "./asks.ts";
import { createPosture } from "./posture.ts";
import { WorkerRecord } from "./record.ts";
import { WorkerServer } from "./server.ts";
import { type JudgedCall, type SentTurn, Session } from "./session.ts";
import { OwnedSocket } from "./socket.ts";
import type { SessionState } from "./turn_state.ts";
import type { TurnOutcome } from "./turns.ts";
import type {
  EndReason,
  NumberedFrame,
  WorkerEnd,
  WorkerOptions,
} from "./worker_options.ts";

export type * from "./worker_options.ts";

/** How long an idle worker keeps its session, in milliseconds, as the stream worker of `fno_agents` does: 15 minutes. */
export const IDLE_GRACE_MS = 900_000;

/** A running worker, as its own process sees it. Made by {@linkcode runWorker}. */
export class Worker implements AsyncDisposable {
  /** The name of the worker under its home. */
  readonly shortId: string;
  /** Where its socket is. */
  readonly socketPath: string;
  /** The session. */
  readonly session: Session;
  /** The gate as it stood before the first turn. */
  readonly gate: Gate;
  /** Resolves when the worker has ended and nothing of it is left. */
  readonly ended: Promise<WorkerEnd>;
  readonly #options: WorkerOptions;
  readonly #record: WorkerRecord;
  readonly #socket: OwnedSocket;
  readonly #server: WorkerServer;
  #resolveEnded: (end: WorkerEnd) => void = () => {};
  #rejectEnded: (error: unknown) => void = () => {};
  #reason: EndReason | undefined;
  #closing: Promise<AgentEnd> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #claimed: string | undefined;

  /**
   * Wraps what {@linkcode runWorker} has started.
   *
   * @param options The options of the worker.
   * @param parts The started parts.
   */
  constructor(
    options: WorkerOptions,
    parts: {
      session: Session;
      started: AgentStarted;
      record: WorkerRecord;
      socket: OwnedSocket;
      claimed: string | undefined;
    },
  ) {
    this.#options = options;
    this.shortId = options.shortId;
    this.session = parts.session;
    this.gate = parts.started.gate;
    this.socketPath = parts.record.socketPath;
    this.#record = parts.record;
    this.#socket = parts.socket;
    this.ended = new Promise((resolve, reject) => {
      this.#resolveEnded = resolve;
      this.#rejectEnded = reject;
    });
    this.ended.catch(() => {});
    this.#server = new WorkerServer(parts.socket, {
      session: parts.session,
      shutdown: () => this.#close("shutdown").then(() => {}),
    });
    this.#claimed = parts.claimed;
    const look = () => {
      if (this.session.sessionId !== this.#claimed) this.#claimTold();
      this.#considerIdle();
    };
    this.session.watch(look);
    look();
    this.session.ended.then((end) => this.#finish(end)).catch((error) =>
      this.#rejectEnded(error)
    );
  }

  /** What the session does. */
  get state(): SessionState {
    return this.session.state;
  }

  /** The session's id, once it is known. */
  get sessionId(): string | undefined {
    return this.session.sessionId;
  }

  /** The questions that wait for a person, oldest first. */
  get asks(): OpenAsk[] {
    return this.session.asks;
  }

  /**
   * The frames of the session: those that are kept from a number on, then each new one, to the end of the session.
   * A reader that is too slow misses frames and is told so by `gap`; it holds up nobody.
   *
   * @param options `cursor`: the first wanted frame, 0 by default.
   * @returns The frames.
   */
  async *frames(
    options: { cursor?: number } = {},
  ): AsyncGenerator<NumberedFrame, void, undefined> {
    let cursor = options.cursor ?? 0;
    let wake = Promise.withResolvers<void>();
    const unwatch = this.session.watch((change) => {
      if (change === "frames" || change === "ended") wake.resolve();
    });
    try {
      for (;;) {
        const slice = this.session.log.since(cursor, { maxFrames: 256 });
        cursor = slice.next;
        for (const [at, entry] of slice.entries.entries()) {
          yield {
            index: slice.from + at,
            frame: entry.frame,
            raw: entry.raw,
            gap: slice.gap && at === 0,
          };
        }
        if (slice.entries.length > 0) continue;
        if (this.session.state === "dead") return;
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
    } finally {
      unwatch();
    }
  }

  /**
   * Sends a turn.
   *
   * @param turn The turn or its text.
   * @returns The id of the turn and what was written.
   * @throws {AgentBusyError} When too much waits for the agent already.
   */
  send(turn: AgentTurn | string): Promise<SentTurn> {
    return this.session.send(typeof turn === "string" ? { text: turn } : turn);
  }

  /**
   * Sends a turn and waits for its end.
   *
   * @param turn The turn or its text.
   * @returns How it ended.
   */
  async ask(turn: AgentTurn | string): Promise<TurnOutcome> {
    const sent = await this.send(turn);
    return await this.session.outcome(sent.turn);
  }

  /**
   * How a turn ends.
   *
   * @param turn The id of a turn that was sent.
   * @returns Resolves with the outcome.
   */
  outcome(turn: string): Promise<TurnOutcome> {
    return this.session.outcome(turn);
  }

  /** Stops the running turn; does nothing when none runs. */
  interrupt(): Promise<void> {
    return this.session.interrupt();
  }

  /**
   * Answers a question.
   *
   * @param id The question.
   * @param answer The answer.
   * @returns False when it is not open.
   */
  answer(id: string, answer: AskAnswer): boolean {
    return this.session.answer(id, answer);
  }

  /**
   * Calls a function after each verdict on a call, whoever decided.
   *
   * @param listener The function.
   * @returns A function that ends it.
   */
  onVerdict(listener: (judged: JudgedCall) => void): () => void {
    return this.session.onVerdict(listener);
  }

  /**
   * Ends the worker: the agent first, then the record, the socket and the claim.
   *
   * @returns How it ended.
   */
  async end(): Promise<WorkerEnd> {
    await this.#close("shutdown");
    return await this.ended;
  }

  /** Same as {@linkcode end}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /** Some agents name their session only with its first turn, or go over to another. */
  #claimTold(): void {
    this.#claimed = this.session.sessionId;
    this.#record.goneOver(this.#claimed).catch((error) => {
      this.#options.log?.(reasonOf(error));
      return this.#close("session-held");
    }).catch((error) => this.#rejectEnded(error));
  }

  #close(reason: EndReason): Promise<AgentEnd> {
    this.#reason ??= reason;
    this.#server.stop();
    clearTimeout(this.#idle);
    this.#closing ??= this.session.close();
    return this.#closing;
  }

  /** The end in its one order: the row and the claim go last, so that nobody resumes while the agent still writes. */
  async #finish(end: AgentEnd): Promise<void> {
    const reason = this.#reason ??= "child_exited";
    clearTimeout(this.#idle);
    this.#server.stop();
    const agent = await this.#close(reason);
    await this.#record.ended(reason, { ...end, by: agent.by }, this.session);
    await this.#socket.remove();
    await this.#server.close(reason);
    await this.#record.release();
    this.#resolveEnded({ reason, agent });
  }

  /** One timer while the session rests, at the time its grace would be over; none while it works. */
  #considerIdle(): void {
    const grace = this.#options.idleGraceMs ?? IDLE_GRACE_MS;
    if (
      grace === 0 || this.#idle !== undefined || this.#reason !== undefined ||
      !this.session.quiescent
    ) return;
    const wait = Math.min(
      Math.max(grace - this.session.quietMs, 1),
      MAX_TIMER_MS,
    );
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      if (this.session.quiescent && this.session.quietMs >= grace) {
        this.#close("idle-release").catch((error) => this.#rejectEnded(error));
      } else this.#considerIdle();
    }, wait);
  }
}

/**
 * Starts a worker: claims the session, starts the agent, waits for its gate, writes the record and binds the socket.
 *
 * @param options The session, the agent and the rules.
 * @returns The running worker.
 * @throws {AgentStartError} When the agent does not come up.
 * @throws {Deno.errors.NotFound} When the agent's program or the directory does not exist.
 * @throws {Deno.errors.Busy} When the session, one that the agent names itself too, or the socket belongs to a live worker.
 */
export async function runWorker(options: WorkerOptions): Promise<Worker> {
  const record = new WorkerRecord(options);
  await record.prepare();
  try {
    const session = new Session({
      driver: options.driver,
      cwd: options.cwd,
      deciders: options.deciders ?? [await defaultPosture(options)],
      ...(options.tools === undefined ? {} : { tools: options.tools }),
      ...(options.asks === undefined ? {} : { asks: options.asks }),
      ...(options.askTimeoutMs === undefined
        ? {}
        : { askTimeoutMs: options.askTimeoutMs }),
      ...(options.stallMs === undefined ? {} : { stallMs: options.stallMs }),
      ...(options.frames === undefined ? {} : { frames: options.frames }),
      log: (line) => options.log?.(line),
      event: (type, data) => record.event(type, data),
    });
    const started = await startSession(session, record, options);
    try {
      const claimed = session.sessionId;
      if (started.resumable !== false) await record.claim(claimed);
      await record.live(session);
      const socket = await OwnedSocket.bind(record.socketPath);
      return new Worker(options, { session, started, record, socket, claimed });
    } catch (error) {
      await session.close();
      throw error;
    }
  } catch (error) {
    await record.release();
    throw error;
  }
}

async function startSession(
  session: Session,
  record: WorkerRecord,
  options: WorkerOptions,
): Promise<AgentStarted> {
  try {
    return await session.start({
      env: {
        ...options.env,
        FNO_AGENTS_SELF_SHORT_ID: options.shortId,
        FNO_AGENTS_HOME: options.home,
      },
      ...(options.sessionId === undefined
        ? {}
        : { sessionId: options.sessionId }),
      ...(options.resume === undefined ? {} : { resume: options.resume }),
      ...(options.model === undefined ? {} : { model: options.model }),
    });
  } catch (error) {
    await record.startFailed(error);
    throw error;
  }
}

async function defaultPosture(options: WorkerOptions): Promise<Decider> {
  return await createPosture({
    cwd: options.cwd,
    rules: options.rules ?? {},
    project: options.trustProject === true ? "trusted" : "untrusted",
  });
}
