/**
 * What every step of a case works with.
 *
 * @module
 */

import type { LoadedOutcome, SandboxLevel } from "@bulkhead/plugins";
import type { Json, JsonObject, Stage } from "./_plugin_case.ts";
import { onlyKeys } from "./_plugin_case.ts";
import type { Observation } from "./_plugin_observation.ts";

/** A case that is being played. */
export interface Play {
  stage: Stage;
  /** The case's configuration, as it says it. */
  config: JsonObject;
  isolation: SandboxLevel;
  /** What the last `load` found. */
  loaded: LoadedOutcome | undefined;
}

/** What a step tells by itself; time and memory are watched from outside. */
export type Finding = Omit<
  Observation,
  | "elapsedMs"
  | "blockedMs"
  | "rssGrowthMB"
  | "sandboxed"
  | "workspace"
  | "startedAt"
>;

/** A step under the names we use: each key may be spelled as any of its aliases, and no other key may be there. */
export function stepKeys(
  step: JsonObject,
  spellings: Record<string, readonly string[]>,
): Record<string, Json | undefined> {
  const known = ["op", "expect"];
  const named: Record<string, Json | undefined> = {};
  for (const [name, aliases] of Object.entries(spellings)) {
    const all = [name, ...aliases];
    known.push(...all);
    const spelled = all.find((key) => step[key] !== undefined);
    named[name] = spelled === undefined ? undefined : step[spelled];
  }
  onlyKeys(step, known, "the step");
  return named;
}
