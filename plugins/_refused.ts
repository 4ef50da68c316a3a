import { quote, quoteWhole, shown } from "./_text.ts";
import type { RefusedPlugin } from "./load.ts";

/** How many names one line tells. */
const MAX_NAMES = 8;

const SINCE = {
  undecided: "",
  changed: " (changed since)",
  refused: " (refused for good)",
} as const;

/** What was held back and what to do about it: one line in all, however many plugins there are; none for none. */
export function refusedLines(refused: readonly RefusedPlugin[]): string[] {
  const [first] = refused;
  if (first === undefined) return [];
  const { name, hash, cause } = first;
  if (refused.length === 1) {
    const pin = cause === "refused"
      ? ""
      : `, or --trust-plugin ${quoteWhole(`${name}=${hash}`)}`;
    return [
      `plugin ${quote(name)} is not trusted${
        SINCE[cause]
      }: bulkhead plugins trust ${shown(name)}${pin}`,
    ];
  }
  const told = refused.slice(0, MAX_NAMES);
  const more = refused.length - told.length;
  const names = told.map((each) => quote(each.name) + SINCE[each.cause]);
  const command = more > 0
    ? "bulkhead plugins trust"
    : `bulkhead plugins trust ${
      [...new Set(told.map((each) => shown(each.name)))].join(" ")
    }`;
  return [
    `${refused.length} plugins are not trusted: ${names.join(", ")}${
      more > 0 ? ` and ${more} more` : ""
    }; ${command}`,
  ];
}
