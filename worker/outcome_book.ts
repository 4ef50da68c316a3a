/**
 * How the last turns ended, and who waits for those that run.
 *
 * @module
 */

import type { TurnOutcome } from "./turns.ts";

/** How many outcomes are kept. */
const KEPT = 64;

/** The outcomes of one session. */
export class OutcomeBook {
  readonly #waiting = new Map<string, ((outcome: TurnOutcome) => void)[]>();
  #last: TurnOutcome[] = [];

  /** The outcomes of the last turns, oldest first. */
  get last(): readonly TurnOutcome[] {
    return this.#last;
  }

  /**
   * Waits for the end of a turn.
   *
   * @param turn The id of a turn that is open.
   * @returns Resolves with the outcome.
   */
  wait(turn: string): Promise<TurnOutcome> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(turn) ?? [];
      waiting.push(resolve);
      this.#waiting.set(turn, waiting);
    });
  }

  /**
   * Takes an outcome down and tells those who wait.
   *
   * @param outcome The outcome.
   */
  settle(outcome: TurnOutcome): void {
    this.#last = [...this.#last.slice(1 - KEPT), outcome];
    for (const turn of outcome.turns) {
      for (const resolve of this.#waiting.get(turn) ?? []) resolve(outcome);
      this.#waiting.delete(turn);
    }
  }
}

/**
 * What is said of a turn that nobody knows.
 *
 * @param turn The id.
 * @returns The outcome.
 */
export function unknownOutcome(turn: string): TurnOutcome {
  return {
    turns: [turn],
    outcome: "lost",
    text: null,
    errors: ["no such turn is open"],
    denied: [],
    costUsd: null,
    durationMs: null,
    selfStarted: false,
  };
}
