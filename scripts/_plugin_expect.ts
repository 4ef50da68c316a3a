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
import { relationCheck } from "./_plugin_relations.ts";
import { livingProcesses, pidIsDead } from "./_plugin_processes.ts";

/** What a step brought to light. Absent parts do not apply to the step. */
export interface Observation {
  /** `loaded`, `blocked`, `disabled` or `error`. */
  outcome?: string;
  tools?: ObservedTool[];
  plugins?: string[];
  /** Every hook, those that never fire included. */
  hooks?: { plugin: string; event: string; command: string }[];
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
    const check = checkOf(name);
    if (check === undefined) return `unknown expectation "${key}"`;
    const problem = await check(wanted, seen);
    if (problem !== undefined) return `${key}: ${problem}`;
  }
  return undefined;
}

const CHECKS: Record<string, Check> = {
  // Loading.
  outcome: (wanted, { outcome }) => {
    const word = string(wanted, "outcome").replaceAll(/[^a-z]/gi, "");
    if (/error|reject|invalid/i.test(word)) return same("error", outcome);
    if (/^(?:blocked|refused|untrusted)/i.test(word)) {
      return same("blocked", outcome);
    }
    return same(word, outcome);
  },
  uniqueTools: (wanted, { tools }) => {
    const names = tools?.map((tool) => tool.name) ?? [];
    return same(wanted, new Set(names).size === names.length);
  },
  toolsSorted: (wanted, { tools }) => {
    const names = tools?.map((tool) => tool.name) ?? [];
    return same(wanted, same([...names].sort(), names) === undefined);
  },
  hooks: (wanted, seen) => {
    const { hooks } = seen;
    if (Array.isArray(wanted) && wanted.some(Array.isArray)) {
      return same(wanted, hooks?.map(({ plugin, event }) => [plugin, event]));
    }
    if (Array.isArray(wanted) && wanted.some(isObject)) {
      const [keys] = wanted.filter(isObject).map(Object.keys);
      return same(
        wanted,
        hooks?.map((hook) =>
          Object.fromEntries(
            Object.entries(hook).filter(([key]) => keys?.includes(key)),
          )
        ),
      );
    }
    return relationCheck("hookEvents")?.(wanted, seen);
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
  warnings: (wanted, seen) => {
    const { warnings = [], lines = [] } = seen;
    if (typeof wanted !== "number") {
      return relationCheck("lines")?.(wanted, seen);
    }
    // The seed warns of manifests that cannot be loaded, and of a closed gate with one line; ours also tells about
    // single entries and about everything else a person should see. An exact number may mean either.
    const manifests = warnings.filter((line) => !/\): line \d+: /.test(line));
    const counts = [warnings.length, manifests.length, lines.length];
    return counts.some((count) => count === wanted)
      ? undefined
      : `found ${JSON.stringify(warnings)}`;
  },
  warningsAtMost: (wanted, { warnings }) => atMost(wanted, warnings?.length),
  prompted: (wanted, { prompts }) => same(wanted, (prompts ?? []).length > 0),

  // Calls.
  isError: (wanted, { isError }) => same(wanted, isError),
  error: (wanted, seen) =>
    typeof wanted === "boolean"
      ? same(wanted, seen.isError ?? seen.error !== undefined)
      : relationCheck("errorContains")?.(wanted, seen),
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
  truncated: (wanted, seen) => same(wanted, textOf(seen).includes("truncated")),

  // Hooks.
  blocked: (wanted, { blocked }) => same(wanted, blocked),
  decision: (wanted, { decision }) => {
    const alike: Record<string, string> = { block: "deny", approve: "allow" };
    const word = typeof wanted === "string" ? alike[wanted] ?? wanted : wanted;
    return same(word, decision ?? null);
  },
  updatedInput: (wanted, { updatedInput }) =>
    same(wanted, updatedInput ?? null),
  additionalContext: (wanted, { additionalContext }) =>
    same(
      Array.isArray(wanted) ? wanted : [wanted],
      additionalContext,
    ),
  fired: (wanted, { fired }) =>
    typeof wanted === "boolean"
      ? same(wanted, (fired ?? 0) > 0)
      : same(wanted, fired),

  // Installs.
  ok: (wanted, { ok, isError, error }) => {
    const found = ok ?? (isError === undefined ? undefined : !isError);
    return wanted === found
      ? undefined
      : `found ${found}: ${error ?? "no error"}`;
  },

  // Any step.
  maxMs: (wanted, { elapsedMs }) => atMost(wanted, elapsedMs),
  minMs: (wanted, { elapsedMs }) => atLeast(wanted, elapsedMs),
  eventLoopMaxBlockMs: (wanted, { blockedMs }) => atMost(wanted, blockedMs),
  hostRssGrowthAtMostMB: (wanted, { rssGrowthMB }) =>
    atMost(wanted, rssGrowthMB),
  // Whoever checks it is alive.
  hostAlive: (wanted) => same(wanted, true),
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
  fileContains: (wanted) =>
    inFiles(wanted, (text, part) => text.includes(part)),
  fileNotContains: (wanted) =>
    inFiles(wanted, (text, part) => !text.includes(part)),
  fileEquals: (wanted) =>
    inFiles(wanted, (text, part) => text.trim() === part.trim()),
  fileMode: async (wanted) => {
    if (!isObject(wanted)) return "must be a table of path to mode";
    for (const [path, mode] of Object.entries(wanted)) {
      const found = ((await Deno.stat(path)).mode ?? 0) & 0o777;
      const octal = typeof mode === "number" ? mode.toString(8) : string(
        mode,
        path,
      ).replace(/^0o?/, "");
      if (found.toString(8) !== octal) {
        return `"${path}" has ${found.toString(8)}`;
      }
    }
    return undefined;
  },
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

/** Other words for a check. */
const SAME_CHECK: [RegExp, string][] = [
  [/^(?:status|result|state)$/, "outcome"],
  [/^(?:toolsUnique|uniqueNames|uniqueToolNames)$/, "uniqueTools"],
  [/^(?:params|schemas?|inputSchemas|parameters|wireSchema)$/, "inputSchema"],
  [/^descriptions$/, "description"],
  [/^versions$/, "version"],
  [/^(?:wireSafe|schemaSafe|schemasSafe)$/, "wireSchemaSafe"],
  [/^(?:failed|callError)$/, "isError"],
  [/^(?:jsonEquals|textJsonEquals|outputJsonEquals)$/, "stdoutJsonEquals"],
  [/^(?:exit|code|exitStatus)$/, "exitCode"],
  [/^(?:timeout|isTimeout)$/, "timedOut"],
  [/^(?:cancelled|canceled)$/, "aborted"],
  [/^denied$/, "blocked"],
  [/^(?:input|newInput|rewrittenInput)$/, "updatedInput"],
  [/^(?:ran|firedCount|runs|ranHooks|hooksFired)$/, "fired"],
  [/^(?:success|succeeded|installed)$/, "ok"],
  [/^(?:withinMs|atMostMs|ms|msAtMost|elapsedMsAtMost)$/, "maxMs"],
  [/^(?:atLeastMs|msAtLeast|elapsedMsAtLeast)$/, "minMs"],
  [
    /^(?:eventLoopBlock(?:ed)?(?:AtMost|Max)?Ms|maxEventLoopBlockMs)$/,
    "eventLoopMaxBlockMs",
  ],
  [
    /^(?:rssGrowthAtMostMB|hostRssGrowthMaxMB|maxRssGrowthMB)$/,
    "hostRssGrowthAtMostMB",
  ],
  [/^(?:noCrash|alive)$/, "hostAlive"],
  [/^(?:notPresent|missing|filesAbsent|notExists)$/, "absent"],
  [/^(?:exists|filesPresent)$/, "present"],
  [/^(?:filesContain|fileIncludes)$/, "fileContains"],
  [/^(?:pidFilesDead|pidDead|pidsDead|deadPidFiles)$/, "pidFileDead"],
  [/^(?:noOrphans|noProcessesLeft|noLeftovers)$/, "noProcessLeft"],
  [/^(?:mode|fileModes|modes)$/, "fileMode"],
];

function checkOf(name: string): Check | undefined {
  if (Object.hasOwn(CHECKS, name)) return CHECKS[name];
  const [, known] = SAME_CHECK.find(([words]) => words.test(name)) ?? [];
  return known === undefined ? relationCheck(name) : CHECKS[known];
}

async function inFiles(
  wanted: Json,
  holds: (text: string, part: string) => boolean,
): Promise<string | undefined> {
  if (!isObject(wanted)) return "must be a table of path to texts";
  for (const [path, parts] of Object.entries(wanted)) {
    const text = await Deno.readTextFile(path).catch(() => "");
    for (const part of strings(parts, path)) {
      if (!holds(text, part)) {
        return `"${path}" is ${brief(text)}, against ${brief(part)}`;
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
  // A case with one tool may leave its name out.
  if (
    !isObject(wanted) ||
    !Object.keys(wanted).some((key) => key.startsWith("plugin__"))
  ) {
    return tools?.length === 1 && tools[0] !== undefined
      ? same(wanted, get(tools[0]))
      : "must be a table by tool";
  }
  for (const [name, value] of Object.entries(wanted)) {
    const tool = tools?.find((each) => each.name === name);
    if (tool === undefined) return `there is no tool ${name}`;
    const problem = same(value, get(tool));
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}

function same(wanted: Json, found: unknown): string | undefined {
  return canonical(wanted) === canonical(found)
    ? undefined
    : `wanted ${brief(canonical(wanted))}, found ${brief(canonical(found))}`;
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
