/**
 * How a wanted value and a found one are compared, and what is said when they differ.
 *
 * @module
 */

import type { Json } from "./_plugin_case.ts";

/** Whether both are the same JSON, whatever the order of keys; what does not hold, or undefined. */
export function same(wanted: Json, found: unknown): string | undefined {
  return canonical(wanted) === canonical(found)
    ? undefined
    : `wanted ${brief(canonical(wanted))}, found ${brief(canonical(found))}`;
}

/** Whether a number is large enough; what does not hold, or undefined. */
export function atLeast(
  wanted: Json,
  found: number | undefined,
): string | undefined {
  return typeof wanted === "number" && found !== undefined && found >= wanted
    ? undefined
    : `found ${found}, wanted at least ${wanted}`;
}

/** Whether a number is small enough; what does not hold, or undefined. */
export function atMost(
  wanted: Json,
  found: number | undefined,
): string | undefined {
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

/** A text as it stands in a verdict. */
export function brief(text: string): string {
  const shown = JSON.stringify(text);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
}
