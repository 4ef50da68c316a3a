/**
 * The agent's process: its environment, a queue to its stdin, its lines, the end of its stderr, its end.
 *
 * @module
 */

import {
  endsWithin,
  isLoaderVariable,
  type IsolationOptions,
  type ManagedProcess,
  requirePermissions,
  startProcess,
} from "@bulkhead/sandbox";
import {
  AgentBusyError,
  type AgentEnd,
  type AgentStatus,
} from "./agents/driver.ts";
import { AGENT_VARIABLE, watchAgent } from "./agent_watchdog.ts";
import { LineReader } from "./line_reader.ts";
import { Tail } from "./tail.ts";

export type {
  IsolationLevel,
  IsolationOptions,
  IsolationPolicy,
} from "@bulkhead/sandbox";

/** One line of the agent's output. */
export interface AgentLine {
  /** The text; only its beginning when the line was cut. */
  readonly text: string;
  /** The bytes of the text, valid until the next batch is asked for. */
  readonly bytes: Uint8Array;
  /** The length of the whole line in bytes. */
  readonly size: number;
  /** True when the line was longer than is kept. */
  readonly cut: boolean;
}

/** Options of {@linkcode AgentChild.start}. */
export interface AgentChildOptions {
  /** The working directory. */
  cwd: string;
  /** The whole environment. */
  env: Record<string, string>;
  /**
   * How many bytes of turns may wait for the agent.
   *
   * @default {33554432}
   */
  maxQueueBytes?: number;
  /**
   * How many bytes of one line are kept.
   *
   * @default {67108864}
   */
  maxLineBytes?: number;
  /**
   * What the agent gets when our process dies.
   *
   * @default {"SIGTERM"}
   */
  parentDeath?: "SIGTERM" | "SIGKILL" | "none";
  /**
   * Have what the agent starts ended even when our process is killed and the agent does not see to it.
   *
   * @default {false}
   */
  watchdog?: boolean;
  /** Confine the agent by the operating system; not confined by default. */
  isolation?: IsolationOptions;
}

/** How long output may stay silent after the process has ended before it is given up. */
const DRAIN_MS = 300;

/** How long the process may live on after it has closed its output or its input. */
const LINGER_MS = 2000;

/** How many bytes of stderr are kept. */
const STDERR_TAIL_CAP = 8192;

/** Session markers of an agent that we may have been started by; inherited, they make the child refuse or mislead it. */
const SESSION_MARKERS =
  /^(?:CLAUDECODE|CLAUDE_(?:ENV_FILE|PROJECT_DIR)|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT|SESSION|PARENT|CHILD|REMOTE|CONTAINER|AGENT|TEAM|TASK|MESSAGING|EMIT|EXECPATH|IS_|ACTION|WORKER|ENVIRONMENT_).*|LANGFUSE_PI_PARENT_.*)$/;

/**
 * The environment of an agent: everything of ours, because agents need their keys and proxies, but no loader variables
 * and no marks of a session that we ourselves run in.
 *
 * Needs `--allow-env`.
 *
 * @param extra Variables to set on top.
 * @returns A new object.
 *
 * @example A nested session
 * ```ts
 * import { agentEnvironment } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * Deno.env.set("CLAUDECODE", "1");
 * assertEquals(agentEnvironment({ A: "b" }).CLAUDECODE, undefined);
 * ```
 */
export function agentEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  requirePermissions("Reading the environment for the agent", [{
    name: "env",
  }]);
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(Deno.env.toObject())) {
    if (!SESSION_MARKERS.test(name) && !isLoaderVariable(name)) {
      env[name] = value;
    }
  }
  return { ...env, ...extra };
}

/**
 * A long-lived agent process that speaks in lines.
 *
 * Answers go before turns, each line is written whole, and nothing that reads or writes ever waits for the agent: what
 * it does not take is queued up to a bound.
 */
export class AgentChild {
  /** Resolves when the process has ended and its output is drained. */
  readonly ended: Promise<AgentEnd>;
  readonly #process: ManagedProcess;
  readonly #release: (() => Promise<void>) | undefined;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: LineReader;
  readonly #tail = new Tail(STDERR_TAIL_CAP);
  readonly #maxQueue: number;
  readonly #urgent: Uint8Array<ArrayBuffer>[] = [];
  readonly #turns: Uint8Array<ArrayBuffer>[] = [];
  #queued = 0;
  #writing = false;
  #closed = false;
  #exit: { code: number | null; signal: string | null } | undefined;
  #by: AgentEnd["by"] = "itself";
  #closing: Promise<AgentEnd> | undefined;

