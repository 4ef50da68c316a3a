/** The longest delay that a timer holds, some 24 days, in milliseconds; it fires at once when it is given more. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * Waits for something, but not for ever.
 *
 * @param work What is waited for.
 * @param limitMs How long, in milliseconds.
 * @returns Whether it came in time.
 *
 * @example Usage
 * ```ts
 * import { endsWithin } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await endsWithin(Promise.resolve(), 1_000), true);
 * assertEquals(await endsWithin(new Promise(() => {}), 1), false);
 * ```
 */
export async function endsWithin(
  work: Promise<unknown>,
  limitMs: number,
): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
