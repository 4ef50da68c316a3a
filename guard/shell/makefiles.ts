/**
 * Makefiles whose text the command itself holds: the recipes of the targets that are built.
 *
 * @module
 */
import { SUB } from "../holes.ts";

interface Rule {
  needs: string[];
  recipe: string[];
}

/** Most rounds of replacing variables by variables. */
const MAX_ROUNDS = 8;

/** Most rules that are followed. */
const MAX_RULES = 200;

/**
 * The recipe lines that building some targets runs, in order.
 *
 * @param text The makefile.
 * @param targets The targets; the first rule when there is none.
 * @param given Variables of the command line.
 * @returns Command lines for a shell.
 */
export function recipesOf(
  text: string,
  targets: readonly string[],
  given: ReadonlyMap<string, string>,
): string[] {
  const rules = new Map<string, Rule>();
  const variables = new Map<string, string>();
  let current: Rule[] = [];
  let first: string | undefined;
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    if (line.startsWith("\t")) {
      for (const rule of current) rule.recipe.push(line.trim());
      continue;
    }
    const assigned = /^(?:export\s+)?([\w.-]+)\s*(?::{0,3}|[?+])=\s*(.*)$/.exec(
      line,
    );
    if (assigned?.[1] !== undefined) {
      variables.set(assigned[1], assigned[2]?.trim() ?? "");
      continue;
    }
    const rule = /^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*([^;#]*)(?:;(.*))?/.exec(
      line,
    );
    if (rule === null || rules.size >= MAX_RULES) continue;
    current = (rule[1] ?? "").split(/\s+/).map((name) => {
      if (!name.startsWith(".")) first ??= name;
      const known = rules.get(name) ?? { needs: [], recipe: [] };
      known.needs.push(...(rule[2] ?? "").split(/\s+/).filter(Boolean));
      if (rule[3] !== undefined) known.recipe.push(rule[3].trim());
      rules.set(name, known);
      return known;
    });
  }
  const lines: string[] = [];
  const built = new Set<string>();
  const build = (name: string): void => {
    const rule = rules.get(name);
    if (rule === undefined || built.has(name)) return;
    built.add(name);
    for (const need of rule.needs) build(need);
    lines.push(
      ...rule.recipe.map((line) =>
        expand(
          line.replace(/^[@+-]+\s*/, ""),
          name,
          rule,
          (key) => given.get(key) ?? variables.get(key),
        )
      ),
    );
  };
  for (const name of targets.length > 0 ? targets : [first ?? ""]) build(name);
  return lines;
}

/** Stands for a dollar sign that make hands on to the shell. */
const DOLLAR = "\u0001";

/** Replaces make's variables; what only make could work out is taken for a name inside. */
function expand(
  line: string,
  target: string,
  rule: Rule,
  value: (name: string) => string | undefined,
): string {
  let text = line.replaceAll("$$", DOLLAR);
  for (let round = 0; round < MAX_ROUNDS && text.includes("$"); round++) {
    text = text.replace(
      /\$(?:\(([^()$]*)\)|\{([^{}$]*)\}|([^({$]))/g,
      (_whole, round?: string, curly?: string, single?: string) => {
        const name = round ?? curly ?? single ?? "";
        if (name === "@") return target;
        if (name === "<") return rule.needs[0] ?? "";
        if (name === "^" || name === "+") return rule.needs.join(" ");
        return value(name)?.replaceAll("$$", DOLLAR) ?? SUB;
      },
    );
  }
  return text.replaceAll(DOLLAR, "$");
}