  private constructor(
    process: ManagedProcess,
    options: AgentChildOptions,
    release?: () => Promise<void>,
  ) {
    this.#process = process;
    this.#release = release;
    this.#input = process.stdin.getWriter();
    this.#input.closed.catch(() => {});
    this.#maxQueue = options.maxQueueBytes ?? 33_554_432;
    this.#lines = new LineReader(
      process.stdout,
      options.maxLineBytes ?? 67_108_864,
    );
    const errors = this.#readErrors(process.stderr);
    this.ended = this.#watch(errors);
  }

  /**
   * Starts an agent.
   *
   * @param argv The program and its arguments.
   * @param options Directory, environment, bounds.
   * @returns The running child.
   * @throws {Deno.errors.NotFound} When the program or the directory does not exist.
   */
  static async start(
    argv: readonly string[],
    options: AgentChildOptions,
  ): Promise<AgentChild> {
    const program = argv[0];
    if (program === undefined || program === "") {
      throw new TypeError("Cannot start the agent: no argv given");
    }
    const mark = options.watchdog === true ? crypto.randomUUID() : undefined;
    const release = mark === undefined ? undefined : await watchAgent(mark);
    let process: ManagedProcess;
    try {
      process = await startProcess(argv, {
        cwd: options.cwd,
        env: mark === undefined
          ? options.env
          : { ...options.env, [AGENT_VARIABLE]: mark },
        parentDeath: options.parentDeath ?? "SIGTERM",
        ...options.isolation === undefined
          ? {}
          : { isolation: options.isolation },
      });
    } catch (error) {
      await release?.();
      throw error;
    }
    return new AgentChild(process, options, release);
  }

  /** The process id. */
  get pid(): number {
    return this.#process.pid;
  }

  /** How the process stands. */
  get status(): AgentStatus {
    return {
      pid: this.pid,
      alive: this.#exit === undefined,
      exitCode: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
    };
  }

  /** What confines the process; `none` when nothing does. */
  get confinedBy(): string {
    return this.#process.isolation;
  }

  /** The end of what the process wrote to stderr. */
  get stderrTail(): string {
    return this.#tail.text;
  }

  /** How many bytes wait for the agent. */
  get queuedBytes(): number {
    return this.#queued;
  }

  /**
   * The lines of the output, a batch per read, to the end.
   *
   * @returns The batches; one reader only.
   */
  lines(): AsyncGenerator<readonly AgentLine[], void, undefined> {
    return this.#lines.batches();
  }

  /**
   * Queues a turn.
   *
   * @param line One JSON line without its newline.
   * @returns Its length in bytes with the newline.
   * @throws {AgentBusyError} When the queue is full.
   * @throws {Deno.errors.BrokenPipe} When the agent takes no more input.
   */
  writeTurn(line: string): number {
    const bytes = this.#encode(line);
    if (this.#queued > 0 && this.#queued + bytes.length > this.#maxQueue) {
      throw new AgentBusyError(this.#queued, this.#maxQueue);
    }
    this.#turns.push(bytes);
    this.#pump(bytes.length);
    return bytes.length;
  }

  /**
   * Queues an answer or a request of ours, before all waiting turns.
   *
   * @param line One JSON line without its newline.
   * @throws {Deno.errors.BrokenPipe} When the agent takes no more input.
   */
  writeUrgent(line: string): void {
    const bytes = this.#encode(line);
    this.#urgent.push(bytes);
    this.#pump(bytes.length);
  }

  /**
   * Ends the process for sure and everything below it.
   *
   * @param options How long to wait after closing stdin and after TERM.
   * @returns How it ended.
   */
  close(options: { eofMs?: number; termMs?: number } = {}): Promise<AgentEnd> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(
    options: { eofMs?: number; termMs?: number },
  ): Promise<AgentEnd> {
    this.#closed = true;
    const report = await this.#process.end({
      eofMs: options.eofMs ?? 3000,
      termMs: options.termMs ?? 5000,
    });
    this.#by = report.by === "exit" ? "itself" : report.by;
    const end = await this.ended;
    return { ...end, by: this.#by };
  }

  #encode(line: string): Uint8Array<ArrayBuffer> {
    if (this.#closed || this.#exit !== undefined) {
      throw new Deno.errors.BrokenPipe(
        "Cannot write to the agent: its standard input is closed",
      );
    }
    // Agents that read lines with Node's or Bun's readline would end one at these two. In JSON they stand in strings only.
    const safe = line.replaceAll("\u2028", "\\u2028").replaceAll(
      "\u2029",
      "\\u2029",
    );
    return new TextEncoder().encode(safe + "\n");
  }

  #pump(added: number): void {
    this.#queued += added;
    if (this.#writing) return;
    this.#writing = true;
    this.#writeAll().catch(() => this.#deaf()).catch(() => {
      // Its end is told by its status.
    });
  }

  /** It takes nothing in any more: no turn, and no verdict on a call. What it has begun is over soon, or is ended. */
  async #deaf(): Promise<void> {
    this.#closed = true;
    this.#urgent.length = this.#turns.length = this.#queued = 0;
    if (this.#closing === undefined) await this.#endUnless(LINGER_MS);
  }

  async #endUnless(graceMs: number): Promise<void> {
    if (await endsWithin(this.#process.status, graceMs)) return;
    const { by } = await this.#process.end({ eofMs: 0 });
    if (by !== "exit") this.#by = by;
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      const next = this.#urgent.shift() ?? this.#turns.shift();
      if (next === undefined) {
        // At once: what is queued a microtask later has to find no writer.
        this.#writing = false;
        return;
      }
      await this.#input.write(next);
      this.#queued -= next.length;
    }
  }

  async #readErrors(stream: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of stream) this.#tail.push(chunk);
    } catch {
      // The tail is what it is.
    }
  }

  async #watch(errors: Promise<void>): Promise<AgentEnd> {
    const first = await Promise.race([
      this.#process.status.then(() => "exit" as const),
      this.#lines.ended.then(() => "output" as const),
    ]);
    if (first === "output") await this.#endUnless(LINGER_MS);
    const status = await this.#process.status;
    this.#exit = { code: status.code, signal: status.signal };
    this.#closed = true;
    // A grandchild may hold the output open for ever; what the agent wrote is there by now.
    await this.#lines.drain(DRAIN_MS);
    await endsWithin(errors, DRAIN_MS);
    // Nothing of it may live on, and our ends of its pipes are let go.
    await this.#process.end({ eofMs: 0 });
    await this.#release?.();
    return {
      code: status.code,
      signal: status.signal,
      stderrTail: this.#tail.text,
      by: this.#by,
    };
  }
}
