/**
 * Whether a session works, waits for a person or rests, read from its frames.
 *
 * @module
 */

import type { Frame, SystemFrame } from "./frame.ts";
import { ScheduledWakes } from "./scheduled_wakes.ts";

/** What a session does. */
export type SessionState = "running" | "requires_action" | "idle" | "dead";

/** Task states after which a task is over. */
const TASK_OVER = new Set([
  "completed",
  "failed",
  "killed",
  "stopped",
  "cancelled",
  "error",
]);

/** System lines that show a turn at work, for agents that do not tell their state. */
const TURN_SIGNS = new Set(["api_retry", "thinking_tokens"]);

/** Lines of other types that say nothing about a turn. */
const SAYS_NOTHING = new Set([
  "control_response",
  "control_cancel_request",
  "keep_alive",
  "rate_limit_event",
  "auth_status",
]);

/** What a task that is announced once more may still be. */
const TASK_GOES_ON = new Set(["pending", "running", "in_progress", "paused"]);

/**
 * The state of a session as its frames tell it.
 *
 * An agent that sends `session_state_changed` is believed; for one that does not, the turn is read from what it
 * writes. Either way open asks, background tasks, turns on their way and scheduled wake-ups are counted, because
 * an agent says `idle` while background work still runs.
 *
 * @example A question to a person
 * ```ts
 * import { parseFrame, TurnState } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const state = new TurnState();
 * assertEquals(state.state, "idle");
 * state.apply(parseFrame(
 *   '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Write","input":{}}}',
 * ));
 * assertEquals(state.state, "requires_action");
 * state.answered("r1");
 * assertEquals(state.state, "running");
 * ```
 */
export class TurnState {
  #told: "running" | "requires_action" | "idle" | undefined;
  #working = false;
  #dead = false;
  #pending = 0;
  #askedSince = false;
  #unclear = false;
  readonly #asks = new Map<
    string,
    { call: string | undefined; agent: string | undefined }
  >();
  readonly #tasks = new Map<
    string,
    { type: string; call: string | undefined }
  >();
  readonly #background = new Set<string>();
  readonly #wakes = new ScheduledWakes();

