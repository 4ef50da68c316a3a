/**
 * The expectations of a case: every key is known or the case fails.
 *
 * @module
 */

import {
  exists,
  isObject,
  type Json,
  type JsonObject,
  string,
  strings,
} from "./_plugin_case.ts";
import { livingProcesses, pidIsDead } from "./_plugin_processes.ts";

/** What a step brought to light. Absent parts do not apply to the step. */
export interface Observation {
  /** `loaded`, `blocked`, `disabled` or `error`. */
  outcome?: string;
  tools?: ObservedTool[];
  plugins?: string[];
  /** Plugin and event of every hook. */
  hooks?: [string, string][];
  versions?: Record<string, string>;
  /** Warnings about plugins. */
  warnings?: string[];
  /** Everything a person gets to see, the warnings included. */
  lines?: string[];
  prompts?: string[];
  text?: string;
  isError?: boolean;
  result?: unknown;
  input?: Json;
  details?: {
    exitCode: number | null;
    signal: string | null;
    timedOut: boolean;
    aborted: boolean;
  };
  ok?: boolean;
  error?: string;
  blocked?: boolean;
  decision?: string | undefined;
  reason?: string;
  updatedInput?: unknown;
  additionalContext?: string[];
  failures?: string[];
  fired?: number;
  elapsedMs: number;
  blockedMs: number;
  rssGrowthMB: number;
  /** True when an OS sandbox is in force. */
  sandboxed: boolean;
  /** The workspace, by which left-over processes are found. */
  workspace: string;
  startedAt: number;
}

/** A tool as a model sees it. */
export interface ObservedTool {
  name: string;
  plugin: string;
  tool: string;
  description: string;
  inputSchema: unknown;
}

type Check = (
  wanted: Json,
  seen: Observation,
) => string | undefined | Promise<string | undefined>;

/** Checks all expectations; the first that does not hold, or undefined. */
export async function unmet(
  expect: JsonObject,
  seen: Observation,
): Promise<string | undefined> {
  if (expect.requiresSandbox === true && !seen.sandboxed) return undefined;
  for (const [key, wanted] of Object.entries(expect)) {
    if (key === "requiresSandbox" || key === "note") continue;
    const [, name = key, condition] = /^(.*?)(IfSandbox|IfNoSandbox)?$/
      .exec(key) ?? [];
    if (condition === "IfSandbox" && !seen.sandboxed) continue;
    if (condition === "IfNoSandbox" && seen.sandboxed) continue;
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    if (check === undefined) return `unknown expectation "${key}"`;
    const problem = await check(wanted, seen);
    if (problem !== undefined) return `${key}: ${problem}`;
  }
  return undefined;
}

