/**
 * Runs a function with a directory of its own, which is removed afterwards.
 *
 * @param fn What to do in it.
 */
export async function withDir(
  fn: (dir: string) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await fn(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}
