/**
 * The expectations of a case: every key is known or the case fails.
 *
 * @module
 */

import {
  isObject,
  type Json,
  type JsonObject,
  string,
} from "./_plugin_case.ts";
import { atLeast, atMost, same } from "./_plugin_compare.ts";
import type {
  Check,
  Observation,
  ObservedTool,
} from "./_plugin_observation.ts";
import { relationCheck } from "./_plugin_relations.ts";
import { spelledCheck } from "./_plugin_spellings.ts";
import { TRACE_CHECKS } from "./_plugin_traces.ts";

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
      /taken by|reserved|stands above/.test(line)
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
  noWarnings: (wanted, { warnings }) => same(wanted, warnings?.length === 0),
  configError: (wanted, seen) =>
    typeof wanted === "boolean"
      ? same(wanted, seen.outcome === "error")
      : relationCheck("errorContains")?.(wanted, seen),
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
  allowed: (wanted, { blocked }) => same(wanted, blocked === false),
  notFired: (wanted, { fired }) => same(wanted, fired === 0),
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
  ...TRACE_CHECKS,
};

function checkOf(name: string): Check | undefined {
  if (Object.hasOwn(CHECKS, name)) return CHECKS[name];
  const known = spelledCheck(name);
  return known === undefined ? relationCheck(name) : CHECKS[known];
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