const CHECKS: Record<string, Check> = {
  // Loading.
  outcome: (wanted, { outcome }) => {
    const alias: Record<string, string> = {
      "blocked_pending_trust": "blocked",
      blockedPendingTrust: "blocked",
    };
    const word = string(wanted, "outcome");
    if (/error|reject/i.test(word)) return same("error", outcome);
    return same(alias[word] ?? word, outcome);
  },
  tools: (wanted, { tools }) => same(wanted, tools?.map((tool) => tool.name)),
  toolCount: (wanted, { tools }) => same(wanted, tools?.length),
  toolsCount: (wanted, { tools }) => same(wanted, tools?.length),
  toolsAtLeast: (wanted, { tools }) => atLeast(wanted, tools?.length),
  toolsInclude: (wanted, { tools }) =>
    every(wanted, (name) => tools?.some((tool) => tool.name === name) ?? false),
  toolsExclude: (wanted, { tools }) =>
    every(
      wanted,
      (name) => !(tools?.some((tool) => tool.name === name) ?? false),
    ),
  toolsMatch: (wanted, { tools }) => {
    const pattern = new RegExp(string(wanted, "toolsMatch"));
    return none(
      tools?.filter((tool) => !pattern.test(tool.name)).map((tool) =>
        tool.name
      ),
    );
  },
  uniqueTools: (wanted, { tools }) => {
    const names = tools?.map((tool) => tool.name) ?? [];
    return same(wanted, new Set(names).size === names.length);
  },
  plugins: (wanted, { plugins }) => same(wanted, plugins),
  hooks: (wanted, { hooks }) => {
    if (typeof wanted === "number") return same(wanted, hooks?.length);
    const pairs = Array.isArray(wanted) && wanted.some(Array.isArray);
    return same(wanted, pairs ? hooks : hooks?.map(([, event]) => event));
  },
  version: (wanted, { versions }) => {
    if (!isObject(wanted)) return same([wanted], Object.values(versions ?? {}));
    const wrong = Object.entries(wanted).find(([name, version]) =>
      versions?.[name] !== version
    );
    return wrong === undefined ? undefined : `not for ${wrong[0]}`;
  },
  description: (wanted, { tools }) =>
    perTool(wanted, tools, (tool) => tool.description),
  inputSchema: (wanted, { tools }) =>
    perTool(wanted, tools, (tool) => tool.inputSchema),
  params: (wanted, { tools }) =>
    perTool(wanted, tools, (tool) => tool.inputSchema),
  schema: (wanted, { tools }) =>
    perTool(wanted, tools, (tool) => tool.inputSchema),
  wireSchemaSafe: (wanted, { tools }) =>
    same(wanted, (tools ?? []).every((tool) => isWireSafe(tool.inputSchema))),
  collisionHandled: (wanted, { tools, warnings }) => {
    const pairs = new Set(
      tools?.map((tool) => JSON.stringify([tool.plugin, tool.tool])),
    );
    const names = new Set(tools?.map((tool) => tool.name));
    const reachable = names.size === tools?.length && pairs.size > 1;
    const named = (warnings ?? []).some((line) =>
      /taken by|reserved/.test(line)
    );
    return same(wanted, reachable || named);
  },
  warnings: (wanted, { warnings = [], lines = [] }) => {
    // The seed warns of manifests that cannot be loaded, and of a closed gate with one line; ours also tells about
    // single entries and about everything else a person should see. An exact number may mean either.
    const manifests = warnings.filter((line) => !/\): line \d+: /.test(line));
    const counts = [warnings.length, manifests.length, lines.length];
    return counts.some((count) => count === wanted)
      ? undefined
      : `found ${JSON.stringify(warnings)}`;
  },
  warningsAtLeast: (wanted, { lines }) => atLeast(wanted, lines?.length),
  warningsAtMost: (wanted, { warnings }) => atMost(wanted, warnings?.length),
  warningMatches: (wanted, { lines }) =>
    every(wanted, (part) => (lines ?? []).some((line) => matches(line, part))),
  warningNotMatches: (wanted, { lines }) =>
    every(wanted, (part) => !(lines ?? []).some((line) => matches(line, part))),
  prompts: (wanted, { prompts }) => same(wanted, prompts?.length),
  promptsAtMost: (wanted, { prompts }) => atMost(wanted, prompts?.length),
  promptMatches: (wanted, { prompts }) =>
    every(wanted, (part) => matches((prompts ?? []).join("\n"), part)),
  promptNotMatches: (wanted, { prompts }) =>
    every(wanted, (part) => !matches((prompts ?? []).join("\n"), part)),

  // Calls.
  isError: (wanted, { isError }) => same(wanted, isError),
  textContains: (wanted, seen) =>
    every(wanted, (part) => textOf(seen).includes(part), textOf(seen)),
  textNotContains: (wanted, seen) =>
    every(wanted, (part) => !textOf(seen).includes(part), textOf(seen)),
  textMatches: (wanted, seen) =>
    every(
      wanted,
      (part) => new RegExp(part, "s").test(textOf(seen)),
      textOf(seen),
    ),
  textNotMatches: (wanted, seen) =>
    every(
      wanted,
      (part) => !new RegExp(part, "s").test(textOf(seen)),
      textOf(seen),
    ),
  textEquals: (wanted, seen) => same(wanted, textOf(seen)),
  textStartsWith: (wanted, seen) =>
    every(wanted, (part) => textOf(seen).startsWith(part), textOf(seen)),
  textEndsWith: (wanted, seen) =>
    every(wanted, (part) => textOf(seen).endsWith(part), textOf(seen)),
  textLength: (wanted, seen) => same(wanted, textOf(seen).length),
  textLengthAtLeast: (wanted, seen) => atLeast(wanted, textOf(seen).length),
  textLengthAtMost: (wanted, seen) => atMost(wanted, textOf(seen).length),
  textOrder: (wanted, seen) => {
    let at = 0;
    return every(wanted, (part) => {
      const found = textOf(seen).indexOf(part, at);
      at = found + part.length;
      return found >= 0;
    }, textOf(seen));
  },
  stdoutJsonEquals: (wanted, seen) =>
    same(wanted === true ? seen.input ?? null : wanted, parsed(textOf(seen))),
  jsonSerializable: (wanted, { result }) => {
    const text = JSON.stringify(result);
    return same(wanted, typeof text === "string" && parsed(text) !== undefined);
  },
  loneSurrogates: (wanted, seen) => same(wanted, !textOf(seen).isWellFormed()),
  exitCode: (wanted, { details }) => same(wanted, details?.exitCode),
  signal: (wanted, { details }) => same(wanted, details?.signal),
  timedOut: (wanted, { details }) => same(wanted, details?.timedOut),
  aborted: (wanted, { details }) => same(wanted, details?.aborted),

  // Hooks.
  blocked: (wanted, { blocked }) => same(wanted, blocked),
  decision: (wanted, { decision }) => same(wanted, decision ?? null),
  reason: (wanted, { reason }) =>
    every(wanted, (part) => matches(reason ?? "", part), reason),
  reasonContains: (wanted, { reason }) =>
    every(wanted, (part) => (reason ?? "").includes(part), reason),
  reasonMatches: (wanted, { reason }) =>
    every(wanted, (part) => matches(reason ?? "", part), reason),
  updatedInput: (wanted, { updatedInput }) =>
    same(wanted, updatedInput ?? null),
  additionalContext: (wanted, { additionalContext }) =>
    same(
      Array.isArray(wanted) ? wanted : [wanted],
      additionalContext,
    ),
  fired: (wanted, { fired }) => same(wanted, fired),
  failures: (wanted, { failures }) => same(wanted, failures?.length),
  failuresAtLeast: (wanted, { failures }) => atLeast(wanted, failures?.length),
  failureMatches: (wanted, { failures }) =>
    every(
      wanted,
      (part) => (failures ?? []).some((line) => matches(line, part)),
    ),

  // Installs.
  ok: (wanted, { ok, error }) =>
    wanted === ok ? undefined : `found ${ok}: ${error ?? "no error"}`,
  errorMatches: (wanted, { error }) =>
    every(wanted, (part) => matches(error ?? "", part), error),
  errorContains: (wanted, { error }) =>
    every(wanted, (part) => (error ?? "").includes(part), error),

  // Any step.
  maxMs: (wanted, { elapsedMs }) => atMost(wanted, elapsedMs),
  minMs: (wanted, { elapsedMs }) => atLeast(wanted, elapsedMs),
  eventLoopMaxBlockMs: (wanted, { blockedMs }) => atMost(wanted, blockedMs),
  hostRssGrowthAtMostMB: (wanted, { rssGrowthMB }) =>
    atMost(wanted, rssGrowthMB),
  absent: async (wanted) => {
    for (const path of strings(wanted, "absent")) {
      if (await exists(path)) return `"${path}" is there`;
    }
    return undefined;
  },
  present: async (wanted) => {
    for (const path of strings(wanted, "present")) {
      if (!await exists(path)) return `"${path}" is not there`;
    }
    return undefined;
  },
  fileContains: async (wanted) => await inFile(wanted, true),
  fileNotContains: async (wanted) => await inFile(wanted, false),
  pidFileDead: async (wanted, seen) => {
    for (const path of strings(wanted, "pidFileDead")) {
      if (!await exists(path)) return `"${path}" is not there`;
      const pid = Number((await Deno.readTextFile(path)).trim());
      if (!await pidIsDead(pid, seen.startedAt)) return `${pid} is alive`;
    }
    const left = await livingProcesses(seen.workspace);
    return left.length === 0 ? undefined : `left running: ${left.join(", ")}`;
  },
  noProcessLeft: async (wanted, seen) =>
    same(wanted, (await livingProcesses(seen.workspace)).length === 0),
};

