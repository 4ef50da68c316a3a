import { reasonOf } from "../reason.ts";

/** Where a command reads and writes. */
export interface CommandIo {
  /** Standard input. */
  readonly stdin: ReadableStream<Uint8Array>;
  /** Writes to standard output. */
  out(text: string): void;
  /** Writes to standard error. */
  err(text: string): void;
  /**
   * Writes bytes as they are, at once; false when nobody reads them any more. Without it
   * bytes are written as text.
   */
  bytes?(stream: "stdout" | "stderr", chunk: Uint8Array): boolean;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Whether standard input is a terminal, so that a person can be asked. */
  readonly canAsk: boolean;
  /** Whether to colour what is printed on standard output. */
  readonly color: boolean;
  /** Whether who read standard output has gone: a command that only shows things may end. */
  readonly unread?: boolean;
}

/**
 * The process's own streams. Colour only on a terminal that is not dumb, and never with
 * `NO_COLOR`.
 *
 * Needs no permission; without `--allow-env=NO_COLOR,TERM` nothing is coloured.
 *
 * @returns The streams.
 *
 * @example Usage
 * ```ts
 * import { processIo } from "@bulkhead/sandbox/command";
 *
 * processIo().err("working\n");
 * ```
 */
export function processIo(): CommandIo {
  const isTerminal = Deno.stdout.isTerminal();
  let unread = false;
  return {
    get stdin(): ReadableStream<Uint8Array> {
      return Deno.stdin.readable;
    },
    out(text) {
      const taken = writeAll(Deno.stdout, new TextEncoder().encode(text));
      if (!taken) unread = true;
    },
    err: (text) => void writeAll(Deno.stderr, new TextEncoder().encode(text)),
    bytes: (stream, chunk) => writeAll(Deno[stream], chunk),
    isTerminal,
    canAsk: isTerminal && Deno.stdin.isTerminal(),
    color: isTerminal && !noColor(),
    get unread(): boolean {
      return unread;
    },
  };
}

function noColor(): boolean {
  try {
    return Boolean(Deno.env.get("NO_COLOR")) ||
      Deno.env.get("TERM") === "dumb";
  } catch {
    return true;
  }
}

/** A reader that has gone away ends the output, not the program; false then. */
function writeAll(
  sink: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): boolean {
  let at = 0;
  try {
    while (at < bytes.length) at += sink.writeSync(bytes.subarray(at));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    const reason = reasonOf(error);
    throw new Error(
      `Cannot write the output: ${reason}; free some space or write it elsewhere`,
      { cause: error },
    );
  }
}
