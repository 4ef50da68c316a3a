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

/**
 * Waits, or returns early when a signal fires.
 *
 * @param ms How long, in milliseconds; longer than a timer holds is without end.
 * @param signal Cuts the wait short.
 *
 * @example Usage
 * ```ts
 * import { pause } from "@bulkhead/sandbox";
 *
 * await pause(1);
 * await pause(60_000, AbortSignal.abort());
 * ```
 */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = ms <= MAX_TIMER_MS ? setTimeout(done, ms) : undefined;
    signal?.addEventListener("abort", done);
  });
}
