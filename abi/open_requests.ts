/**
 * What a child owes: requests by number, and a watchdog that asks whether it still lives.
 *
 * @module
 */

import type { AbiError } from "./errors.ts";
import type { Head } from "./rpc.ts";

/** A frame of the child. */
export interface Frame {
  /** What it says. */
  readonly head: Head;
  /** Its text. */
  readonly body: Uint8Array;
}

interface Pending {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: AbiError) => void;
  readonly onUpdate: ((text: string) => void) | undefined;
}

/** Without a word from a child that owes an answer, it is asked whether it lives. */
const PING_MS = 5_000;

/** The requests of one child that have no answer yet. */
export class OpenRequests {
  readonly #pending = new Map<number, Pending>();
  readonly #ping: () => void;
  readonly #onSilence: () => void;
  #nextId = 1;
  #heard = 0;
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  /**
   * Creates an empty set.
   *
   * @param ping Asks the child whether it lives.
   * @param onSilence Says that it did not even answer that.
   */
  constructor(ping: () => void, onSilence: () => void) {
    this.#ping = ping;
    this.#onSilence = onSilence;
  }

  /** The number of the next request. */
  next(): number {
    return this.#nextId++;
  }

  /** Waits for the answer to a request. */
  wait(
    id: number,
    onUpdate: ((text: string) => void) | undefined,
  ): Promise<Frame> {
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    this.#pending.set(id, { resolve, reject, onUpdate });
    this.#watchdog ??= setTimeout(() => this.#ask(performance.now()), PING_MS);
    return promise;
  }

  /** Notes that the child said something. */
  heard(): void {
    this.#heard = performance.now();
  }

  /** Passes progress on. */
  update(id: number, text: () => string): void {
    this.#pending.get(id)?.onUpdate?.(text());
  }

  /** Answers a request. */
  resolve(id: number, frame: Frame): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.resolve(frame);
  }

  /** Refuses a request. */
  reject(id: number, error: AbiError): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.reject(error);
  }

  /** Refuses all of them: the child is gone. */
  fail(error: AbiError): void {
    this.rest();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }

  /** Asks no more whether the child lives. */
  rest(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
  }

  /** A child whose main thread stands still answers nothing, not even this. */
  #ask(asked: number): void {
    this.#watchdog = undefined;
    if (this.#pending.size === 0) return;
    this.#ping();
    this.#watchdog = setTimeout(() => {
      this.#watchdog = undefined;
      if (this.#pending.size === 0) return;
      if (this.#heard < asked) return this.#onSilence();
      this.#watchdog = setTimeout(() => this.#ask(performance.now()), PING_MS);
    }, PING_MS);
  }
}
