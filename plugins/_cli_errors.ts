/**
 * How the commands of `plugins` end when they cannot do what they should.
 *
 * @module
 */
import {
  closest,
  describeFailure,
  type Failure,
  UsageError,
} from "@bulkhead/sandbox/command";
import { InstallError } from "./_install_error.ts";
import { quote, quoteWhole } from "./_text.ts";

/** The signals that end a command, with the exit code of one that they did. */
export const ENDING_SIGNALS: ReadonlyMap<Deno.Signal, number> = new Map(
  Deno.build.os === "windows"
    ? [["SIGINT", 130]]
    : [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]],
);

/** A person or the system has ended the command. */
export class InterruptedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("Interrupted");
    this.name = "InterruptedError";
    this.exitCode = exitCode;
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

/** What to tell of an error; an install says by its own code what went wrong. */
export function failureOf(error: unknown): Failure {
  const failure = describeFailure(error);
  return error instanceof InstallError
    ? { ...failure, code: error.code }
    : failure;
}

/** The error for plugins that are switched off. */
export function disabled(home: string): NotLoadedError {
  return new NotLoadedError(
    `Plugins are off: ${
      quoteWhole(`${home}/config.toml`)
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
