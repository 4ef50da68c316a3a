/**
 * The script a scripted model plays: its shape, and the parser that names what is wrong with one.
 *
 * @module
 */
import { isObject, type JsonObject, objectsOf, textOf } from "./_json.ts";

/** One tool call of a step. */
export interface ScriptCall {
  /** Exact tool name as the agent offers it. Either this or {@linkcode ScriptCall.do}. */
  readonly tool?: string;
  /** Neutral verb, turned into whatever tool the asking agent offers for it. */
  readonly do?: "write" | "shell" | "read" | "subagent" | "tool";
  /** Arguments; a string is sent as it stands (custom tools, or arguments that are not JSON). */
  readonly input?: string | JsonObject;
  /** Namespace of the tool, where the protocol has namespaces and the name alone is ambiguous. */
  readonly namespace?: string;
  /** Id of the call. Default: `call_<conversation>_<step>_<number>`. */
  readonly id?: string;
  /** `do: "write" | "read"`: the file. */
  readonly path?: string;
  /** `do: "write"`: the text to write. */
  readonly content?: string;
  /** `do: "shell"`: the command line. */
  readonly command?: string;
  /** `do: "subagent"`: what the subagent is told. Its own conversation matches on this. */
  readonly prompt?: string;
  /** `do: "tool"`: the last part of the tool's name, whatever prefix the agent adds. */
  readonly name?: string;
}

/** An answer that is an error. */
export interface ScriptError {
  /** HTTP status, for example 401, 429, 500 or 529. */
  readonly status: number;
  /** Text of the error. */
  readonly message?: string;
  /** `retry-after` header, in seconds. */
  readonly retryAfter?: number;
  /** Begin a good answer and put the error into the stream. */
  readonly inStream?: boolean;
}

/** One answer of the model: what one request gets. */
export interface ScriptStep {
  /** Text of the answer. */
  readonly text?: string;
  /** Thinking before the text (Messages and Responses only). */
  readonly thinking?: string;
  /** Tool calls of the answer; more than one are parallel calls. */
  readonly calls?: readonly ScriptCall[];
  /** Wait this long before the first byte. */
  readonly delayMs?: number;
  /** Wait this long between the pieces of a streamed text. */
  readonly chunkDelayMs?: number;
  /** Number of pieces a streamed text comes in. Default: one for every 16 KiB, at least up to 4. */
  readonly chunks?: number;
  /** Answer only after `release(name)`. */
  readonly hold?: string;
  /** Answer only when the conversation of that name has been asked for all its steps. */
  readonly await?: string;
  /** Answer with an error. */
  readonly error?: ScriptError;
  /** Break the connection in the middle of the answer. */
  readonly cut?: boolean;
  /** Why the answer ends. Default: `tool_use` with calls, `end_turn` without. */
  readonly stop?: "end_turn" | "tool_use" | "max_tokens" | "refusal";
  /** Tokens the answer claims. */
  readonly usage?: { readonly input?: number; readonly output?: number };
  /** Play this step that many times. Default 1. */
  readonly times?: number;
}

/** A conversation other than the main one, for example a subagent's. */
export interface ScriptConversation {
  /** A request belongs here when one of its user texts contains this. */
  readonly match: string;
  /** Name in records and errors. Default: the match. */
  readonly name?: string;
  /** Its answers, in order. */
  readonly steps: readonly ScriptStep[];
}

/** A whole script. */
export interface ModelScript {
  /** Answers of the main conversation, in order, over as many turns as they make. */
  readonly steps: readonly ScriptStep[];
  /** Conversations recognised by what the user says in them. */
  readonly conversations?: readonly ScriptConversation[];
  /**
   * What a request without any tool gets (agents ask for titles and summaries on the side) without
   * using up a step. `false`: such requests are steps like all others. Default `"ok"`.
   */
  readonly side?: string | false;
  /** What is said in requests that count as on the side although they offer tools, for example for a title. */
  readonly asides?: readonly string[];
  /** Text of the answer once the steps are used up. Default: a line that says so. */
  readonly after?: string;
}

