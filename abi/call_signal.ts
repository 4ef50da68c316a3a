/**
 * One signal for a call: the caller's own and its deadline.
 *
 * @module
 */

import { after } from "./timer.ts";

/** What stops a call. */
export interface CallSignal extends Disposable {
  /** The signal, if anything can stop the call. */
  readonly signal: AbortSignal | undefined;
  /** The deadline, once it has passed. */
  readonly passed: number | undefined;
}

/**
 * Joins a caller's signal and a deadline.
 *
 * @param own The caller's signal.
 * @param timeoutMs The deadline.
 * @returns The joint signal; dispose of it when the call is over.
 */
export function callSignal(
  own: AbortSignal | undefined,
  timeoutMs: number | undefined,
): CallSignal {
  if (timeoutMs === undefined) {
    return { signal: own, passed: undefined, [Symbol.dispose]() {} };
  }
  const deadline = new AbortController();
  const timer = after(timeoutMs, () => deadline.abort());
  return {
    signal: own === undefined
      ? deadline.signal
      : AbortSignal.any([own, deadline.signal]),
    get passed() {
      return deadline.signal.aborted ? timeoutMs : undefined;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
    },
  };
}
