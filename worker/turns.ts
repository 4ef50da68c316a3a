/**
 * Which turns were written, which one a result belongs to, and how each of them ended.
 *
 * @module
 */

import type { Frame, ResultFrame } from "./frame.ts";

/** How far a turn has come. */
export type TurnPhase = "written" | "delivered" | "done";

/** A call of a turn that was refused. */
export interface DeniedCall {
  /** The tool. */
  tool: string;
  /** The agent's id of the call. */
  toolUseId?: string;
  /** Why. */
  reason?: string;
}

/** How a turn ended. */
export interface TurnOutcome {
  /** The ids of the turns that ended here; none for a turn that started by itself. */
  turns: string[];
  /**
   * How: `completed`, `aborted` (interrupted), `error`, `max_turns`, `lost` (the agent ended first), `duplicate` (the
   * agent had seen the id before and did not run it again).
   */
  outcome:
    | "completed"
    | "aborted"
    | "error"
    | "max_turns"
    | "lost"
    | "duplicate";
  /** The final text, or `null`. */
  text: string | null;
  /** What went wrong. */
  errors: string[];
  /** The refused calls, subagents' too. */
  denied: DeniedCall[];
  /** What the turn cost in dollars, as far as the agent tells. */
  costUsd: number | null;
  /** Wall time as the agent tells it. */
  durationMs: number | null;
  /** True when no input of ours started the turn. */
  selfStarted: boolean;
}

interface Turn {
  readonly id: string;
  readonly stamped: boolean;
  readonly command: boolean;
  /** How many results had come when it was written. */
  readonly after: number;
  phase: TurnPhase;
}

/** What a {@linkcode TurnLedger} knows of its agent. */
export interface TurnLedgerOptions {
  /**
   * True when the agent is known to echo every turn before its result. When false the first echo tells.
   *
   * @default {false}
   */
  replays?: boolean;
  /**
   * True when the agent says `running` before it echoes a turn it takes up.
   *
   * @default {false}
   */
  tellsState?: boolean;
  /**
   * How many finished ids are remembered.
   *
   * @default {1024}
   */
  remember?: number;
}

/** The book of the turns of one session. */
export class TurnLedger {
  readonly #open = new Map<string, Turn>();
  readonly #done = new Map<string, TurnOutcome>();
  readonly #remember: number;
  readonly #replays: boolean;
  readonly #tellsState: boolean;
  #replaySeen = false;
  #denied: DeniedCall[] = [];
  #replyText = "";
  #cost = 0;
  #finished = 0;
  #results = 0;
  #told: string | undefined;

  /**
   * Opens an empty book.
   *
   * @param options What is known of the agent.
   */
  constructor(options: TurnLedgerOptions = {}) {
    this.#replays = options.replays ?? false;
    this.#tellsState = options.tellsState ?? false;
    this.#remember = options.remember ?? 1024;
  }

  /** How many turns are written and not finished. */
  get pending(): number {
    return this.#open.size;
  }

  /** How many turns of ours have come to an end by a result. */
  get finished(): number {
    return this.#finished;
  }

  /** How many turns wait for the agent to take them up. */
  get undelivered(): number {
    let count = 0;
    for (const turn of this.#open.values()) {
      if (turn.phase === "written") count++;
    }
    return count;
  }