/** Longest text `{"$repeat": …}` may make. */
const MAX_REPEAT = 64 * 1024 * 1024;

type Check = (value: unknown, at: string) => void;

class Problem extends Error {}

function fail(at: string, found: unknown, wanted: string): never {
  const text = found === undefined
    ? "nothing"
    : JSON.stringify(found) ?? String(found);
  throw new Problem(
    `${at || "the script"} is ${
      text.length > 60 ? text.slice(0, 57) + "…" : text
    }, expected ${wanted}`,
  );
}

const string: Check = (value, at) =>
  typeof value === "string" || fail(at, value, "a text");
const filled: Check = (value, at) =>
  typeof value === "string" && value !== "" ||
  fail(at, value, "a text that is not empty");
const flag: Check = (value, at) =>
  typeof value === "boolean" || fail(at, value, "true or false");
const count: Check = (value, at) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ||
  fail(at, value, "a whole number from 0");

function oneOf(...choices: readonly unknown[]): Check {
  return (value, at) =>
    choices.includes(value) ||
    fail(at, value, choices.map((c) => JSON.stringify(c)).join(" or "));
}

function listOfAll(check: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) fail(at, value, "a list");
    value.forEach((item, index) => check(item, `${at}[${index}]`));
  };
}

function shape(
  keys: Readonly<Record<string, Check>>,
  also?: (value: JsonObject, at: string) => void,
): Check {
  return (value, at) => {
    if (!isObject(value)) fail(at, value, "an object");
    for (const [key, item] of Object.entries(value)) {
      const check = Object.hasOwn(keys, key) ? keys[key] : undefined;
      if (!check) {
        throw new Problem(
          `${
            at ? at + " has" : "the script has"
          } the unknown key "${key}": known are ${
            Object.keys(keys).join(", ")
          }`,
        );
      }
      if (item !== undefined) check(item, at ? `${at}.${key}` : key);
    }
    also?.(value, at);
  };
}

const NEEDS: Readonly<Record<string, readonly string[]>> = {
  write: ["path", "content"],
  read: ["path"],
  shell: ["command"],
  subagent: ["prompt"],
  tool: ["name"],
};

const call = shape({
  tool: string,
  do: oneOf(...Object.keys(NEEDS)),
  input: (value, at) =>
    typeof value === "string" || isObject(value) ||
    fail(at, value, "an object or a text"),
  namespace: string,
  id: (value, at) =>
    typeof value === "string" && /^[\w-]{1,64}$/.test(value) ||
    fail(at, value, "1 to 64 letters, digits, _ or -"),
  path: string,
  content: string,
  command: string,
  prompt: string,
  name: string,
}, (value, at) => {
  if ((value.tool === undefined) === (value.do === undefined)) {
    throw new Problem(`${at} needs either "tool" or "do"`);
  }
  for (const key of NEEDS[String(value.do)] ?? []) {
    if (value[key] === undefined) {
      throw new Problem(`${at} with "do": "${value.do}" needs "${key}"`);
    }
  }
});

const step = shape({
  text: string,
  thinking: string,
  calls: listOfAll(call),
  delayMs: count,
  chunkDelayMs: count,
  chunks: count,
  hold: string,
  await: string,
  error: shape({
    status: (value, at) =>
      typeof value === "number" && value >= 400 && value <= 599 ||
      fail(at, value, "a status from 400 to 599"),
    message: string,
    retryAfter: count,
    inStream: flag,
  }, (value, at) => {
    if (value.status === undefined) throw new Problem(`${at} needs "status"`);
  }),
  cut: flag,
  stop: oneOf("end_turn", "tool_use", "max_tokens", "refusal"),
  usage: shape({ input: count, output: count }),
  times: count,
});

