/**
 * Finding the program of an agent.
 *
 * @module
 */

/**
 * Looks a command up on a PATH.
 *
 * @param command A name, or a path
 * @param path The PATH
 * @returns The file, or `undefined`
 */
export async function findProgram(
  command: string,
  path: string,
): Promise<string | undefined> {
  const places = command.includes("/")
    ? [command]
    : path.split(":").filter((dir) => dir.startsWith("/")).map((dir) =>
      `${dir}/${command}`
    );
  for (const place of places) {
    if (await isFile(place)) return place;
  }
  return undefined;
}

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
 * @param version What is there
 * @param wanted What is needed
 * @returns True when it is older; false when it is no version at all
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
