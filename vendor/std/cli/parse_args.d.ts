/** What a command line was parsed to: flags by name, operands under `_`. */
export interface ParsedArgs {
  /** The operands, in order. */
  _: (string | number)[];
  /** What stood after `--`, when `"--": true` was asked for. */
  "--"?: string[];
  /** Every flag by name. */
  [name: string]: unknown;
}
/** Options of {@linkcode parseArgs}. */
export interface ParseOptions {
  /** Keep what follows `--` apart. */
  "--"?: boolean;
  /** Alternative names of flags. */
  alias?: Record<string, string | string[]>;
  /** Flags that take no value. */
  boolean?: boolean | string | string[];
  /** Flags that take a value. */
  string?: string | string[];
  /** Flags that may be given many times. */
  collect?: string | string[];
  /** Values of absent flags. */
  default?: Record<string, unknown>;
  /** Flags that `--no-x` switches off. */
  negatable?: string | string[];
  /** Stop at the first operand. */
  stopEarly?: boolean;
  /** Called for each unknown flag; `false` leaves it out. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}
/** Parses a command line. */
export function parseArgs(args: string[], options?: ParseOptions): ParsedArgs;
