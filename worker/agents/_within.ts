/**
 * Waiting with a bound.
 *
 * @module
 */

/**
 * Waits for some work, but not for ever.
 *
 * @param work The work.
 * @param limitMs How long.
 * @param late What is thrown when it takes longer.
 * @returns What the work gives.
 */
export async function within<T>(
  work: Promise<T>,
  limitMs: number,
  late: string,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bound = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(late)), limitMs);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, bound]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until some work has ended, well or not, or the bound is reached.
 *
 * @param work The work.
 * @param limitMs How long.
 */
export async function atMost(
  work: Promise<unknown>,
  limitMs: number,
): Promise<void> {
  await within(work, limitMs, "").catch(() => {});
}
