/**
 * `sandbox run`: one program, its streams passed through or gathered in one object.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  interruptible,
  printResult,
  UsageError,
} from "./command.ts";
import { inheritedEnvironment } from "./environment.ts";
import type { IsolationLevel } from "./isolation.ts";
import { joinPath, normalizePath } from "./paths.ts";
import { run, type RunOptions, type RunResult } from "./run.ts";

const LEVELS: readonly IsolationLevel[] = ["required", "preferred", "off"];

/** What a shell reports of a program whose reader went away: 128 and SIGPIPE. */
const NOBODY_READS = 141;

/**
 * Runs the program of a command line.
 *
 * @param flags The parsed command line.
 * @param io Where to read and write.
 * @returns The exit code.
 */
export async function runProgram(flags: Flags, io: CommandIo): Promise<number> {
  const [program] = flags.rest;
  if (program === undefined) {
    throw new UsageError(
      "Cannot run: no program is given",
      "sandbox run -- PROGRAM",
    );
  }
  const options = optionsOf(flags);
  const json = flags.on("json");
  const through = json
    ? undefined
    : new PassThrough(io, flags.integer("max-bytes"));
  const { value: result, exitCode } = await interruptible((signal) =>
    run(flags.rest, {
      ...options,
      ...through?.options,
      stdin: io.stdin,
      signal: through === undefined
        ? signal
        : AbortSignal.any([signal, through.nobodyReads]),
    })
  );
  if (json) printResult(io, { ...result });
  through?.finish();
  if (exitCode !== undefined) return exitCode;
  if (through?.nobodyReads.aborted) return NOBODY_READS;
  if (!json) tellEnd(io, program, result, options.timeoutMs);
  return result.timedOut ? 124 : result.code ?? 1;
}

function optionsOf(flags: Flags): RunOptions & { timeoutMs: number } {
  const [, extra] = flags.operands;
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot run: "${extra}" is left over`,
      `sandbox run -- ${extra}`,
    );
  }
  for (const name of flags.list("env")) {
    if (name === "" || /[=\0]/.test(name)) {
      throw new UsageError(
        `Cannot hand on a variable: "${name}" is not the name of one`,
        "--env NAME takes the value that it has here",
      );
    }
  }
  const absolute = (path: string): string =>
    normalizePath(joinPath(Deno.cwd(), path));
  return {
    env: inheritedEnvironment(flags.list("env")),
    timeoutMs: flags.integer("timeout-ms") ?? 30_000,
    maxBytes: flags.integer("max-bytes") ?? 1024 * 1024,
    isolation: {
      policy: {
        read: flags.list("read").map(absolute),
        write: flags.list("write").map(absolute),
        net: flags.on("net"),
      },
      level: flags.choice("isolation", LEVELS) ?? "required",
    },
  };
}

function tellEnd(
  io: CommandIo,
  program: string,
  result: RunResult,
  timeoutMs: number,
): void {
  if (result.timedOut) {
    io.err(
      `error: Cannot wait for "${program}": it ran longer than ${timeoutMs} ms and was killed; --timeout-ms N gives it more, 0 all the time it takes\n`,
    );
  } else if (result.signal !== null) {
    io.err(`error: "${program}" was ended by ${result.signal}\n`);
  }
}

/** What a wrapper says when it cannot start the program: told in our words instead. */
const WRAPPER = /^(?:bwrap|setsid|setpriv|landlock): /;

/** Kept of standard error, to see whether a wrapper has spoken. */
const KEPT_BYTES = 64 * 1024;

type Stream = "stdout" | "stderr";

/** Hands a program's output on as it comes. */
class PassThrough {
  readonly #io: CommandIo;
  readonly #maxBytes: number;
  readonly #passed: Record<Stream, number> = { stdout: 0, stderr: 0 };
  readonly #cut = new Set<Stream>();
  readonly #gone = new AbortController();
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #held = "";

  constructor(io: CommandIo, maxBytes = Infinity) {
    this.#io = io;
    this.#maxBytes = maxBytes;
  }

  /** What run() is to be told. */
  get options(): RunOptions {
    return {
      maxBytes: KEPT_BYTES,
      onStdout: (chunk) => this.#pass("stdout", chunk),
      onStderr: (chunk) => this.#take(chunk),
    };
  }

  /** Aborted when the reader has gone away. */
  get nobodyReads(): AbortSignal {
    return this.#gone.signal;
  }

  /** The program has ended: what was held back was its own, and what was cut is told. */
  finish(): void {
    if (this.#held !== "") this.#io.err(this.#held);
    for (const stream of this.#cut) {
      this.#io.err(
        `warning: ${stream} is cut after ${this.#maxBytes} bytes; --max-bytes N passes more on\n`,
      );
    }
  }

  /** A wrapper speaks first, and only when there will be nothing else. */
  #take(chunk: Uint8Array): void {
    if (this.#passed.stderr === 0 && this.#held === "") {
      const text = new TextDecoder().decode(chunk);
      if (WRAPPER.test(text)) {
        this.#held = text;
        return;
      }
    }
    const held = new TextEncoder().encode(this.#held);
    this.#held = "";
    if (held.length > 0) this.#pass("stderr", held);
    this.#pass("stderr", chunk);
  }

  #pass(stream: Stream, chunk: Uint8Array): void {
    const room = this.#maxBytes - this.#passed[stream];
    if (chunk.length > room) this.#cut.add(stream);
    const part = chunk.subarray(0, Math.max(0, room));
    this.#passed[stream] += part.length;
    if (part.length === 0) return;
    if (this.#io.bytes === undefined) {
      const text = this.#decoders[stream].decode(part, { stream: true });
      if (stream === "stdout") this.#io.out(text);
      else this.#io.err(text);
    } else if (!this.#io.bytes(stream, part)) this.#gone.abort();
  }
}
