import { closest } from "@bulkhead/sandbox/command";

/** So many names are still read. */
const SHOWN = 30;

/**
 * The tools that an agent says it has.
 *
 * @param raw Its line about the session's beginning, as Claude Code writes it.
 * @returns Their names; none when it names none.
 */
export function toolsOf(raw: string): string[] {
  try {
    const line: unknown = JSON.parse(raw);
    if (typeof line !== "object" || line === null || !("tools" in line)) {
      return [];
    }
    return Array.isArray(line.tools)
      ? line.tools.filter((name): name is string => typeof name === "string")
      : [];
  } catch {
    return [];
  }
}

/**
 * What was allowed and is not there: a slip of the pen allows nothing, and nobody
 * would see why the agent asks.
 *
 * @param allowed The names of `--allow`.
 * @param tools The agent's tools; nothing is said when they are not known.
 * @returns One line for each name that is no tool and no server of tools.
 */
export function unknownAllowed(
  allowed: readonly string[],
  tools: readonly string[],
): string[] {
  if (tools.length === 0) return [];
  return allowed.flatMap((rule) => {
    const name = rule.split("(")[0]?.trim() ?? "";
    const known = tools.some((tool) =>
      tool === name || tool.startsWith(`${name}__`)
    );
    if (known) return [];
    const near = closest(name, tools);
    const more = tools.length > SHOWN ? ", …" : "";
    return [
      `WARNING: --allow "${name}" allows nothing: the agent has no such tool${
        near === undefined ? "" : `; did you mean "${near}"?`
      }; it has ${tools.slice(0, SHOWN).join(", ")}${more}`,
    ];
  });
}
