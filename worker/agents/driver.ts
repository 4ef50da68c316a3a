/**
 * What the worker wants from an agent: start it, feed it, hear it, judge its calls, end it.
 *
 * @module
 */

import type { Frame } from "../frame.ts";

/** A tool call that somebody has to judge. */
export interface ToolCall {
  /** The tool as the agent names it, such as `Write` or `mcp__bulkhead__greet`. */
  readonly toolName: string;
  /** The arguments, unchecked. */
  readonly input: unknown;
  /** The agent's id of the call. */
  readonly toolUseId?: string;
  /** Set when a subagent makes the call. */
  readonly agentId?: string;
  /** The working directory the agent gives the call. */
  readonly cwd: string;
  /** Why the agent asks, when it said so: `rule`, `hook`, `workingDir` … */
  readonly reasonType?: string;
}

/**
 * What became of a call.
 *
 * - `allow`: it may run.
 * - `deny`: it may not; nobody after may lift that.
 * - `ask`: a person has to say, even when the agent itself would not ask.
 * - `undecided`: no opinion; if the agent asks, a person has to say.
 */
export type Decision = "allow" | "deny" | "ask" | "undecided";

/** A judgement on one call. */
export interface Verdict {
  /** What is to happen. */
  readonly decision: Decision;
  /** Why, for the model and for people. */
  readonly reason?: string;
  /** Who decided, such as `guard`, `posture` or a plugin's name. */
  readonly by?: string;
  /** Arguments that replace the call's own. They are judged again before they count. */
  readonly updatedInput?: unknown;
  /** Who replaced them, where that is not who decided. */
  readonly updatedBy?: string;
  /** Text that the model gets along with the call. */
  readonly additionalContext?: string;
}

/**
 * One judge in an ordered list. The first `deny` ends the list; after that the strictest wins:
 * `deny`, `ask`, `undecided`, `allow`; a judge without an opinion on the call gives `null`.
 */
export interface Decider {
  /** The name that stands in verdicts. */
  readonly name: string;
  /** Judges one call. A throw counts as `deny`. */
  decide(call: ToolCall): Verdict | null | Promise<Verdict | null>;
}

/** How surely every call of the agent is seen before it runs. */
export type GateKind = "callback" | "hook" | "plugin" | "none";

/** The gate of a started agent. */
export interface Gate {
  /** By which way calls are seen. */
  readonly kind: GateKind;
  /** True when the agent has confirmed it. */
  readonly verified: boolean;
  /** What was found, in one line. */
  readonly detail: string;
}

/** One piece of a tool's answer, in the shape of the Model Context Protocol. */
export interface ToolContent {
  /** `text`, `image`, `audio`, `resource` … */
  readonly type: string;
}

/** A tool's answer as the Model Context Protocol gives it. */
export interface ToolAnswer {
  /** What the model sees. */
  readonly content: readonly ToolContent[];
  /** True when the call failed. */
  readonly isError?: boolean;
  /** The answer as data. */
  readonly structuredContent?: object;
}

/** A tool the host offers to the agent. The `Tool` of `@bulkhead/plugins` fits. */
export interface HostTool {
  /** The name on the wire. */
  readonly name: string;
  /** A title for people. */
  readonly title?: string;
  /** What it does, for the model. */
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: object;
  /** The hints of the Model Context Protocol. */
  readonly annotations?: object;
  /** Runs it once. Failures are an answer with `isError`, no throw. */
  execute(
    args: unknown,
    context?: { signal?: AbortSignal; cwd?: string; toolCallId?: string },
  ): Promise<ToolAnswer>;
}

/** The tools the host offers. The `ToolRegistry` of `@bulkhead/plugins` fits. */
export interface ToolSource {
  /** Settles when the tools are all there; an agent that asks for them earlier waits. */
  readonly ready?: Promise<unknown>;
  /** One tool by name. */
  get(name: string): HostTool | undefined;
  /** All tools. */
  [Symbol.iterator](): Iterator<HostTool>;
}

/** A picture that goes along with a turn. */
export interface TurnImage {
  /** The media type, such as `image/png`. */
  readonly mediaType: string;
  /** The bytes as base64. */
  readonly data: string;
}

/** One turn for the agent. */
export interface AgentTurn {
  /** The text. */
  readonly text: string;
  /** The id of the turn: a second turn with the same id is not run twice. Absent = the agent names it. */
  readonly uuid?: string;
  /** Pictures. */
  readonly images?: readonly TurnImage[];
}

/** The answer to an open ask. */
export interface AskAnswer {
  /** What was decided. */
  readonly decision: "allow" | "deny";
  /** Why, for the model. */
  readonly reason?: string;
  /** The arguments to run with; the call's own when absent. */
  readonly updatedInput?: unknown;
  /** On deny: end the whole turn. */
  readonly interrupt?: boolean;
}

