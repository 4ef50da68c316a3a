/**
 * At most so many native calls at once. Deno runs them on 32 threads that files and stdout share; when all are taken
 * by plugins that do not return, nothing else moves.
 *
 * @module
 */

/** Lets calls through up to a limit; cancel, destroy and free have a few places of their own. */
export class Gate {
  readonly #limit: number;
  readonly #reserve: number;
  readonly #waiting: (() => void)[] = [];
  #head = 0;
  #active = 0;

  /**
   * Creates a gate.
   *
   * @param limit How many ordinary calls may run.
   * @param reserve How many more urgent ones may run on top.
   */
  constructor(limit = 24, reserve = 4) {
    this.#limit = limit;
    this.#reserve = reserve;
  }

  /** How many calls run now. */
  get active(): number {
    return this.#active;
  }

  /** How many calls wait. */
  get queued(): number {
    return this.#waiting.length - this.#head;
  }

  /**
   * Runs a call when there is a place for it.
   *
   * @param call Starts the native call.
   * @param urgent Whether it may use the reserve.
   * @returns What the call returns.
   */
  run<T>(call: () => Promise<T>, urgent = false): Promise<T> {
    if (this.#active < this.#limit + (urgent ? this.#reserve : 0)) {
      return this.#start(call);
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    return turn.promise.then(() => this.#start(call));
  }

  async #start<T>(call: () => Promise<T>): Promise<T> {
    this.#active++;
    try {
      return await call();
    } finally {
      this.#active--;
      if (this.#active < this.#limit && this.#head < this.#waiting.length) {
        const next = this.#waiting[this.#head];
        this.#head++;
        if (this.#head > 1024 && this.#head * 2 > this.#waiting.length) {
          this.#waiting.splice(0, this.#head);
          this.#head = 0;
        }
        next?.();
      }
    }
  }
}
