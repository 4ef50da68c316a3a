/**
 * Handlers with a budget: one that does not return in time is left behind, and watched.
 *
 * @module
 */

import { after } from "./timer.ts";

/** The handlers of one plugin that run late. */
export class LateCalls {
  /** How many have not come back yet. */
  running = 0;
  readonly #stuckMs: number;
  readonly #onWedged: ((what: string) => void) | undefined;

  /**
   * Creates an empty set.
   *
   * @param stuckMs How long one may go on before the plugin counts as wedged.
   * @param onWedged Says that it does.
   */
  constructor(stuckMs: number, onWedged: ((what: string) => void) | undefined) {
    this.#stuckMs = stuckMs;
    this.#onWedged = onWedged;
  }

  /**
   * Watches a call that is late.
   *
   * @param call The call.
   * @param what What it calls, for people.
   */
  watch(call: Promise<unknown>, what: string): void {
    const timer = after(this.#stuckMs, () => this.#onWedged?.(what));
    this.running++;
    const back = () => {
      this.running--;
      clearTimeout(timer);
    };
    call.then(back, back);
  }
}

/**
 * Waits for a call no longer than its budget.
 *
 * @param call The call.
 * @param budgetMs The budget; `Infinity` for none.
 * @returns What it gave, or `undefined` when it is late.
 */
export async function withinBudget<T>(
  call: Promise<T>,
  budgetMs: number,
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = after(budgetMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([call, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
