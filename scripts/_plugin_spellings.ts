/**
 * Expectations that case files spell in several ways.
 *
 * @module
 */

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
  [/^notBlocked$/, "allowed"],
  [/^resolveError$/, "configError"],
  [
    /^(?:input|newInput|rewrittenInput|modifiedInput|changedInput)$/,
    "updatedInput",
  ],
  [/^(?:ran|hookFired|firedCount|runs|ranHooks|hooksFired)$/, "fired"],
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
  [/^(?:noOrphans|noZombies|noProcessesLeft|noLeftovers)$/, "noProcessLeft"],
  [/^(?:mode|fileModes|modes)$/, "fileMode"],
];

/** The name of the check that a key means; undefined for a key that is no other word for one. */
export function spelledCheck(key: string): string | undefined {
  return SAME_CHECK.find(([words]) => words.test(key))?.[1];
}
