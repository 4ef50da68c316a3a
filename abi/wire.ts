/**
 * What a child says, checked: it is ours, but it holds foreign code.
 *
 * @module
 */

import type { DispatchOutcome, EngineStats } from "./engine_types.ts";
import type { AbiErrorCode } from "./errors.ts";
import { isObject, parseJson } from "./json.ts";
import { decodeText } from "./memory.ts";
import type { CallOutcome } from "./poll_driver.ts";
import { emptyRegistration, type Registration } from "./registration.ts";
import type { Head } from "./rpc.ts";

/** How a call ended; an unknown word is an end that says nothing. */
export function readKind(value: unknown): CallOutcome["kind"] {
  const kinds = [
    "done",
    "error",
    "null_handle",
    "cancelled",
    "bad_tag",
  ] as const;
  return kinds.find((kind) => kind === value) ?? "bad_tag";
}

/** The code of a failure; an unknown word breaks the protocol. */
export function readCode(value: unknown): AbiErrorCode {
  const codes = ["open", "register", "timeout", "protocol"] as const;
  return codes.find((code) => code === value) ?? "protocol";
}

/** What the handlers of an event made of it. */
export function readDispatch(head: Head): DispatchOutcome {
  const numbers = (value: unknown): number[] =>
    Array.isArray(value) ? value.filter((n) => typeof n === "number") : [];
  const failed = Array.isArray(head.failed) ? head.failed : [];
  const verdicts = ["continue", "abort", "claimed"] as const;
  return {
    verdict: verdicts.find((verdict) => verdict === head.verdict) ?? "continue",
    failed: failed.map((pair): [number, number] => {
      const [index = 0, rc = 0] = numbers(pair);
      return [index, rc];
    }),
    late: numbers(head.late),
  };
}

/** A field that should be text. */
function text(row: Record<string, unknown>, key: string): string {
  return typeof row[key] === "string" ? row[key] : "";
}

/** What the plugin registered; an entry of another shape is left out. */
export function readRegistration(body: Uint8Array): Registration {
  const value = parseJson(decodeText(body));
  const result = emptyRegistration();
  if (!isObject(value)) return result;
  const texts = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((t) => typeof t === "string") : [];
  const rows = <T>(
    list: unknown,
    read: (row: Record<string, unknown>) => T,
  ): T[] => Array.isArray(list) ? list.filter(isObject).map(read) : [];
  const named = (row: Record<string, unknown>) => ({
    name: text(row, "name"),
    description: text(row, "description"),
  });
  result.tools = rows(
    value.tools,
    (row) => ({ ...named(row), parameters: text(row, "parameters") || "{}" }),
  );
  result.commands = rows(value.commands, named);
  result.shortcuts = rows(value.shortcuts, named);
  result.flags = rows(value.flags, named);
  result.providers = rows(value.providers, (row) => ({
    id: text(row, "id"),
    baseUrl: text(row, "baseUrl"),
    apiStyle: text(row, "apiStyle"),
  }));
  const kinds = ["message", "markdown", "entry"] as const;
  result.renderers = rows(value.renderers, (row) => ({
    kind: kinds.find((kind) => kind === row.kind) ?? "message",
    name: text(row, "name"),
  }));
  if (Array.isArray(value.events)) {
    result.events = value.events.filter((tag) => typeof tag === "number");
  }
  if (typeof value.discover === "number") result.discover = value.discover;
  if (typeof value.beforeAgentStart === "number") {
    result.beforeAgentStart = value.beforeAgentStart;
  }
  result.oauth = rows(
    value.oauth,
    (row) => ({
      id: text(row, "id"),
      manifest: isObject(row.manifest) ? row.manifest : {},
    }),
  );
  if (typeof value.priority === "number") result.priority = value.priority;
  result.platforms = texts(value.platforms);
  result.collisions = rows(
    value.collisions,
    (row) => ({ kind: text(row, "kind"), name: text(row, "name") }),
  );
  result.diagnostics = texts(value.diagnostics);
  return result;
}

/** Counters of a plugin that is there; what is no number is 0. */
export function readStats(body: Uint8Array): EngineStats {
  const value = parseJson(decodeText(body));
  const rows = isObject(value) ? value : {};
  const number = (from: Record<string, unknown>, key: string): number =>
    typeof from[key] === "number" ? from[key] : 0;
  const strings = isObject(rows.hostStrings) ? rows.hostStrings : {};
  return {
    calls: number(rows, "calls"),
    liveHandles: number(rows, "liveHandles"),
    stringsReceived: number(rows, "stringsReceived"),
    stringsFreed: number(rows, "stringsFreed"),
    latePartials: number(rows, "latePartials"),
    actions: number(rows, "actions"),
    active: number(rows, "active"),
    queued: number(rows, "queued"),
    lateHandlers: number(rows, "lateHandlers"),
    invalidUtf8: number(rows, "invalidUtf8"),
    polls: number(rows, "polls"),
    slowPolls: number(rows, "slowPolls"),
    longestPollMs: number(rows, "longestPollMs"),
    heapBytes: number(rows, "heapBytes"),
    rssBytes: number(rows, "rssBytes"),
    hostStrings: {
      given: number(strings, "given"),
      freed: number(strings, "freed"),
      freedTwice: number(strings, "freedTwice"),
      freedWrong: number(strings, "freedWrong"),
    },
  };
}
