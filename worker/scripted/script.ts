/**
 * The script a scripted agent plays: what it says, which tools it calls, and
 * which faults it shows, turn by turn.
 *
 * Strings inside `say`, `think`, `result` and tool inputs may use `${cwd}`,
 * `${prompt}`, `${session}`, `${last}` (text of the last tool result) and
 * `${env.NAME}`.
 *
 * @module
 */

/** A whole script: one entry per turn, and what to do when they run out. */
export interface AgentScript {
  /** Format version; `1`. */
  schema: 1;
  /** Name shown in `doctor` and in errors. */
  name?: string;
  /** The turns, in the order in which prompts arrive. */
  turns: ScriptTurn[];
  /**
   * Steps for every prompt after the last turn.
   *
   * @default one `say` that repeats the prompt
   */
  otherwise?: ScriptStep[];
  /**
   * Cost that each model message adds to `total_cost_usd`.
   *
   * @default {0}
   */
  costUsd?: number;
  /**
   * Tokens per model message.
   *
   * @default { input: 10, output: 5 }
   */
  tokens?: {
    /** Input tokens per model message. */
    input: number;
    /** Output tokens per model message. */
    output: number;
  };
  /** Ends a turn with `error_max_turns` after this many model messages; `--max-turns` wins. */
  maxTurns?: number;
  /**
   * Whether SIGTERM is ignored, as a child that hangs would.
   *
   * @default {false}
   */
  ignoreTerm?: boolean;
  /**
   * Keeps running after stdin has closed, as a child that never ends would.
   *
   * @default {false}
   */
  ignoreEof?: boolean;
}

/** What one prompt makes the agent do. */
export interface ScriptTurn {
  /** Play this turn only for a prompt that holds this text. */
  match?: string;
  /** The steps, in order. */
  steps: ScriptStep[];
}

/** One step of a turn. Exactly one of the member interfaces. */
export type ScriptStep =
  | SayStep
  | ThinkStep
  | ToolStep
  | AskStep
  | MessageStep
  | RepeatStep
  | WaitStep
  | CronStep
  | EndStep
  | FaultStep;

/** A text block, streamed in pieces. */
export interface SayStep {
  /** The text. */
  say: string;
  /**
   * Code points per `text_delta`.
   *
   * @default {4}
   */
  chunk?: number;
  /**
   * Milliseconds between deltas.
   *
   * @default {0}
   */
  delayMs?: number;
}

/** A thinking block. */
export interface ThinkStep {
  /** The text of the thought. */
  think: string;
}

/** A tool call. `Write`, `Read`, `Edit`, `Bash`, `Task` and `mcp__…` really run. */
export interface ToolStep {
  /** Name as the model says it: `Write`, `Bash`, `Task`, `mcp__server__tool`, … */
  tool: string;
  /** The input object. */
  input?: Record<string, unknown>;
  /** Answer with this instead of running the tool; the permission checks still happen. */
  result?: ToolOutcome;
  /** `Task` only: what the subagent does. Its last `say` is the answer. */
  steps?: ScriptStep[];
  /** Background `Bash` or `Task`: the turn that starts by itself when it is done. */
  then?: ScriptStep[];
}

/** A canned tool result. */
export interface ToolOutcome {
  /** Text of the result. */
  content: string;
  /**
   * Whether it is an error.
   *
   * @default {false}
   */
  isError?: boolean;
}

/** A question to the person: `AskUserQuestion`. */
export interface AskStep {
  /** The question. */
  ask: string;
  /**
   * The answers to choose from.
   *
   * @default {["yes", "no"]}
   */
  options?: string[];
  /**
   * Short label.
   *
   * @default {"Question"}
   */
  header?: string;
}

/** Several blocks in one model message; its calls then run as the real child runs them. */
export interface MessageStep {
  /** `say`, `think`, `ask` and tool steps. */
  message: ScriptStep[];
}

/** The same steps several times. */
export interface RepeatStep {
  /** How many times. */
  repeat: number;
  /** What is repeated. */
  steps: ScriptStep[];
}

/** Time passes, with the model request open. */
export interface WaitStep {
  /** Milliseconds. */
  waitMs: number;
}

/** A turn that starts by itself later, without a mark, as a scheduled wake-up does. */
export interface CronStep {
  /** When, and what it plays. */
  cron: {
    /** Milliseconds from now. */
    afterMs: number;
    /** The steps of that turn. */
    steps: ScriptStep[];
  };
}

/** Ends the turn now, with this result. */
export interface EndStep {
  /** The result frame's fields. */
  end: {
    /** @default {"success"} */
    subtype?: string;
    /** @default {false} */
    isError?: boolean;
    /**
     * Text of `result`.
     *
     * @default the last text said
     */
    result?: string;
    /** Entries of `errors`. */
    errors?: string[];
    /** @default {"completed"} */
    terminalReason?: string;
  };
}

/** Something goes wrong, or something odd is on the wire. */
export interface FaultStep {
  /** The fault, by name. */
  fault: Fault;
}

/** The faults a script can show. */
export type Fault =
  | {
    /** `system/api_retry` frames with real pauses; the turn then goes on. */
    kind: "api_retry";
    /** @default {1} */
    attempts?: number;
    /** @default {50} */
    delayMs?: number;
    /**
     * `null` for a refused connection.
     *
     * @default {429}
     */
    status?: number | null;
  }
  | {
    /** The API error that ends the turn (`result/success` with `is_error`). */
    kind: "api_error";
    /**
     * HTTP status.
     *
     * @default {429}
     */
    status?: number;
  }
  | {
    /** An `assistant` line of about this many bytes. */
    kind: "big_line";
    /** Size in bytes. */
    bytes: number;
  }
  | {
    /** Bytes without a newline. */
    kind: "no_newline";
    /** Size in bytes. */
    bytes: number;
  }
  | {
    /** A line, verbatim. */
    kind: "malformed";
    /** @default {"this is not JSON"} */
    line?: string;
  }
  | {
    /** Raw bytes, verbatim, as hex digits. */
    kind: "raw";
    /** Hex digits. */
    hex: string;
  }
  | {
    /** One frame, as JSON. */
    kind: "frame";
    /** The frame. */
    frame: Record<string, unknown>;
  }
  | {
    /** Nothing for so long; without `ms` until the end. */
    kind: "silence";
    /** Milliseconds. */
    ms?: number;
  }
  | {
    /** The process ends at once. */
    kind: "exit";
    /** Exit code. */
    code: number;
    /** Written to stderr first. */
    stderr?: string;
  }
  | {
    /** The process is killed by its own signal. */
    kind: "killed";
  }
  | {
    /** Text on stderr, repeated to this many bytes. */
    kind: "stderr";
    /** Size in bytes. */
    bytes: number;
    /** @default {"scripted agent: stderr flood\n"} */
    text?: string;
  }
  | {
    /** A process in a session of its own that outlives the agent. */
    kind: "grandchild";
    /** Seconds that it lives. */
    seconds: number;
    /**
     * Whether it keeps our stdout open.
     *
     * @default {false}
     */
    holdStdout?: boolean;
    /** File that gets its pid. */
    pidFile?: string;
  }
  | {
    /** stdout is closed while the process lives on. */
    kind: "close_stdout";
  };

/** A script that is not well formed: names where and what. */
export class ScriptError extends SyntaxError {
  /**
   * Makes the error.
   *
   * @param message What was found where, and what is wanted.
   */
  constructor(message: string) {
    super(message);
    this.name = "ScriptError";
  }
}

/** The shortest script: every prompt is repeated back. */
export const ECHO_SCRIPT: AgentScript = { schema: 1, name: "echo", turns: [] };
