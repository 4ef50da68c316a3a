/**
 * A verdict that comes in time, or a deny.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import type { Verdict } from "./driver.ts";

/**
 * Judges. Whatever goes wrong on our side is a deny.
 *
 * @param judge Gives the verdict.
 * @param limitMs How long it may take.
 * @returns The verdict, at once when it is there at once.
 */
export function judgeWithin(
  judge: () => Verdict | Promise<Verdict>,
  limitMs: number,
): Verdict | Promise<Verdict> {
  try {
    const verdict = judge();
    return verdict instanceof Promise ? inTime(verdict, limitMs) : verdict;
  } catch (error) {
    return failed(error);
  }
}

async function inTime(
  verdict: Promise<Verdict>,
  limitMs: number,
): Promise<Verdict> {
  const { promise: late, resolve } = Promise.withResolvers<Verdict>();
  const timer = setTimeout(
    () =>
      resolve({
        decision: "deny",
        reason: `No verdict within ${limitMs} ms`,
      }),
    limitMs,
  );
  try {
    return await Promise.race([verdict, late]);
  } catch (error) {
    return failed(error);
  } finally {
    clearTimeout(timer);
  }
}

function failed(error: unknown): Verdict {
  return {
    decision: "deny",
    reason: `Cannot judge the call: ${reasonOf(error)}`,
  };
}