async function inFile(
  wanted: Json,
  contained: boolean,
): Promise<string | undefined> {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) {
    return "must be a table of path to texts";
  }
  for (const [path, parts] of Object.entries(wanted)) {
    const text = await Deno.readTextFile(path).catch(() => "");
    for (const part of strings(parts, path)) {
      if (text.includes(part) !== contained) {
        return `"${path}" ${contained ? "lacks" : "holds"} ${brief(part)}`;
      }
    }
  }
  return undefined;
}

function textOf(seen: Observation): string {
  return seen.text ?? "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function perTool(
  wanted: Json,
  tools: readonly ObservedTool[] | undefined,
  get: (tool: ObservedTool) => unknown,
): string | undefined {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) {
    return "must be a table by tool";
  }
  for (const [name, value] of Object.entries(wanted)) {
    const tool = tools?.find((each) => each.name === name);
    if (tool === undefined) return `there is no tool ${name}`;
    const problem = same(value, get(tool));
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}

/** Expectations spell patterns and plain texts alike. */
function matches(text: string, part: string): boolean {
  if (text.includes(part)) return true;
  try {
    return new RegExp(part, "s").test(text);
  } catch {
    return false;
  }
}

function every(
  wanted: Json,
  holds: (part: string) => boolean,
  found?: string,
): string | undefined {
  for (const part of strings(wanted, "an expectation")) {
    if (!holds(part)) {
      return `${brief(part)} does not hold${
        found === undefined ? "" : ` for ${brief(found)}`
      }`;
    }
  }
  return undefined;
}

