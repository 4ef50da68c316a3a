/**
 * A directory for a test.
 *
 * @module
 */

/**
 * Runs a function with a directory of its own, which is removed afterwards.
 *
 * @param fn What to do in it; its path is without links.
 */
export async function withDir(
  fn: (dir: string) => Promise<void>,
): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  try {
    await fn(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
