import { closest } from "./closest.ts";
import { UsageError } from "./flags.ts";

/**
 * What to say to a word that is none of a program's commands.
 *
 * @param program The program, as it is typed.
 * @param word What was typed after it.
 * @param known Its commands.
 * @returns The error, with the nearest command.
 *
 * @example Usage
 * ```ts
 * import { unknownCommand } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * const { message, fix } = unknownCommand("bulkhead guard", "stat", ["status", "log"]);
 * assertEquals(
 *   message,
 *   'Cannot read the command line: "stat" is not a command of bulkhead guard',
 * );
 * assertEquals(fix, "bulkhead guard --help");
 * assertEquals(unknownCommand("bulkhead", "rnu", ["run"]).fix, "bulkhead run");
 * ```
 */
export function unknownCommand(
  program: string,
  word: string,
  known: readonly string[],
): UsageError {
  const near = closest(word, known);
  return new UsageError(
    `Cannot read the command line: "${word}" is not a command of ${program}${
      near === undefined ? "" : `; did you mean "${near}"?`
    }`,
    `${program} ${near ?? "--help"}`,
  );
}
