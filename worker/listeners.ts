/**
 * Functions of a host that are told what happens.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";

/** Listeners to one kind of event. What one of them throws is its mistake and not the end of the session. */
export class Listeners<T> {
  readonly #all = new Set<(event: T) => void>();
  readonly #log: (line: string) => void;

  /**
   * Makes an empty set.
   *
   * @param log Takes a line about a listener that failed.
   */
  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /**
   * Adds one.
   *
   * @param listener The function.
   * @returns A function that takes it out again.
   */
  add(listener: (event: T) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  /**
   * Tells all of them, those that come or go meanwhile left aside.
   *
   * @param event What happened.
   */
  tell(event: T): void {
    for (const listener of [...this.#all]) {
      try {
        listener(event);
      } catch (error) {
        this.#log(
          `A listener failed: ${reasonOf(error)}`,
        );
      }
    }
  }
}
