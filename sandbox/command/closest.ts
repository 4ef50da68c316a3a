/**
 * The known word nearest to a mistyped one, if any is near enough to mean it.
 *
 * @param word What was typed.
 * @param known What could have been meant.
 * @returns The nearest word.
 *
 * @example Usage
 * ```ts
 * import { closest } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(closest("instal", ["list", "install"]), "install");
 * assertEquals(closest("xyz", ["list", "install"]), undefined);
 * ```
 */
export function closest(
  word: string,
  known: readonly string[],
): string | undefined {
  const ranked = known.map((name) => ({ name, distance: edits(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  const limit = Math.max(1, Math.floor(word.length / 3));
  return best && best.distance <= limit ? best.name : undefined;
}

/** Edit distance where a swap of neighbours counts once (optimal string alignment). */
function edits(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + cost,
      );
      if (
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      ) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
