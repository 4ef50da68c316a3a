/**
 * Deadlines of any length.
 *
 * @module
 */

/** The longest time that a timer holds, some 24 days; it fires at once when it is given more. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Does something later. A time that no timer can hold never comes, `Infinity` included.
 *
 * @param ms When.
 * @param then What.
 * @returns The timer, to clear it.
 */
export function after(
  ms: number,
  then: () => void,
): ReturnType<typeof setTimeout> | undefined {
  return ms <= MAX_TIMER_MS ? setTimeout(then, Math.max(0, ms)) : undefined;
}
