/**
 * What a queued session asks of its host, besides the agent and the workspace.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "../frame.ts";
import type { AskPolicy } from "../session_options.ts";

/** The choices of `worker start` and `run` that go with a queued session. */
export interface JobOptions {
  /** The model to ask for. */
  readonly model?: string;
  /** What the scripted agent plays: the text of a script. */
  readonly script?: string;
  /** A script that ships with the scripted agent, by name. */
  readonly example?: string;
  /** What becomes of calls that only a person can approve. */
  readonly asks?: AskPolicy;
  /** How long a question may stay open. */
  readonly askTimeoutMs?: number;
  /** How long the session may be at rest before it ends. */
  readonly idleGraceMs?: number;
  /** After what silence a turn counts as stalled. */
  readonly stallMs?: number;
  /** Start although the agent died at once several times in a row. */
  readonly force?: boolean;
  /** Tools that need no question; granted by hosts that trust the queue. */
  readonly allow?: readonly string[];
  /** Directories of the host that may be written besides the workspace; granted by hosts that trust the queue. */
  readonly roots?: readonly string[];
  /** Answer every question with yes; granted by hosts that trust the queue. */
  readonly approve?: boolean;
  /** The allow list in the project's settings counts too; granted by hosts that trust the queue. */
  readonly trustProject?: boolean;
}

/** The largest script that goes with a job. */
export const MAX_SCRIPT = 256 * 1024;

/** The options in a job that somebody queued; what has another shape is left out. */
export function jobOptionsOf(value: unknown): JobOptions {
  if (!isJsonObject(value)) return {};
  return {
    ...words(value, ["model", "script", "example"]),
    ...asksOf(value.asks),
    ...counts(value, ["askTimeoutMs", "idleGraceMs", "stallMs"]),
    ...truths(value, ["force", "approve", "trustProject"]),
    ...lists(value, ["allow", "roots"]),
  };
}

/**
 * What a session asks for that widens what its agent may do.
 *
 * @param options Its options.
 * @returns The flags, as on the command line; empty when there is nothing to grant.
 */
export function grantsOf(options: JobOptions): string[] {
  return [
    ...(options.allow ?? []).map((tool) => `--allow ${tool}`),
    ...(options.roots ?? []).map((root) => `--root ${root}`),
    ...options.approve === true ? ["--approve"] : [],
    ...options.trustProject === true ? ["--trust-project"] : [],
  ];
}

function asksOf(value: unknown): Pick<JobOptions, "asks"> {
  return value === "attached" || value === "wait" || value === "deny"
    ? { asks: value }
    : {};
}

function words<K extends string>(
  from: JsonObject,
  keys: readonly K[],
): { [key in K]?: string } {
  return pick(from, keys, (value) => typeof value === "string");
}

function counts<K extends string>(
  from: JsonObject,
  keys: readonly K[],
): { [key in K]?: number } {
  return pick(
    from,
    keys,
    (value): value is number =>
      Number.isSafeInteger(value) && Number(value) >= 0,
  );
}

function truths<K extends string>(
  from: JsonObject,
  keys: readonly K[],
): { [key in K]?: boolean } {
  return pick(from, keys, (value) => value === true);
}

function lists<K extends string>(
  from: JsonObject,
  keys: readonly K[],
): { [key in K]?: string[] } {
  return pick(
    from,
    keys,
    (value): value is string[] =>
      Array.isArray(value) && value.every((item) => typeof item === "string"),
  );
}

function pick<K extends string, V>(
  from: JsonObject,
  keys: readonly K[],
  fits: (value: unknown) => value is V,
): { [key in K]?: V } {
  const found: { [key in K]?: V } = {};
  for (const key of keys) {
    const value: unknown = from[key];
    if (fits(value)) found[key] = value;
  }
  return found;
}
