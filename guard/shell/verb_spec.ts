/**
 * The shape of one row of the table of programs, and rows that many programs share.
 *
 * @module
 */
import type { EffectMode } from "../effect.ts";
import type { OptionGrammar } from "./options.ts";

/** What one program writes. */
export interface VerbSpec extends OptionGrammar {
  /**
   * Which operands it writes: all; the last of several; the last even when it is the only one;
   * all but the first; only the first; only the second.
   */
  operands?: "all" | "last" | "final" | "rest" | "first" | "second";
  /** How it touches them. */
  mode?: EffectMode;
  /** A link itself, not what it leads to, is touched when one of these options is given. */
  entry?: string;
  /** Operands are written only when one of these options is given. */
  onlyWith?: string;
  /** Nothing is written when one of these options is given. */
  unless?: string;
  /** Operands are not written when one of these options names what is written in their place. */
  instead?: string;
  /**
   * It writes below the directory it runs in, or below the one that is given here, unless an
   * option names another place.
   */
  here?: true | string;
  /** Nothing is written below that directory when one of these options or operands is given. */
  hereUnless?: string;
  /** Options whose value holds what is written behind a name: `html:out`, `cache_dir=x`. */
  named?: string;
  /** Operands of the form `from:to` write what stands behind the colon. */
  pairs?: boolean;
  /** Operands of the form `name=value` whose value is written: `of of2`. */
  sets?: string;
  /** Options that name an output by convention (`--x_out`, `--output-file`) count as well. */
  guess?: boolean;
  /** Specs of its sub-commands; options of the spec itself stand before them. */
  subs?: Readonly<Record<string, VerbSpec>>;
}

/** Every operand is written. */
export const ALL: VerbSpec = { operands: "all" };
/** The directory it runs in is written. */
export const HERE: VerbSpec = { here: true };
/** Nothing is written. */
export const READS: VerbSpec = {};
/** The usual options for another build directory. */
export const BUILD_DIR = "-C --directory";

/**
 * The same row for several programs.
 *
 * @param names Their names, with blanks between them.
 * @param spec The row.
 * @returns The rows by name.
 */
export function each(names: string, spec: VerbSpec): Record<string, VerbSpec> {
  return Object.fromEntries(names.split(" ").map((name) => [name, spec]));
}

/** Rows by program, made when one of them is first asked for. */
export type VerbTable = () => Readonly<Record<string, VerbSpec>>;

/**
 * Puts off the making of a table: most calls of a hook process need none.
 *
 * @param make Makes it.
 * @returns The table, made once.
 */
export function verbTable(make: VerbTable): VerbTable {
  let rows: ReturnType<VerbTable> | undefined;
  return () => rows ??= make();
}
