import { closest } from "./closest.ts";

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
  /** A flag's value, which has to be one of some words. */
  choice<Word extends string>(
    name: string,
    words: readonly Word[],
  ): Word | undefined;
  /** A flag's value as a whole number of at least `min`. */
  integer(name: string, min?: number): number | undefined;
}

/**
 * Parses a command line strictly: an unknown flag, a missing value and a value that
 * is given twice are errors.
 *
 * @param args The arguments.
 * @param spec The flags.
 * @returns What was found.
 * @throws {UsageError} Naming the flag, with the nearest known one.
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
  const collected = new Set(spec.collect);
  const strings = new Set([...spec.string ?? [], ...collected]);
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
    const [, written, inline] = FLAG.exec(arg) ?? [];
    if (written === undefined) {
      operands.push(...spec.stopEarly ? args.slice(at) : [arg]);
      if (spec.stopEarly) break;
      continue;
    }
    const name = spec.alias?.[written] ?? written;
    const positive = name.replace(/^no-/, "");
    if (strings.has(name)) {
      const value = inline ?? args[++at];
      if (value === undefined) {
        throw unreadable(`--${name} needs a value`, `--${name} VALUE`);
      }
      const before = values.get(name) ?? [];
      if (before.length > 0 && !collected.has(name)) {
        throw unreadable(`--${name} is given twice`, `give --${name} once`);
      }
      values.set(name, [...before, value]);
    } else if (booleans.has(name) && inline === undefined) {
      switches.set(name, true);
    } else if (booleans.has(positive) && inline === undefined) {
      switches.set(positive, false);
    } else if (booleans.has(name)) {
      throw unreadable(`--${name} takes no value`, `--${name}`);
    } else {
      throw unknown(arg, closest(name, [...booleans, ...strings]));
    }
  }
  return { operands, rest, ...readers(values, switches) };
}

/** One or two dashes, a name, and perhaps a value behind an equals sign. */
const FLAG = /^--?([A-Za-z][^=]*)(?:=([^]*))?$/;

function readers(
  values: ReadonlyMap<string, string[]>,
  switches: ReadonlyMap<string, boolean>,
): Omit<Flags, "operands" | "rest"> {
  const text = (name: string) => values.get(name)?.[0];
  return {
    on: (name) => switches.get(name) === true,
    off: (name) => switches.get(name) === false,
    text,
    list: (name) => values.get(name) ?? [],
    choice(name, words) {
      const given = text(name);
      const word = words.find((word) => word === given);
      if (given === undefined || word !== undefined) return word;
      const choices = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
      throw unreadable(
        `--${name} is "${given}"; it takes ${choices}`,
        `--${name} ${choices}`,
      );
    },
    integer(name, min = 0): number | undefined {
      const given = text(name);
      if (given === undefined) return undefined;
      const value = /^-?\d+$/.test(given) ? Number(given) : Number.NaN;
      if (Number.isSafeInteger(value) && value >= min) return value;
      throw unreadable(
        `--${name} is "${given}"; it takes a whole number of at least ${min}`,
        `--${name} ${min}`,
      );
    },
  };
}

function unknown(arg: string, near: string | undefined): UsageError {
  return unreadable(
    `"${arg}" is not a flag here${near ? `; did you mean --${near}?` : ""}`,
    near ? `--${near}` : "add --help to see the flags",
  );
}

function unreadable(found: string, fix: string): UsageError {
  return new UsageError(`Cannot read the command line: ${found}`, fix);
}
