/**
 * What the verbs of `bulkhead guard` share.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  parseFlags,
} from "@bulkhead/sandbox/command";

/** One verb. */
export interface Verb {
  /** How it is called. */
  readonly usage: string;
  /** What it does, on one line. */
  readonly summary: string;
  /** More help, line by line. */
  readonly help?: readonly string[];
  /** Command lines as people type them. */
  readonly examples: readonly string[];
  /** Its flags, besides the common ones. */
  readonly flags: FlagSpec;
  /** Runs it. */
  run(flags: Flags, io: CommandIo): Promise<number>;
}

/** The flags every verb knows. */
const COMMON: FlagSpec = {
  boolean: ["json", "help"],
  string: ["home"],
  alias: { j: "json", h: "help" },
};

/** Parses a verb's arguments. */
export function parseVerb(verb: Verb, args: readonly string[]): Flags {
  return parseFlags(args, {
    ...verb.flags,
    boolean: [...COMMON.boolean ?? [], ...verb.flags.boolean ?? []],
    string: [...COMMON.string ?? [], ...verb.flags.string ?? []],
    alias: { ...COMMON.alias, ...verb.flags.alias },
  });
}

/** Colours a text for a terminal. */
export function paint(
  io: CommandIo,
  colour: "red" | "green" | "yellow" | "dim" | "bold",
  text: string,
): string {
  if (!io.color) return text;
  const codes = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };
  return `\x1b[${codes[colour]}m${text}\x1b[0m`;
}

/** Control characters but tab and newline, which a terminal would obey. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/** A text from outside, safe to print on a terminal: control characters are shown as such. */
export function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) =>
      `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
