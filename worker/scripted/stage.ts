/**
 * What the parts of a playing session share.
 *
 * @module
 */
import type { AgentArguments } from "./argv.ts";
import type { PendingCall } from "./call.ts";
import type { ControlChannel } from "./channel.ts";
import type { Frames, Totals } from "./frames.ts";
import type { McpServers } from "./mcp.ts";
import type { FrameOutput, Json } from "./output.ts";
import type { Rules } from "./permissions.ts";
import type { AgentScript, ScriptStep } from "./script.ts";

/** One PreToolUse registration of the host. */
export interface HookGroup {
  /** Whether it is for this tool. */
  matches(tool: string): boolean;
  /** The callbacks to ask. */
  callbackIds: string[];
  /** How long an answer may take. */
  timeoutMs: number;
}

/** A background task that is still open. */
export interface BackgroundTask {
  taskId: string;
  toolUseId: string;
  /** Ends it. */
  abort: AbortController;
  /** Settles when it has ended. */
  done: Promise<void>;
}

/** A turn that waits to be played. */
export interface QueuedTurn {
  /** Steps, when the script decides them; otherwise they are picked by the prompt. */
  steps?: ScriptStep[];
  /** The host's line, for a turn that the host wrote. */
  user?: { message: unknown; uuid: string; text: string };
  /** Frames before `init`, for a turn that starts by itself. */
  before?: () => void;
  /** `origin` of its result. */
  origin?: Json;
  /** Whether it came while a tool or an ask was open. */
  merges: boolean;
}

/** The whole session, as its parts see it. */
export interface Stage {
  readonly args: AgentArguments;
  readonly script: AgentScript;
  readonly cwd: string;
  readonly transcriptPath: string;
  readonly output: FrameOutput;
  readonly frames: Frames;
  readonly channel: ControlChannel;
  readonly rules: Rules;
  readonly mcp: McpServers;
  readonly totals: Totals;
  readonly tasks: Map<string, BackgroundTask>;
  mode: string;
  hooks: HookGroup[];
  openAsks: number;
  /** Whether a tool is running or an ask is open. */
  toolOpen: boolean;
  /** Turns that merge into the running one, taken from the queue. */
  takeMerged(): QueuedTurn[];
  /** Adds a turn that starts by itself. */
  enqueue(turn: QueuedTurn): void;
  /** Settles when stdin has ended. */
  readonly ended: Promise<void>;
  /** Ends the process. */
  exit(code: number): Promise<never>;
  /** Writes to stderr. */
  complain(text: string): Promise<void>;
}

/** Counts a model message and what it costs. */
export function countMessage({ totals, script }: Stage): void {
  totals.messages++;
  totals.costUsd = Number(
    (totals.costUsd + (script.costUsd ?? 0)).toFixed(9),
  );
}

/** The turn that is being played. */
export class Turn {
  /** Cancels asks, pauses and commands of this turn. */
  readonly abort = new AbortController();
  /** Id that hook inputs carry. */
  readonly promptId = crypto.randomUUID();
  /** Start, for durations. */
  readonly startedAt = performance.now();
  /** Denied calls of the main thread. */
  readonly denials: Json[] = [];
  /** Why it was cut, if it was. */
  aborted: "streaming" | "tools" | undefined;
  /** Model messages of the main thread. */
  messages = 0;
  /** `user` frames of the main thread, replays left out. */
  userFrames = 0;
  /** Text of the last text block. */
  lastText = "";
  /** Text of the last tool result. */
  lastResult = "";
  /** Stop reason of the last message. */
  stopReason: string | null = null;
  /** First delta, in milliseconds from the start. */
  ttftMs = 0;
  /** Whether `status: requesting` is out for the next message. */
  requested = false;
  /** The replay that is still owed. */
  owedReplay: (() => void) | undefined;
  /** How the script ended it early. */
  ending: Json | undefined;

  /** @param prompt Text of the prompt. */
  constructor(readonly prompt: string) {}

  /** Notes a denied call; the result lists those of the main thread only. */
  denied(call: PendingCall, input: Json): void {
    if (call.agent !== undefined) return;
    this.denials.push({
      tool_name: call.tool,
      tool_use_id: call.toolUseId,
      tool_input: input,
    });
  }

  /** Sends the replay, once. */
  replay(): void {
    this.owedReplay?.();
    this.owedReplay = undefined;
  }

  /** Cuts the turn. */
  cut(why: "streaming" | "tools"): void {
    this.aborted ??= why;
    this.abort.abort();
  }

  /** Milliseconds since the start. */
  elapsed(): number {
    return Math.round(performance.now() - this.startedAt);
  }
}
