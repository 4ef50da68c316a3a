/**
 * What every command line of Bulkhead shares: where it writes, how it reads its
 * flags, and how it says what went wrong.
 *
 * Standard output carries results, standard error everything else. With `--json`
 * one object is printed: `{"schema":1,"ok":true,…}` or
 * `{"schema":1,"ok":false,"error":{"code","message","fix"}}`. Exit codes: 0, 1 for a
 * failure, 2 for a command line that cannot be understood.
 *
 * @example A command with one flag
 * ```ts
 * import { parseFlags, UsageError } from "@bulkhead/sandbox/command";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const spec = { boolean: ["json"], string: ["home"] };
 * const flags = parseFlags(["list", "--home", "/srv"], spec);
 * assertEquals(flags.operands, ["list"]);
 * assertEquals(flags.text("home"), "/srv");
 * assertThrows(() => parseFlags(["--jsno"], spec), UsageError, "did you mean --json");
 * ```
 *
 * @module
 */

import { plainOsError } from "./os_error.ts";

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
 * @returns the streams.
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
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Cannot write the output: ${reason}; free some space or write it elsewhere`,
      { cause: error },
    );
  }
}

/**
 * A command line that cannot be understood; exit code 2.
 *
 * @example Usage
 * ```ts
 * import { UsageError } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(new UsageError("no command", "bulkhead help").fix, "bulkhead help");
 * ```
 */
export class UsageError extends TypeError {
  /** What to type instead. */
  readonly fix: string;

  /**
   * Creates the error.
   *
   * @param message What is wrong.
   * @param fix What to type instead.
   */
  constructor(message: string, fix: string) {
    super(message);
    this.name = "UsageError";
    this.fix = fix;
  }
}

/** The flags that a command knows. */
export interface FlagSpec {
  /** Flags without a value; each can be switched off by `--no-…`. */
  readonly boolean?: readonly string[];
  /** Flags with a value. */
  readonly string?: readonly string[];
  /** Flags with a value that may be given more than once. */
  readonly collect?: readonly string[];
  /** Short names, for example `{ h: "help" }`. */
  readonly alias?: Readonly<Record<string, string>>;
  /** Leave everything from the first operand on alone. */
  readonly stopEarly?: boolean;
}

/** A parsed command line. */
export interface Flags {
  /** What is not a flag. */
  readonly operands: string[];
  /** What stood after `--`. */
  readonly rest: string[];
  /** Whether a flag without a value was given. */
  on(name: string): boolean;
  /** Whether a flag without a value was switched off by `--no-…`. */
  off(name: string): boolean;
  /** A flag's value. */
  text(name: string): string | undefined;
  /** A flag's values, in order. */
  list(name: string): string[];
  /** A flag's value as a whole number of at least `min`. */
  integer(name: string, min?: number): number | undefined;
}

/**
 * Parses a command line strictly: an unknown flag, a missing value and a value that
 * is given twice are errors.
 *
 * @param args The arguments.
 * @param spec The flags.
 * @returns what was found.
 * @throws {UsageError} naming the flag, with the nearest known one.
 *
 * @example Usage
 * ```ts
 * import { parseFlags } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const flags = parseFlags(["-j", "a", "--", "-x"], {
 *   boolean: ["json"],
 *   alias: { j: "json" },
 * });
 * assertEquals(flags.on("json"), true);
 * assertEquals([flags.operands, flags.rest], [["a"], ["-x"]]);
 * ```
 */
export function parseFlags(args: readonly string[], spec: FlagSpec): Flags {
  const booleans = new Set(spec.boolean);
  const strings = new Set([...spec.string ?? [], ...spec.collect ?? []]);
  const collected = new Set(spec.collect);
  const known = [...booleans, ...strings];
  const values = new Map<string, string[]>();
  const switches = new Map<string, boolean>();
  const operands: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      rest.push(...args.slice(at + 1));
      break;
    }
    const [, dashes, written, inline] =
      /^(--?)([A-Za-z][^=]*)(?:=([^]*))?$/.exec(arg) ?? [];
    if (!dashes || written === undefined) {
      if (spec.stopEarly) {
        operands.push(...args.slice(at));
        break;
      }
      operands.push(arg);
      continue;
    }
    const name = spec.alias?.[written] ?? written;
    if (strings.has(name)) {
      const value = inline ?? args[++at];
      if (value === undefined) {
        throw new UsageError(
          `Cannot read the command line: --${name} needs a value`,
          `--${name} VALUE`,
        );
      }
      const before = values.get(name) ?? [];
      if (before.length > 0 && !collected.has(name)) {
        throw new UsageError(
          `Cannot read the command line: --${name} is given twice`,
          `give --${name} once`,
        );
      }
      values.set(name, [...before, value]);
    } else if (booleans.has(name) && inline === undefined) {
      switches.set(name, true);
    } else if (
      name.startsWith("no-") && booleans.has(name.slice(3)) &&
      inline === undefined
    ) {
      switches.set(name.slice(3), false);
    } else if (booleans.has(name)) {
      throw new UsageError(
        `Cannot read the command line: --${name} takes no value`,
        `--${name}`,
      );
    } else {
      const near = closest(name, known);
      throw new UsageError(
        `Cannot read the command line: "${arg}" is not a flag here${
          near ? `; did you mean --${near}?` : ""
        }`,
        near ? `--${near}` : "add --help to see the flags",
      );
    }
  }
  return {
    operands,
    rest,
    on: (name) => switches.get(name) === true,
    off: (name) => switches.get(name) === false,
    text: (name) => values.get(name)?.[0],
    list: (name) => values.get(name) ?? [],
    integer(name, min = 0): number | undefined {
      const text = values.get(name)?.[0];
      if (text === undefined) return undefined;
      const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isSafeInteger(value) && value >= min) return value;
      throw new UsageError(
        `Cannot read the command line: --${name} is "${text}"; it takes a whole number of at least ${min}`,
        `--${name} ${min}`,
      );
    },
  };
}

/**
 * The known word nearest to a mistyped one, if any is near enough to mean it.
 *
 * @param word What was typed.
 * @param known What could have been meant.
 * @returns the nearest word.
 *
 * @example Usage
 * ```ts
 * import { closest } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(closest("instal", ["list", "install"]), "install");
 * assertEquals(closest("xyz", ["list", "install"]), undefined);
 * ```
 */
export function closest(
  word: string,
  known: readonly string[],
): string | undefined {
  const ranked = known.map((name) => ({ name, distance: edits(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  const limit = Math.max(1, Math.floor(word.length / 3));
  return best && best.distance <= limit ? best.name : undefined;
}

/** Edit distance where a swap of neighbours counts once (optimal string alignment). */
function edits(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + cost,
      );
      if (
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      ) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/**
 * Prints a failure as one line, or as the JSON envelope.
 *
 * @param io Where to.
 * @param error What was thrown.
 * @param json Whether to print the envelope.
 * @returns the exit code: 2 for a {@linkcode UsageError}, else 1.
 *
 * @example Usage
 * ```ts
 * import { printFailure, processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * let printed = "";
 * const io = { ...processIo(), err: (text: string) => void (printed += text) };
 * assertEquals(printFailure(io, new Error("Cannot do it"), false), 1);
 * assertEquals(printed, "error: Cannot do it\n");
 * ```
 */
export function printFailure(
  io: Pick<CommandIo, "out" | "err">,
  error: unknown,
  json: boolean,
): number {
  const { code, message, fix } = describeFailure(error);
  const detail = { code, message, ...fix ? { fix } : {} };
  const line = `error: ${message}${
    fix && !message.includes(fix) ? `; ${fix}` : ""
  }\n`;
  // What cannot be written to one of the streams is told on the other; on neither, the exit code tells it.
  const told = json &&
    written(
      io.out,
      JSON.stringify({ schema: 1, ok: false, error: detail }) + "\n",
    );
  if (!told) written(io.err, line);
  return error instanceof UsageError ? 2 : 1;
}

function written(write: (text: string) => void, text: string): boolean {
  try {
    write(text);
    return true;
  } catch {
    return false;
  }
}

/** A failure in the words of the JSON envelope. */
export interface Failure {
  /** A stable word in snake_case, made from the error's class. */
  code: string;
  /** What was tried and found, on one line. */
  message: string;
  /** What to do. */
  fix?: string;
}

/**
 * What to tell of an error.
 *
 * @param error What was thrown.
 * @returns code, message and fix; never a stack trace.
 *
 * @example Usage
 * ```ts
 * import { describeFailure } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(describeFailure(new RangeError("too\nlarge")), {
 *   code: "range_error",
 *   message: "too large",
 * });
 * ```
 */
export function describeFailure(error: unknown): Failure {
  if (!(error instanceof Error)) {
    return { code: "error", message: oneLine(String(error)) };
  }
  const code = error.name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const plain = plainOsError(error.message) ?? { message: error.message };
  const fix = "fix" in error && typeof error.fix === "string" && error.fix
    ? { fix: error.fix }
    : "flag" in error && typeof error.flag === "string"
    ? { fix: `run again with ${error.flag}` }
    : {};
  return { code, ...plain, message: oneLine(plain.message), ...fix };
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").trim();
}

/**
 * Prints a result as the JSON envelope.
 *
 * @param io Where to.
 * @param result The fields beside `schema` and `ok`.
 *
 * @example Usage
 * ```ts
 * import { printResult } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * let printed = "";
 * printResult({ out: (text) => void (printed += text) }, { plugins: [] });
 * assertEquals(printed, '{"schema":1,"ok":true,"plugins":[]}\n');
 * ```
 */
export function printResult(
  io: Pick<CommandIo, "out">,
  result: Record<string, unknown>,
): void {
  io.out(JSON.stringify({ schema: 1, ok: true, ...result }) + "\n");
}
