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
