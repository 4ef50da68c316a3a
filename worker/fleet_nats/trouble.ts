/**
 * A server that does not take what a session has to say.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import type { Fleet } from "./connection.ts";

/** How long the same trouble is not told again. */
const TELL_MS = 30_000;

/**
 * Tells of it, at most every half minute; local work goes on while the lease holds. The
 * server may have lost its streams: they are made again.
 */
export class ServerTrouble {
  readonly #fleet: Fleet;
  readonly #log: (line: string) => void;
  #told: number | undefined;

  /**
   * Hears of nothing yet.
   *
   * @param fleet The connection.
   * @param log Takes one line for the log.
   */
  constructor(fleet: Fleet, log: (line: string) => void = () => {}) {
    this.#fleet = fleet;
    this.#log = log;
  }

  /** Something was not taken; whoever wanted it taken tries again. */
  met(error: unknown): void {
    const now = performance.now();
    if (this.#told === undefined || now - this.#told > TELL_MS) {
      this.#told = now;
      this.#log(`fleet: ${reasonOf(error)}; trying again`);
    }
    if (!this.#fleet.nc.isClosed()) this.#fleet.repair().catch(() => {});
  }
}
