/**
 * Frames between the one who makes them and the one who reads them.
 *
 * @module
 */

import type { Frame } from "../frame.ts";
import type { AgentFrame } from "./driver.ts";

/** A queue with one reader, who gets everything that has come since it last looked. */
export class FrameQueue {
  #waiting: AgentFrame[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  /**
   * Adds a frame.
   *
   * @param frame The frame.
   * @param raw The line that it came from.
   */
  push(frame: Frame, raw: string): void {
    if (this.#ended) return;
    this.#waiting.push({ frame, raw });
    this.#wake?.();
  }

  /** No frame comes any more. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /**
   * Reads to the end.
   *
   * @returns The frames, in batches.
   */
  async *batches(): AsyncGenerator<readonly AgentFrame[], void, undefined> {
    for (;;) {
      if (this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        yield batch;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }
}
