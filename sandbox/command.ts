/**
 * What every command line of Bulkhead shares: where it writes and in which colours,
 * how it reads its flags, and how it says what went wrong.
 *
 * Standard output carries results, standard error everything else. With `--json`
 * one object is printed: `{"schema":1,"ok":true,…}` or
 * `{"schema":1,"ok":false,"error":{"code","message","fix"}}`. Exit codes: 0, 1 for a
 * failure, 2 for a command line that cannot be understood, 130 after Ctrl-C.
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

export * from "./command/closest.ts";
export * from "./command/failure.ts";
export * from "./command/flags.ts";
export * from "./command/interrupt.ts";
export * from "./command/io.ts";
export * from "./command/paint.ts";
export * from "./command/unknown_command.ts";
export * from "./command/visible.ts";
