/**
 * Notices that a running turn says nothing for too long.
 *
 * @module
 */

/** What the watch needs of its session. */
export interface StallPort {
  /** How long the agent has been silent, in milliseconds. */
  silentMs(): number;
  /** Whether a turn still runs. */
  runs(): boolean;
  /**
   * Takes note of a stall, once for each silence.
   *
   * @param silentMs How long it has been.
   */
  stalled(silentMs: number): void;
}

/** One timer while a turn runs, and none while the session rests; it looks at the last frame when it fires. */
export class StallWatch {
  readonly #limit: number;
  readonly #port: StallPort;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stalled = false;

  /**
   * Makes a watch; nothing is armed.
   *
   * @param limitMs How long a running turn may be silent; 0 for ever.
   * @param port The session.
   */
  constructor(limitMs: number, port: StallPort) {
    this.#limit = limitMs;
    this.#port = port;
  }

  /** True when the running turn has been silent for too long. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** The agent has said something. */
  heard(): void {
    this.#stalled = false;
  }

  /**
   * Watches or rests.
   *
   * @param running Whether a turn runs.
   */
  watch(running: boolean): void {
    if (running && this.#limit > 0) {
      if (this.#timer === undefined) this.#arm(this.#limit);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(wait: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const silent = this.#port.silentMs();
      if (silent >= this.#limit && !this.#stalled) {
        this.#stalled = true;
        this.#port.stalled(silent);
      }
      if (this.#port.runs()) {
        this.#arm(Math.max(this.#limit - silent, this.#limit / 4, 1));
      }
    }, wait);
  }
}