const script = shape({
  $schema: string,
  steps: listOfAll(step),
  conversations: listOfAll(shape({
    match: filled,
    name: string,
    steps: listOfAll(step),
  }, (value, at) => {
    for (const key of ["match", "steps"]) {
      if (value[key] === undefined) throw new Problem(`${at} needs "${key}"`);
    }
  })),
  side: (value, at) =>
    typeof value === "string" || value === false ||
    fail(at, value, "a text or false"),
  asides: listOfAll(filled),
  after: string,
}, (value) => {
  if (value.steps === undefined) throw new Problem(`the script needs "steps"`);
  checkNames(value);
});

/** Names of conversations are unique, and what steps wait for exists. */
function checkNames(value: JsonObject): void {
  const conversations = objectsOf(value.conversations);
  const names = [
    "main",
    ...conversations.map((one) => textOf(one.name ?? one.match)),
  ];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new Problem(`two conversations have the name "${twice}"`);
  }
  for (const one of [value, ...conversations]) {
    for (const { await: awaited } of objectsOf(one.steps)) {
      if (awaited === undefined || names.includes(textOf(awaited))) continue;
      throw new Problem(
        `a step awaits the conversation "${awaited}": known are ${
          names.join(", ")
        }`,
      );
    }
  }
}

/** Puts variables in and writes `{"$repeat": "x", "times": n}` out. */
function expand(
  value: unknown,
  vars: Readonly<Record<string, string>>,
  at: string,
): unknown {
  if (typeof value === "string") {
    return value.replace(
      /\{\{(\w+)\}\}/g,
      (whole, name) => Object.hasOwn(vars, name) ? vars[name] ?? whole : whole,
    );
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => expand(item, vars, `${at}[${index}]`));
  }
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, "$repeat")) {
    const { $repeat: piece, times } = value;
    if (
      typeof piece !== "string" || typeof times !== "number" ||
      !Number.isInteger(times) || times < 0
    ) {
      fail(at, value, `{"$repeat": a text, "times": a whole number}`);
    }
    if (piece.length * times > MAX_REPEAT) {
      throw new Problem(
        `${at} makes ${
          piece.length * times
        } characters, at most ${MAX_REPEAT} are allowed`,
      );
    }
    return piece.repeat(times);
  }
  return Object.fromEntries(
    Object.entries(value).map((
      [key, item],
    ) => [key, expand(item, vars, at ? `${at}.${key}` : key)]),
  );
}

function isScript(value: unknown): value is ModelScript {
  script(value, "");
  return true;
}

/** Options of {@linkcode parseScript}. */
export interface ParseScriptOptions {
  /** Name of the script in errors. Default `"script"`. */
  readonly name?: string;
  /** Values for `{{name}}` in any text of the script; unknown names stay as they are. */
  readonly vars?: Readonly<Record<string, string>>;
}

/**
 * Checks a script and puts variables in.
 *
 * In every place that takes a text, `{"$repeat": "x", "times": 1000}` makes a long one.
 *
 * @param source JSON text, or the parsed value.
 * @param options Name for errors, and variables.
 * @returns The script, ready to be played.
 * @throws {SyntaxError} Naming the place and what was expected there.
 *
 * @example A script with one call and one answer
 * ```ts
 * import { parseScript } from "@bulkhead/guard/scripted-model";
 * import { assertEquals } from "@std/assert";
 *
 * const script = parseScript(
 *   `{"steps": [{"calls": [{"do": "shell", "command": "ls {{dir}}"}]}, {"text": "done"}]}`,
 *   { vars: { dir: "/srv" } },
 * );
 * assertEquals(script.steps[0]?.calls?.[0]?.command, "ls /srv");
 * ```
 */
export function parseScript(
  source: unknown,
  options: ParseScriptOptions = {},
): ModelScript {
  const { name = "script", vars = {} } = options;
  try {
    const value = expand(
      typeof source === "string" ? JSON.parse(source) : source,
      vars,
      "",
    );
    if (isScript(value)) return value;
    throw new Problem("the script is not an object");
  } catch (cause) {
    if (!(cause instanceof Problem || cause instanceof SyntaxError)) {
      throw cause;
    }
    throw new SyntaxError(`Cannot parse script "${name}": ${cause.message}`, {
      cause,
    });
  }
}
