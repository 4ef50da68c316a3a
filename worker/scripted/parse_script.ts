/**
 * Reads a script: what comes from a file is checked field by field before anything is played.
 *
 * @module
 */

import {
  type AgentScript,
  type AskStep,
  type EndStep,
  type Fault,
  ScriptError,
  type ScriptStep,
  type ScriptTurn,
  type ToolOutcome,
  type ToolStep,
} from "./script.ts";
import { isJson, type Json } from "./output.ts";

type Row = Readonly<Json>;

/** What a field has to be, and how it is called in errors. */
type Reader<T> = (value: unknown, at: string, key: string) => T;

/**
 * Checks a value read from a script file.
 *
 * @param value The parsed JSON.
 * @returns The script; what it has beyond a script's fields is left out.
 * @throws {ScriptError} When it is not one.
 *
 * @example
 * ```ts
 * import { parseScript } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const script = parseScript({ schema: 1, turns: [{ steps: [{ say: "hello" }] }] });
 * assertEquals(script.turns.length, 1);
 * ```
 */
export function parseScript(value: unknown): AgentScript {
  const at = "script";
  const root = rowOf(value, at);
  if (root.schema !== 1) throw problem(at, "schema", root.schema, "1");
  const turns = listOf(root.turns, at, "turns").map(
    (turn, i): ScriptTurn => {
      const at = `turns[${i}]`;
      const row = rowOf(turn, at);
      return {
        ...optional("match", row, at, textOf),
        steps: stepsOf(row.steps, at, "steps"),
      };
    },
  );
  return {
    schema: 1,
    turns,
    ...optional("name", root, at, textOf),
    ...optional("otherwise", root, at, stepsOf),
    ...optional("costUsd", root, at, numberOf),
    ...optional("tokens", root, at, tokensOf),
    ...optional("maxTurns", root, at, numberOf),
    ...optional("ignoreTerm", root, at, flagOf),
    ...optional("ignoreEof", root, at, flagOf),
  };
}

function tokensOf(value: unknown): { input: number; output: number } {
  const row = rowOf(value, "tokens");
  return {
    input: numberOf(row.input, "tokens", "input"),
    output: numberOf(row.output, "tokens", "output"),
  };
}

function stepsOf(value: unknown, at: string, key: string): ScriptStep[] {
  return listOf(value, at, key).map((step, i) =>
    stepOf(step, `${at}.${key}[${i}]`)
  );
}

function stepOf(value: unknown, at: string): ScriptStep {
  const step = rowOf(value, at);
  if ("say" in step) {
    return {
      say: textOf(step.say, at, "say"),
      ...optional("chunk", step, at, numberOf),
      ...optional("delayMs", step, at, numberOf),
    };
  }
  if ("think" in step) return { think: textOf(step.think, at, "think") };
  if ("tool" in step) return toolOf(step, at);
  if ("ask" in step) return askOf(step, at);
  if ("message" in step) {
    return { message: stepsOf(step.message, at, "message") };
  }
  if ("repeat" in step) {
    return {
      repeat: numberOf(step.repeat, at, "repeat"),
      steps: stepsOf(step.steps, at, "steps"),
    };
  }
  if ("waitMs" in step) return { waitMs: numberOf(step.waitMs, at, "waitMs") };
  if ("cron" in step) {
    const inside = `${at}.cron`;
    const cron = rowOf(step.cron, inside);
    return {
      cron: {
        afterMs: numberOf(cron.afterMs, inside, "afterMs"),
        steps: stepsOf(cron.steps, inside, "steps"),
      },
    };
  }
  if ("end" in step) return { end: endOf(step.end, `${at}.end`) };
  if ("fault" in step) return { fault: faultOf(step.fault, `${at}.fault`) };
  throw new ScriptError(
    `Cannot play ${at}: found keys "${Object.keys(step).join(", ")}", ` +
      `want one of say, think, tool, ask, message, repeat, waitMs, cron, end, fault`,
  );
}

function askOf(step: Row, at: string): AskStep {
  return {
    ask: textOf(step.ask, at, "ask"),
    ...optional("options", step, at, textsOf),
    ...optional("header", step, at, textOf),
  };
}

function toolOf(step: Row, at: string): ToolStep {
  return {
    tool: textOf(step.tool, at, "tool"),
    ...optional("input", step, at, objectOf),
    ...optional("result", step, at, outcomeOf),
    ...optional("steps", step, at, stepsOf),
    ...optional("then", step, at, stepsOf),
  };
}

function outcomeOf(value: unknown, at: string, key: string): ToolOutcome {
  const inside = `${at}.${key}`;
  const row = rowOf(value, inside);
  return {
    content: textOf(row.content, inside, "content"),
    ...optional("isError", row, inside, flagOf),
  };
}

