/**
 * An agent without a process: a thousand of them fit into one test. Each turn asks once
 * and then says what was answered. What was run where and when is kept for counting.
 *
 * @module
 */
import type {
  AgentDriver,
  AgentEnd,
  AgentFrame,
  AgentStart,
  AgentStarted,
  AgentStatus,
  AgentTurn,
  AskAnswer,
} from "@bulkhead/worker";

/** One life of an agent: from its start to its end, on the clock of this process. */
export interface Life {
  session: string;
  host: string;
  began: number;
  ended: number;
}

/** What all agents of a test did. */
export class Counted {
  readonly lives: Life[] = [];
  /** How often a turn was run, by its id. */
  readonly runs = new Map<string, number>();
  /** How often a question was answered, by its id. */
  readonly answers = new Map<string, number>();

  /** Pairs of lives of one session that were there at the same time. */
  doubleWriters(): [Life, Life][] {
    const found: [Life, Life][] = [];
    for (const lives of Map.groupBy(this.lives, (l) => l.session).values()) {
      const sorted = lives.toSorted((a, b) => a.began - b.began);
      for (const [i, life] of sorted.entries()) {
        const next = sorted[i + 1];
        if (next !== undefined && next.began < life.ended) {
          found.push([life, next]);
        }
      }
    }
    return found;
  }
}

/** The agent. */
export class SimulatedAgent implements AgentDriver {
  readonly name = "scripted";
  readonly replays = true;
  readonly stampsTurns = true;
  readonly ended: Promise<AgentEnd>;
  readonly #counted: Counted;
  readonly #host: string;
  readonly #end = Promise.withResolvers<AgentEnd>();
  #queue: AgentFrame[] = [];
  #wake = Promise.withResolvers<void>();
  #life: Life | undefined;
  #over = false;

  constructor(counted: Counted, host: string) {
    this.#counted = counted;
    this.#host = host;
    this.ended = this.#end.promise;
  }

  start(options: AgentStart): Promise<AgentStarted> {
    const session = options.resume ?? options.sessionId ?? "";
    this.#life = {
      session,
      host: this.#host,
      began: performance.now(),
      ended: Infinity,
    };
    this.#counted.lives.push(this.#life);
    return Promise.resolve({
      sessionId: session,
      gate: { kind: "callback", verified: true, detail: "simulated" },
    });
  }

  send(turn: AgentTurn): Promise<number> {
    const uuid = turn.uuid ?? crypto.randomUUID();
    this.#counted.runs.set(uuid, (this.#counted.runs.get(uuid) ?? 0) + 1);
    this.#say(
      { kind: "user_echo", source: "replay", text: turn.text, uuid },
      { kind: "assistant", text: "may I?" },
      {
        kind: "control_request",
        request_id: `ask-${uuid}`,
        subtype: "can_use_tool",
        tool_name: "Write",
        input: { file_path: "a.txt" },
      },
    );
    return Promise.resolve(turn.text.length);
  }

  answer(askId: string, answer: AskAnswer): void {
    const { answers } = this.#counted;
    answers.set(askId, (answers.get(askId) ?? 0) + 1);
    this.#say(
      { kind: "assistant", text: answer.decision },
      {
        kind: "result",
        subtype: "success",
        result: answer.decision,
        is_error: false,
      },
    );
  }

  interrupt(): Promise<void> {
    return Promise.resolve();
  }

  async *frames(): AsyncGenerator<readonly AgentFrame[], void, undefined> {
    while (!this.#over || this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      if (batch.length > 0) yield batch;
      else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
  }

  status(): AgentStatus {
    return { pid: null, alive: !this.#over, exitCode: null, signal: null };
  }

  close(): Promise<AgentEnd> {
    if (!this.#over) {
      this.#over = true;
      if (this.#life) this.#life.ended = performance.now();
      this.#wake.resolve();
      this.#end.resolve({ code: 0, signal: null, stderrTail: "", by: "eof" });
    }
    return this.ended;
  }

  #say(...frames: AgentFrame["frame"][]): void {
    if (this.#over) return;
    this.#queue.push(
      ...frames.map((frame) => ({ frame, raw: JSON.stringify(frame) })),
    );
    this.#wake.resolve();
  }
}
