import { UsageError } from "./flags.ts";
import type { CommandIo } from "./io.ts";
import { plainOsError } from "./os_error.ts";
import { visible } from "./visible.ts";

/**
 * Prints a failure as one line, or as the JSON envelope.
 *
 * @param io Where to.
 * @param error What was thrown.
 * @param json Whether to print the envelope.
 * @returns The exit code: 2 for a {@linkcode UsageError}, else 1.
 *
 * @example Usage
 * ```ts
 * import { printFailure, processIo } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * let printed = "";
 * const io = { ...processIo(), err: (text: string) => void (printed += text) };
 * assertEquals(printFailure(io, new Error("Cannot do it"), false), 1);
 * assertEquals(printed, "error: Cannot do it\n");
 * ```
 */
export function printFailure(
  io: Pick<CommandIo, "out" | "err">,
  error: unknown,
  json: boolean,
): number {
  const { code, message, fix } = describeFailure(error);
  const detail = { code, message, ...fix ? { fix } : {} };
  // Names and paths in it are whoever's choice.
  const line = `${
    visible(
      `error: ${message}${fix && !message.includes(fix) ? `; ${fix}` : ""}`,
    )
  }\n`;
  // What cannot be written to one of the streams is told on the other; on neither, the exit code tells it.
  const told = json &&
    written(
      io.out,
      JSON.stringify({ schema: 1, ok: false, error: detail }) + "\n",
    );
  if (!told) written(io.err, line);
  return error instanceof UsageError ? 2 : 1;
}

function written(write: (text: string) => void, text: string): boolean {
  try {
    write(text);
    return true;
  } catch {
    return false;
  }
}

/** A failure in the words of the JSON envelope. */
export interface Failure {
  /** A stable word in snake_case, made from the error's class. */
  code: string;
  /** What was tried and found, on one line. */
  message: string;
  /** What to do. */
  fix?: string;
}

/**
 * What to tell of an error.
 *
 * @param error What was thrown.
 * @returns Code, message and fix; never a stack trace.
 *
 * @example Usage
 * ```ts
 * import { describeFailure } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(describeFailure(new RangeError("too\nlarge")), {
 *   code: "range_error",
 *   message: "too large",
 * });
 * ```
 */
export function describeFailure(error: unknown): Failure {
  if (!(error instanceof Error)) {
    return { code: "error", message: oneLine(String(error)) };
  }
  const code = error.name.replace(
    /([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g,
    "$1$2_",
  )
    .toLowerCase();
  const plain = plainOsError(error.message, ownHome(), ownCommand()) ??
    { message: error.message };
  const fix = "fix" in error && typeof error.fix === "string" && error.fix
    ? { fix: error.fix }
    : "flag" in error && typeof error.flag === "string"
    ? { fix: `run again with ${error.flag}` }
    : {};
  return { code, ...plain, message: oneLine(plain.message), ...fix };
}

/** The Bulkhead home of this command line, as far as it may be known without asking. */
function ownHome(): string | undefined {
  const at = Deno.args.findIndex((arg) => /^--home(?:=|$)/.test(arg));
  const given = at < 0
    ? undefined
    : /=(.*)$/s.exec(Deno.args[at] ?? "")?.[1] ?? Deno.args[at + 1];
  const data = env("XDG_DATA_HOME"), home = env("HOME") || env("USERPROFILE");
  const path = given || env("BULKHEAD_HOME") ||
    (data ? `${data}/bulkhead` : home && `${home}/.bulkhead`);
  if (!path || path.startsWith("/")) return path || undefined;
  try {
    return `${Deno.cwd()}/${path.replace(/^\.\//, "")}`;
  } catch {
    return undefined;
  }
}

/** The command that was typed, without what it was given. */
function ownCommand(): string | undefined {
  const [first = "", second = ""] = Deno.args;
  const words = [first, second].filter((word) => /^[a-z]+$/.test(word));
  return words[0] === first && first !== "" ? words.join(" ") : undefined;
}

function env(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").trim();
}

/**
 * Prints a result as the JSON envelope.
 *
 * @param io Where to.
 * @param result The fields beside `schema` and `ok`.
 *
 * @example Usage
 * ```ts
 * import { printResult } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * let printed = "";
 * printResult({ out: (text) => void (printed += text) }, { plugins: [] });
 * assertEquals(printed, '{"schema":1,"ok":true,"plugins":[]}\n');
 * ```
 */
export function printResult(
  io: Pick<CommandIo, "out">,
  result: Record<string, unknown>,
): void {
  io.out(JSON.stringify({ schema: 1, ok: true, ...result }) + "\n");
}