function same(wanted: Json, found: unknown): string | undefined {
  return canonical(wanted) === canonical(found)
    ? undefined
    : `wanted ${brief(canonical(wanted))}, found ${brief(canonical(found))}`;
}

function none(found: readonly string[] | undefined): string | undefined {
  return found === undefined || found.length > 0
    ? `not for ${brief(JSON.stringify(found) ?? "nothing")}`
    : undefined;
}

function atLeast(wanted: Json, found: number | undefined): string | undefined {
  return typeof wanted === "number" && found !== undefined && found >= wanted
    ? undefined
    : `found ${found}, wanted at least ${wanted}`;
}

function atMost(wanted: Json, found: number | undefined): string | undefined {
  return typeof wanted === "number" && found !== undefined && found <= wanted
    ? undefined
    : `found ${found}, wanted at most ${wanted}`;
}

function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, held: unknown) =>
      typeof held === "object" && held !== null && !Array.isArray(held)
        ? Object.fromEntries(
          Object.entries(held).sort(([x], [y]) => x < y ? -1 : 1),
        )
        : held,
  ) ?? "undefined";
}

function brief(text: string): string {
  const shown = JSON.stringify(text);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
}

function isWireSafe(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if (Reflect.get(schema, "type") !== "object") return false;
  for (const keyword of ["oneOf", "anyOf", "allOf"]) {
    if (Object.hasOwn(schema, keyword)) return false;
  }
  return keysAreSafe(schema);
}

function keysAreSafe(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const properties: unknown = Reflect.get(schema, "properties");
  if (typeof properties !== "object" || properties === null) return true;
  return Object.entries(properties).every(([key, value]) =>
    /^[a-zA-Z0-9_.-]{1,64}$/.test(key) && keysAreSafe(value)
  );
}
