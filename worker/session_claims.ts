/**
 * The claims of one worker: on the session it was started for, and on the one its agent says it writes.
 *
 * @module
 */

import { encodeHex } from "./agents/_hex.ts";
import { type Claim, readClaim } from "./store/claim_file.ts";
import {
  acquireClaim,
  type ClaimOptions,
  releaseClaim,
} from "./store/claims.ts";
import { thisMachine } from "./store/machine.ts";
import {
  endProcess,
  type ProcessMark,
  processStart,
} from "./store/processes.ts";

/** Longer ids do not fit into the name of a claim's file. */
const MAX_ID_BYTES = 72;

/** Options of {@linkcode SessionClaims}. */
export interface SessionClaimsOptions {
  /** The directory above `.fno/claims`; that of the environment by default. */
  readonly root: string | undefined;
  /** Takes one line for the worker's own log. */
  log(line: string): void;
}

/** What one worker has claimed. */
export class SessionClaims {
  readonly #options: SessionClaimsOptions;
  readonly #writer = crypto.randomUUID();
  readonly #held = new Map<string, { key: string; holder: string }>();
  #agent: ProcessMark | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #over = false;

  /**
   * Makes an empty set of claims.
   *
   * @param options Where claims are.
   */
  constructor(options: SessionClaimsOptions) {
    this.#options = options;
  }

  /**
   * Claims a session, unless it is ours already. An agent that a killed worker has left on it is ended first.
   * A claim store that cannot be used stops nobody; a live writer does.
   *
   * @param sessionId The session.
   * @param holder Who claims it.
   * @throws {Deno.errors.Busy} When somebody else writes it, or what was left on it does not die.
   */
  take(sessionId: string, holder: string): Promise<void> {
    return this.#next(() => this.#take(sessionId, holder));
  }

  async #take(sessionId: string, holder: string): Promise<void> {
    if (sessionId === "" || holder === "") return;
    if (this.#over || this.#held.has(sessionId)) return;
    const key = await keyOf(sessionId);
    const outcome = await acquireClaim(key, holder, {
      ...this.#claimOptions(),
      exclusive: true,
      handoverFrom: await this.#starters(key),
    });
    if (outcome.kind === "held") {
      throw new Deno.errors.Busy(
        `Cannot claim the session "${sessionId}": "${outcome.claim.holder}" (pid ${outcome.claim.pid}) writes it; stop that first`,
      );
    }
    if (outcome.kind === "error") {
      this.#options.log(
        `Cannot claim the session, going on: ${outcome.message}`,
      );
      return;
    }
    this.#held.set(sessionId, { key, holder });
    if (outcome.previous === undefined) return;
    const left = await markOn(outcome.previous);
    if (left !== undefined) await this.#endLeft(sessionId, left);
  }

  /**
   * Notes the agent's process in the claims, so that whoever takes them from a killed worker finds it.
   *
   * @param agent The process.
   */
  writtenBy(agent: ProcessMark): Promise<void> {
    return this.#next(() => this.#mark(agent));
  }

  async #mark(agent: ProcessMark): Promise<void> {
    this.#agent = agent;
    for (const { key, holder } of this.#held.values()) {
      await acquireClaim(key, holder, {
        ...this.#claimOptions(),
        exclusive: true,
      });
    }
  }

  /** Lets all of them go, if they are still ours; nothing is claimed any more. */
  release(): Promise<void> {
    return this.#next(async () => {
      this.#over = true;
      const held = [...this.#held.values()];
      this.#held.clear();
      for (const { key, holder } of held) {
        await releaseClaim(key, holder, this.#claimOptions());
      }
    });
  }

  /** One after the other: a claim that is made while all are let go would stay. */
  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }

  #claimOptions(): ClaimOptions {
    const { root } = this.#options;
    const agent = this.#agent;
    return {
      ...(root === undefined ? {} : { root }),
      pid: Deno.pid,
      metadata: {
        writer: "worker",
        ["writer_id"]: this.#writer,
        ...(agent === undefined
          ? {}
          : { ["agent_pid"]: agent.pid, ["agent_ticks"]: agent.ticks }),
      },
    };
  }

  /** Whoever started us may hold the claim for us; another worker may not. */
  async #starters(key: string): Promise<number[]> {
    const found = await readClaim(key, this.#claimOptions()).catch(() =>
      undefined
    );
    return found !== undefined && found.metadata?.writer !== "worker"
      ? [found.pid]
      : [];
  }

  /** Two agents that write one session tear it apart. */
  async #endLeft(sessionId: string, left: ProcessMark): Promise<void> {
    if (await endProcess(left)) {
      this.#options.log(
        `Ended the agent that a former worker had left on the session (pid ${left.pid})`,
      );
    }
    if ((await processStart(left.pid))?.ticks !== left.ticks) return;
    // The claim stays and names it, so that nobody else goes on either.
    await this.#mark(left);
    this.#held.delete(sessionId);
    throw new Deno.errors.Busy(
      `Cannot end the agent that a former worker has left on the session: pid ${left.pid} does not die; end it with "kill -9 ${left.pid}"`,
    );
  }
}

/** The agent that a claim names, if it was started on this machine since it booted. */
async function markOn(claim: Claim): Promise<ProcessMark | undefined> {
  const { machineId, bootId } = await thisMachine();
  const { agent_pid: pid, agent_ticks: ticks, boot_id: boot } =
    claim.metadata ?? {};
  if (claim.machineId !== machineId || boot !== bootId) return undefined;
  if (typeof pid !== "number" || typeof ticks !== "number") return undefined;
  return { pid, ticks };
}

/** Agents give their sessions what names they like. */
async function keyOf(sessionId: string): Promise<string> {
  const bytes = new TextEncoder().encode(sessionId);
  if (bytes.length <= MAX_ID_BYTES) return `session:${sessionId}`;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `session:sha256-${encodeHex(hash)}`;
}