  /** What the session does right now. */
  get state(): SessionState {
    if (this.#dead) return "dead";
    if (this.#waits) return "requires_action";
    if (this.#told === "running" || this.#pending > 0) return "running";
    if (this.#told === undefined && this.#working) return "running";
    return "idle";
  }

  /** An agent that goes on while one ask is open has its answer; of several we know only what we answered. */
  get #waits(): boolean {
    if (this.#asks.size === 0 || this.#told !== "running") {
      return this.#asks.size > 0 || this.#told === "requires_action";
    }
    return this.#asks.size > 1 || this.#askedSince;
  }

  /** True when the session rests and nothing can start by itself: it may be let go. */
  get quiescent(): boolean {
    return this.#pending === 0 && this.settled;
  }

  /** True when nothing but turns that were written and not finished keeps the session. */
  get settled(): boolean {
    if (this.#dead || this.#waits || this.#told === "running") return false;
    const unsure = this.#told === undefined && (this.#working || this.#unclear);
    return !unsure && this.#tasks.size === 0 && this.#wakes.size === 0;
  }

  /** True when the agent tells its state itself. */
  get told(): boolean {
    return this.#told !== undefined;
  }

  /** True while a turn runs, whatever the asks. */
  get working(): boolean {
    return this.#told === undefined ? this.#working : this.#told !== "idle";
  }

  /** The ids of the open background tasks and what they are. */
  get tasks(): ReadonlyMap<string, string> {
    return new Map([...this.#tasks].map(([id, task]) => [id, task.type]));
  }

  /** The ids of the open asks. */
  get asks(): ReadonlySet<string> {
    return new Set(this.#asks.keys());
  }

  /** How many wake-ups are scheduled. */
  get wakes(): number {
    return this.#wakes.size;
  }

  /**
   * Says how many turns are written and not finished.
   *
   * @param count The number.
   */
  turnsPending(count: number): void {
    this.#pending = count;
  }

  /**
   * An ask was answered by us.
   *
   * @param requestId The ask.
   */
  answered(requestId: string): void {
    this.#closeAsk(requestId);
  }

  /** The turn goes on after its ask. The agent says so a moment later. */
  #closeAsk(requestId: string): void {
    const ask = this.#asks.get(requestId);
    if (ask === undefined) return;
    this.#asks.delete(requestId);
    if (this.#told === undefined) this.#working ||= ask.agent === undefined;
    else if (this.#asks.size === 0 && this.#told === "requires_action") {
      this.#told = "running";
    }
  }

  /** The agent's process has ended. */
  ended(): void {
    this.#dead = true;
    this.#asks.clear();
  }

  /**
   * Takes the next frame into account.
   *
   * @param frame The frame.
   */
  apply(frame: Frame): void {
    switch (frame.kind) {
      case "system":
        this.#unclear = false;
        this.#system(frame);
        break;
      case "control_request":
        if (frame.subtype === "can_use_tool" && frame.request_id !== "") {
          const agent = frame.agent_id;
          this.#asks.set(frame.request_id, { call: frame.tool_use_id, agent });
          this.#askedSince = true;
          this.#working ||= agent === undefined;
        }
        if (frame.subtype === "hook_callback" && !isOfSubagent(frame.input)) {
          this.#working = true;
        }
        break;
      case "other":
        if (frame.request_id !== undefined) this.#closeAsk(frame.request_id);
        if (!SAYS_NOTHING.has(frame.type_name)) this.#unclear = true;
        break;
      case "assistant":
        this.#working ||= frame.parent_tool_use_id === undefined;
        for (const use of frame.tool_uses ?? []) {
          if (isBackground(use.input)) this.#background.add(use.id);
          this.#wakes.called(use.id, use.name, use.input);
        }
        break;
      case "stream_event":
        this.#working ||= frame.parent_tool_use_id === undefined;
        break;
      case "user_echo":
        // A subagent may work on in the background; the main thread's own lines show a turn.
        if (
          frame.parent_tool_use_id === undefined &&
          this.#worksOn(frame.source, frame.text)
        ) this.#working = true;
        for (const result of frame.tool_results ?? []) {
          this.#closeAskOf(result.tool_use_id);
          this.#endForegroundTask(result.tool_use_id, result.text);
          this.#wakes.answered(result.tool_use_id, result.is_error);
        }
        break;
      case "result":
        this.#working = this.#unclear = false;
        this.#dropAsks();
        break;
      case "malformed":
        // Of an agent that does not tell its state nobody knows what this was.
        this.#unclear = true;
        break;
    }
  }

  /** A replay alone proves nothing: a repeated id is echoed and not run, and so is a local command. */
  #worksOn(source: string | undefined, text: string | undefined): boolean {
    return source !== "replay" && source !== "synthetic" &&
      !(text ?? "").startsWith("<local-command-");
  }

  #system(frame: SystemFrame): void {
    switch (frame.subtype) {
      case "session_state_changed":
        if (
          frame.state === "running" || frame.state === "requires_action" ||
          frame.state === "idle"
        ) {
          this.#told = frame.state;
          this.#askedSince = false;
        }
        if (frame.state === "idle") this.#dropAsks();
        break;
      case "init":
        // An agent names its line at the start of each turn; a bare init is only a greeting.
        if (frame.uuid !== undefined) {
          this.#working = true;
          if (this.#pending === 0) this.#wakes.fired();
        }
        break;
      case "status":
        if (frame.status === "requesting" || frame.status === "compacting") {
          this.#working = true;
        }
        break;
      case "task_started":
        if (frame.task_id !== undefined) {
          this.#tasks.set(frame.task_id, {
            type: frame.task_type ?? "task",
            call: frame.tool_use_id,
          });
        }
        break;
      case "task_updated":
        this.#endTask(frame.task_id, frame.task_status);
        break;
      case "task_notification":
        if (!TASK_GOES_ON.has(frame.status ?? "")) {
          this.#taskOver(frame.task_id ?? "");
        }
        break;
      default:
        if (TURN_SIGNS.has(frame.subtype)) this.#working = true;
    }
  }

  #endTask(taskId: string | undefined, status: string | undefined): void {
    if (taskId !== undefined && status !== undefined && TASK_OVER.has(status)) {
      this.#taskOver(taskId);
    }
  }

  /** A subagent that is over asks nothing any more. */
  #taskOver(taskId: string): void {
    this.#tasks.delete(taskId);
    for (const [id, { agent }] of this.#asks) {
      if (agent === taskId) this.#closeAsk(id);
    }
  }

  /** A long foreground command is announced as a task too, and its end is just its answer. */
  #endForegroundTask(toolUseId: string, answer: string): void {
    const background = this.#background.delete(toolUseId);
    for (const [id, task] of this.#tasks) {
      if (task.call === toolUseId && !background && !answer.includes(id)) {
        this.#tasks.delete(id);
      }
    }
  }

  #closeAskOf(toolUseId: string): void {
    for (const [id, { call }] of this.#asks) {
      if (call === toolUseId) this.#closeAsk(id);
    }
  }

  /** With its turn the main thread's asks are over; a subagent in the background still waits for its own. */
  #dropAsks(): void {
    for (const [id, { agent }] of this.#asks) {
      if (agent === undefined || !this.#tasks.has(agent)) this.#asks.delete(id);
    }
  }
}

/** A callback about a subagent's call names the subagent. */
function isOfSubagent(input: unknown): boolean {
  return typeof input === "object" && input !== null &&
    "agent_id" in input && typeof input.agent_id === "string";
}

function isBackground(input: unknown): boolean {
  return typeof input === "object" && input !== null &&
    "run_in_background" in input &&
    input.run_in_background === true;
}
