/** How the commands of `plugins` end when they cannot do what they should. @module */
import { closest, UsageError } from "@bulkhead/sandbox/command";
import { printable, quote } from "./_text.ts";

/** A person or the system has ended the command. */
export class InterruptedError extends Error {
  constructor() {
    super("Interrupted");
    this.name = "InterruptedError";
  }
}

/** Nothing is loaded where something was needed. */
export class NotLoadedError extends Error {
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.name = "NotLoadedError";
    this.fix = fix;
  }
}

/** The error for plugins that are switched off. */
export function disabled(home: string): NotLoadedError {
  return new NotLoadedError(
    `Plugins are off: ${
      quote(`${home}/config.toml`, 1000)
    } does not enable them`,
    "write [capabilities.plugins] enabled = true and [capabilities.trust] enabled = true into it",
  );
}

/** An error for a word that is none of the known ones; `meant` is the one that is likely meant. */
export function unknownWord(
  what: string,
  word: string,
  known: readonly string[],
  meant?: string,
): UsageError {
  if (known.length === 0) {
    return new UsageError(
      `Cannot read the command line: ${
        quote(word)
      } is no ${what}, and there is none`,
      "bulkhead plugins list",
    );
  }
  const near = meant ?? closest(word, known);
  return new UsageError(
    `Cannot read the command line: ${quote(word)} is no ${what}${
      near === undefined ? "" : `; did you mean "${near}"?`
    }`,
    `one of ${known.join(", ")}`,
  );
}

/** What the system's words stand for in a sentence. */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ["mkdir", "create the directory"],
  ["open", "open"],
  ["readdir", "list"],
  ["readfile", "read"],
  ["readlink", "read the link"],
  ["realpath", "find"],
  ["remove", "remove"],
  ["rename", "rename"],
  ["stat", "look at"],
  ["lstat", "look at"],
]);

/** A bare error of the system as one that says what was tried and what to do; any other error as it is. */
export function systemFailure(error: unknown, verb: string): unknown {
  if (
    !(error instanceof Error) || error instanceof Deno.errors.NotCapable
  ) return error;
  const [, reason, operation = "", path] =
    /^([^:]+) \(os error \d+\)(?:: (\w+) '(.*)')?$/s.exec(error.message) ?? [];
  if (reason === undefined) return error;
  const what = path === undefined
    ? `run plugins ${printable(verb)}`
    : `${OPERATIONS.get(operation) ?? operation} ${quote(path, 1000)}`;
  return new SystemError(
    `Cannot ${what}: ${reason.toLowerCase()}`,
    path === undefined
      ? "free some space or write it elsewhere"
      : "name another place, or make this one usable",
    error,
  );
}

/** What the system refused. */
class SystemError extends Error {
  readonly fix: string;

  constructor(message: string, fix: string, cause: Error) {
    super(message, { cause });
    // The word of the JSON envelope stays the system's.
    this.name = cause.name;
    this.fix = fix;
  }
}
