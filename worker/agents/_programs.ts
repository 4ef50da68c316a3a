/**
 * What programs of agents are looked at for.
 *
 * @module
 */

/** Whether a path names a file. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

/**
 * Compares versions number by number.
 *
 * @param version What is there.
 * @param wanted What is needed.
 * @returns True when it is older; false when it is no version at all.
 */
export function isOlder(version: string, wanted: string): boolean {
  const numbers = (text: string) =>
    (text.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  const [a, b] = [numbers(version), numbers(wanted)];
  if (a.length < 3) return false;
  for (const at of [0, 1, 2]) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