/** A frame with the line it came from. */
export interface AgentFrame {
  /** The frame. */
  readonly frame: Frame;
  /** The agent's own line, for those who need more than the frame. */
  readonly raw: string;
  /** The line's bytes, when `parseFrame` reads this very frame from it. Valid until the next batch. */
  readonly bytes?: Uint8Array;
}

/** How the agent's process stands. */
export interface AgentStatus {
  /** The process id, or `null` when nothing was started. */
  readonly pid: number | null;
  /** True while the process lives. */
  readonly alive: boolean;
  /** The exit code; `null` while it lives or when a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
}

/** How an agent's process ended. */
export interface AgentEnd {
  /** The exit code, or `null` when a signal ended it. */
  readonly code: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** The end of what it wrote to stderr, at most 8 192 bytes. */
  readonly stderrTail: string;
  /** The last step that was needed: it ended by itself, on stdin EOF, on TERM or on KILL. */
  readonly by: "itself" | "eof" | "term" | "kill";
}

/** What a driver gets to start with. */
export interface AgentStart {
  /** The working directory of the session. */
  readonly cwd: string;
  /** The id a new session gets. Not together with `resume`. */
  readonly sessionId?: string;
  /** The session to go on with. */
  readonly resume?: string;
  /** The model to ask for. */
  readonly model?: string;
  /** Variables that are set in the agent's environment on top of what it inherits. */
  readonly env?: Readonly<Record<string, string>>;
  /** The tools the host offers. */
  readonly tools?: ToolSource;
  /** Judges a call before it runs. A plain verdict is answered at once, a promise when it settles. */
  judge(call: ToolCall): Verdict | Promise<Verdict>;
  /** Takes one line for the worker's own log. */
  log?(line: string): void;
}

/** What a started agent says about itself. */
export interface AgentStarted {
  /** The session's id, as far as the agent has told it. */
  readonly sessionId: string | undefined;
  /** False when the agent cannot go on with a session later: its id then means nothing outside of its process. */
  readonly resumable?: boolean;
  /** The gate. A driver rejects `start` rather than run turns past a gate it promised. */
  readonly gate: Gate;
}

/**
 * One agent behind one interface.
 *
 * A driver maps whatever its agent speaks to frames: an ask is a `control_request` frame with subtype
 * `can_use_tool`, the end of a turn a `result` frame, the state a `session_state_changed` system frame.
 * The worker answers asks; the driver answers everything else itself.
 */
export interface AgentDriver {
  /** The agent's name, such as `claude`. */
  readonly name: string;
  /** True when turns come back as a `user_echo` with `source: "replay"` before their result. */
  readonly replays: boolean;
  /** True when every turn should carry a uuid of ours. */
  readonly stampsTurns: boolean;
  /** True when the agent says `running` before it takes up a turn and `idle` after it. */
  readonly tellsState?: boolean;
  /** True when whoever brought the argv answers for the session: the ids it tells are not claimed. */
  readonly callersSession?: boolean;
  /** Starts the agent and resolves once it is ready for turns and its gate stands. */
  start(options: AgentStart): Promise<AgentStarted>;
  /**
   * Sends one turn.
   *
   * @returns How many bytes were queued for the agent.
   * @throws {AgentBusyError} When the queue is full.
   */
  send(turn: AgentTurn): Promise<number>;
  /** Stops the running turn. Does nothing when none runs. */
  interrupt(): Promise<void>;
  /** Answers an open ask. A late or unknown id is ignored. Synchronous drivers may answer at once. */
  answer(askId: string, answer: AskAnswer): void | Promise<void>;
  /** The agent's output in order, a batch per read, up to its end. One reader only. */
  frames(): AsyncIterable<readonly AgentFrame[]>;
  /** How the process stands. */
  status(): AgentStatus;
  /** Resolves when the process has ended, whether or not its output is still held open. */
  readonly ended: Promise<AgentEnd>;
  /** Ends the agent for sure: EOF, TERM, KILL, descendants included. Safe to call again. */
  close(options?: { eofMs?: number; termMs?: number }): Promise<AgentEnd>;
}

/** Thrown when a turn does not fit into the queue to the agent. */
export class AgentBusyError extends Error {
  /**
   * Makes the error.
   *
   * @param queued How many bytes wait already.
   * @param limit How many may wait.
   */
  constructor(queued: number, limit: number) {
    super(
      `Cannot queue the turn: ${queued} bytes wait for the agent, the limit is ${limit}`,
    );
    this.name = "AgentBusyError";
  }
}