  /** True when a result has come since each open turn was written: an agent may have joined them to another one. */
  get overtaken(): boolean {
    return [...this.#open.values()].every(({ after }) => after < this.#results);
  }

  /** The running total of the agent's own cost figures. */
  get totalCostUsd(): number {
    return this.#cost;
  }

  /**
   * Where a turn stands.
   *
   * @param id The turn.
   * @returns Its phase, or `undefined` for an unknown one.
   */
  phase(id: string): TurnPhase | undefined {
    return this.#open.get(id)?.phase ??
      (this.#done.has(id) ? "done" : undefined);
  }

  /**
   * How a turn ended.
   *
   * @param id The turn.
   * @returns The outcome, or `undefined` while it is open or unknown.
   */
  outcome(id: string): TurnOutcome | undefined {
    return this.#done.get(id);
  }

  /**
   * A turn goes to the agent.
   *
   * @param id The turn.
   * @param stamped True when the agent gets the id too and echoes it.
   * @param command True when it may be a command of the agent's own, such as `/cost`, which is not echoed.
   */
  written(id: string, stamped: boolean, command = false): void {
    const after = this.#results;
    this.#open.set(id, { id, stamped, command, after, phase: "written" });
  }

  /**
   * A turn could not be given to the agent after all.
   *
   * @param id The turn.
   */
  withdrawn(id: string): void {
    this.#open.delete(id);
  }

  /**
   * A call was refused by us.
   *
   * @param call The call.
   */
  denied(call: DeniedCall): void {
    if (
      call.toolUseId !== undefined &&
      this.#denied.some((known) => known.toolUseId === call.toolUseId)
    ) return;
    if (this.#denied.length < 1000) this.#denied.push(call);
  }

  /**
   * Takes the next frame into account.
   *
   * @param frame The frame.
   * @returns The outcome when the frame ended one or more turns.
   */
  apply(frame: Frame): TurnOutcome | undefined {
    switch (frame.kind) {
      case "user_echo":
        if (
          frame.source === "replay" &&
          !(frame.text ?? "").startsWith("<local-command-")
        ) {
          return this.#echoed(frame.uuid);
        }
        return undefined;
      case "assistant":
        if (frame.parent_tool_use_id === undefined) {
          this.#replyText += frame.text;
        }
        return undefined;
      case "system":
        if (frame.subtype === "session_state_changed") this.#told = frame.state;
        return undefined;
      case "result":
        return this.#finish(frame);
      default:
        return undefined;
    }
  }

  /**
   * The agent's process ended: what was open is lost.
   *
   * @returns The outcome, or `undefined` when nothing was open.
   */
  ended(): TurnOutcome | undefined {
    if (this.#open.size === 0) return undefined;
    const turns = [...this.#open.values()];
    return this.#close(turns, {
      outcome: "lost",
      text: this.#replyText === "" ? null : this.#replyText,
      errors: ["the agent ended before the turn did"],
      costUsd: null,
      durationMs: null,
    });
  }

  #echoed(uuid: string | undefined): TurnOutcome | undefined {
    this.#replaySeen = true;
    const named = uuid === undefined ? undefined : this.#open.get(uuid);
    if (named !== undefined) {
      named.phase = "delivered";
      // A turn that the agent takes up makes it say "running" first; an echo at rest means that it knew the id.
      if (
        this.#told === "idle" || (this.#told === undefined && this.#tellsState)
      ) {
        return this.#close([named], {
          outcome: "duplicate",
          text: null,
          errors: [],
          costUsd: null,
          durationMs: null,
        });
      }
      return undefined;
    }
    if (uuid !== undefined && this.#done.has(uuid)) return undefined;
    for (const turn of this.#open.values()) {
      if (turn.phase !== "written" || turn.stamped) continue;
      turn.phase = "delivered";
      break;
    }
    return undefined;
  }

  #finish(frame: ResultFrame): TurnOutcome {
    const delivered = [...this.#open.values()].filter((turn) =>
      turn.phase === "delivered"
    );
    this.#results++;
    if (frame.num_turns !== 0) this.#finished++;
    const silent = delivered.length > 0 || frame.origin !== undefined
      ? undefined
      : this.#replays || this.#replaySeen
      ? this.#command(frame)
      : this.#oldest();
    const turns = silent === undefined ? delivered : [silent];
    for (const denial of frame.permission_denials ?? []) {
      this.denied({ tool: denial.tool_name, toolUseId: denial.tool_use_id });
    }
    return this.#close(turns, {
      outcome: outcomeOf(frame),
      text: frame.result ?? (this.#replyText === "" ? null : this.#replyText),
      errors: errorsOf(frame),
      costUsd: this.#costOf(frame.total_cost_usd),
      durationMs: frame.duration_ms ?? null,
    });
  }

  #costOf(total: number | undefined): number | null {
    if (total === undefined) return null;
    const cost = total >= this.#cost ? total - this.#cost : total;
    this.#cost = total;
    return cost;
  }

  #close(
    turns: Turn[],
    rest: Omit<TurnOutcome, "turns" | "denied" | "selfStarted">,
  ): TurnOutcome {
    const outcome: TurnOutcome = {
      turns: turns.map((turn) => turn.id),
      denied: this.#denied,
      selfStarted: turns.length === 0,
      ...rest,
    };
    if (rest.outcome !== "duplicate") {
      this.#denied = [];
      this.#replyText = "";
    }
    for (const turn of turns) {
      this.#open.delete(turn.id);
      this.#done.set(turn.id, outcome);
    }
    while (this.#done.size > this.#remember) {
      const first = this.#done.keys().next().value;
      if (first === undefined) break;
      this.#done.delete(first);
    }
    return outcome;
  }

  #oldest(among: (turn: Turn) => boolean = () => true): Turn | undefined {
    for (const turn of this.#open.values()) {
      if (turn.phase === "written" && among(turn)) return turn;
    }
    return undefined;
  }

  /** What the agent does by itself takes no call of the model. */
  #command(frame: ResultFrame): Turn | undefined {
    return frame.num_turns === 0 && !frame.is_error
      ? this.#oldest((turn) => turn.command)
      : undefined;
  }
}

/** What an agent's own words ask for that only its own program has. */
const LOGIN = /Please run \/login/;

function errorsOf(frame: ResultFrame): string[] {
  const errors = frame.errors ??
    (frame.is_error && frame.result !== null ? [frame.result] : []);
  return errors.some((error) => LOGIN.test(error))
    ? [...errors, 'start "claude" and type /login, or set ANTHROPIC_API_KEY']
    : errors;
}

function outcomeOf(frame: ResultFrame): TurnOutcome["outcome"] {
  if (frame.terminal_reason?.startsWith("aborted") === true) return "aborted";
  if (frame.subtype === "error_max_turns") return "max_turns";
  return frame.is_error || frame.subtype.startsWith("error")
    ? "error"
    : "completed";
}
