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
