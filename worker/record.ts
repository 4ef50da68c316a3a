/**
 * What a worker leaves on the disk: claim, state, registry row, events.
 *
 * @module
 */

import { ensurePrivateDir, writeFileAtomic } from "@bulkhead/sandbox";
import type { AgentEnd } from "./agents/driver.ts";
import type { Session } from "./session.ts";
import type { EndReason, WorkerOptions } from "./worker.ts";

/** The claim on a session: one without the other is useless. */
export interface SessionClaim {
  /** The session's id. */
  readonly sessionUuid: string;
  /** Who holds it. */
  readonly holder: string;
}

/** The record of one worker. */
export class WorkerRecord {
  /** Where the worker's socket is. */
  readonly socketPath: string;
  readonly #options: WorkerOptions;
  readonly #dir: string;

  /**
   * Makes the record of a worker; nothing is written.
   *
   * @param options The worker
   */
  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#dir = `${options.home}/${options.shortId}`;
    this.socketPath = `${this.#dir}/worker.sock`;
  }

  /** Makes the place, claims the session and ends what a killed worker has left. */
  async prepare(): Promise<void> {
    await ensurePrivateDir(this.#options.home);
    await ensurePrivateDir(this.#dir);
  }

  /** The agent did not come up. */
  async startFailed(_error: unknown): Promise<void> {}

  /** The agent is up. */
  async live(session: Session): Promise<void> {
    await this.#state("live", true, session);
  }

  /** The agent has ended. */
  async ended(
    reason: EndReason,
    _end: AgentEnd,
    session: Session,
  ): Promise<void> {
    await this.#state(
      reason === "child_exited" ? "orphaned" : "exited",
      false,
      session,
    );
  }

  /** Appends an event. */
  event(_type: string, _data: Record<string, unknown>): void {}

  /** Lets the claim go if it is still ours. */
  async releaseClaim(): Promise<void> {}

  async #state(
    status: string,
    ready: boolean,
    _session: Session,
  ): Promise<void> {
    await writeFileAtomic(
      `${this.#dir}/state.json`,
      JSON.stringify(
        { schema_version: 1, short_id: this.#options.shortId, status, ready },
        null,
        2,
      ),
    );
  }
}