function endOf(value: unknown, at: string): EndStep["end"] {
  const row = rowOf(value, at);
  return {
    ...optional("subtype", row, at, textOf),
    ...optional("isError", row, at, flagOf),
    ...optional("result", row, at, textOf),
    ...optional("errors", row, at, textsOf),
    ...optional("terminalReason", row, at, textOf),
  };
}

/** How the fields of each fault are read, by its name. */
const FAULTS: {
  readonly [K in Fault["kind"]]: (
    row: Row,
    at: string,
  ) => Extract<Fault, { kind: K }>;
} = {
  "api_retry": (row, at) => ({
    kind: "api_retry",
    ...optional("attempts", row, at, numberOf),
    ...optional("delayMs", row, at, numberOf),
    ...optional("status", row, at, statusOf),
  }),
  "api_error": (row, at) => ({
    kind: "api_error",
    ...optional("status", row, at, numberOf),
  }),
  "big_line": (row, at) => ({
    kind: "big_line",
    bytes: numberOf(row.bytes, at, "bytes"),
  }),
  "no_newline": (row, at) => ({
    kind: "no_newline",
    bytes: numberOf(row.bytes, at, "bytes"),
  }),
  malformed: (row, at) => ({
    kind: "malformed",
    ...optional("line", row, at, textOf),
  }),
  raw: (row, at) => ({ kind: "raw", hex: hexOf(row.hex, at, "hex") }),
  frame: (row, at) => ({
    kind: "frame",
    frame: objectOf(row.frame, at, "frame"),
  }),
  silence: (row, at) => ({
    kind: "silence",
    ...optional("ms", row, at, numberOf),
  }),
  exit: (row, at) => ({
    kind: "exit",
    code: numberOf(row.code, at, "code"),
    ...optional("stderr", row, at, textOf),
  }),
  killed: () => ({ kind: "killed" }),
  stderr: (row, at) => ({
    kind: "stderr",
    bytes: numberOf(row.bytes, at, "bytes"),
    ...optional("text", row, at, textOf),
  }),
  grandchild: (row, at) => ({
    kind: "grandchild",
    seconds: numberOf(row.seconds, at, "seconds"),
    ...optional("holdStdout", row, at, flagOf),
    ...optional("pidFile", row, at, textOf),
  }),
  "close_stdout": () => ({ kind: "close_stdout" }),
};

function faultOf(value: unknown, at: string): Fault {
  const row = rowOf(value, at);
  if (!isFault(row.kind)) {
    const names = Object.keys(FAULTS).join(", ");
    throw problem(at, "kind", row.kind, `one of ${names}`);
  }
  return FAULTS[row.kind](row, at);
}

function isFault(kind: unknown): kind is Fault["kind"] {
  return typeof kind === "string" && Object.hasOwn(FAULTS, kind);
}

/** A field that may be absent: nothing, or itself once it is read. */
function optional<K extends string, T>(
  key: K,
  row: Row,
  at: string,
  read: Reader<T>,
): { [P in K]?: T } {
  const found: { [P in K]?: T } = {};
  if (row[key] !== undefined) found[key] = read(row[key], at, key);
  return found;
}

function rowOf(value: unknown, at: string): Row {
  if (!isJson(value)) {
    throw new ScriptError(
      `Cannot play ${at}: found ${show(value)}, want an object`,
    );
  }
  return value;
}

function objectOf(
  value: unknown,
  at: string,
  key: string,
): Record<string, unknown> {
  return { ...rowOf(value, `${at}.${key}`) };
}

function listOf(value: unknown, at: string, key: string): unknown[] {
  if (!Array.isArray(value)) throw problem(at, key, value, "a list");
  return value;
}

function textsOf(value: unknown, at: string, key: string): string[] {
  return listOf(value, at, key).map((part) => textOf(part, at, key));
}

function textOf(value: unknown, at: string, key: string): string {
  if (typeof value !== "string") throw problem(at, key, value, "a string");
  return value;
}

function flagOf(value: unknown, at: string, key: string): boolean {
  if (typeof value !== "boolean") {
    throw problem(at, key, value, "true or false");
  }
  return value;
}

function numberOf(value: unknown, at: string, key: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw problem(at, key, value, "a number from 0");
  }
  return value;
}

function statusOf(value: unknown, at: string, key: string): number | null {
  return value === null ? null : numberOf(value, at, key);
}

function hexOf(value: unknown, at: string, key: string): string {
  if (typeof value !== "string" || !/^([0-9a-fA-F]{2})*$/.test(value)) {
    throw problem(at, key, value, "pairs of hex digits");
  }
  return value;
}

function problem(
  at: string,
  key: string,
  found: unknown,
  want: string,
): ScriptError {
  return new ScriptError(
    `Cannot play ${at}: "${key}" is ${show(found)}, want ${want}`,
  );
}

function show(value: unknown): string {
  return value === undefined ? "missing" : JSON.stringify(value).slice(0, 80);
}
