import { reasonOf } from "../reason.ts";

/** Where a command reads and writes. */
export interface CommandIo {
  /** Standard input. */
  readonly stdin: ReadableStream<Uint8Array>;
  /** Writes to standard output. */
  out(text: string): void;
  /** Writes to standard error. */
  err(text: string): void;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Whether standard input is a terminal, so that a person can be asked. */
  readonly canAsk: boolean;
  /** Whether to colour what is printed on standard output. */
  readonly color: boolean;
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
  return {
    get stdin(): ReadableStream<Uint8Array> {
      return Deno.stdin.readable;
    },
    out: (text) => writeAll(Deno.stdout, text),
    err: (text) => writeAll(Deno.stderr, text),
    isTerminal,
    canAsk: isTerminal && Deno.stdin.isTerminal(),
    color: isTerminal && !noColor(),
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

/** A reader that has gone away ends the output, not the program. */
function writeAll(
  sink: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  try {
    while (at < bytes.length) at += sink.writeSync(bytes.subarray(at));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return;
    const reason = reasonOf(error);
    throw new Error(
      `Cannot write the output: ${reason}; free some space or write it elsewhere`,
      { cause: error },
    );
  }
}
