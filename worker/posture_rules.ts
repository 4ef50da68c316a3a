/**
 * Permission rules: which tools they name.
 *
 * @module
 */

/** Rules as Claude Code writes them: `Read`, `Bash(git diff:*)`, `mcp__server`. */
export interface PermissionRules {
  /** What is allowed. Only bare names count. */
  readonly allow?: readonly string[];
  /** What is denied. A rule restricts its whole tool. */
  readonly deny?: readonly string[];
  /** What a person must be asked. Stands above `allow`. */
  readonly ask?: readonly string[];
}

/** The tools that rules name as a whole. */
export function bareNames(rules: readonly string[]): Set<string> {
  return new Set(
    rules.map((rule) => rule.trim()).filter((rule) =>
      rule !== "" && !rule.includes("(")
    ),
  );
}

/** The tools that rules name, as a whole or in part, in lower case. */
export function baseNames(rules: readonly string[]): Set<string> {
  return new Set(
    rules.map((rule) => (rule.split("(")[0] ?? "").trim().toLowerCase()).filter(
      (name) => name !== "",
    ),
  );
}

/** The tools that are not allowed as a whole: denied in any way, or allowed in part only. */
export function restrictedNames(
  sources: readonly PermissionRules[],
): Set<string> {
  return baseNames(
    sources.flatMap((
      rules,
    ) => [
      ...(rules.allow ?? []).filter((rule) => rule.includes("(")),
      ...(rules.deny ?? []),
    ]),
  );
}

/** Restrictions match in any case, and a rule for a server holds for its tools. */
export function matches(names: ReadonlySet<string>, toolName: string): boolean {
  return serverNames(toolName.toLowerCase()).some((name) => names.has(name));
}

/** Permissions match as they are spelt. */
export function covers(names: ReadonlySet<string>, toolName: string): boolean {
  return serverNames(toolName).some((name) => names.has(name));
}

function serverNames(toolName: string): string[] {
  if (!toolName.startsWith("mcp__")) return [toolName];
  const server = toolName.slice(
    0,
    toolName.indexOf("__", 5) < 0 ? undefined : toolName.indexOf("__", 5),
  );
  return [toolName, server, `${server}__*`];
}
