// deno-lint-ignore-file camelcase -- field names are the files' own
/**
 * What a worker leaves on the disk: its lock, its claim, its state, its row in the registry, its events.
 *
 * @module
 */

import { pause, reasonOf } from "@bulkhead/sandbox";
import type { AgentEnd } from "./agents/driver.ts";
import { AgentStartError } from "./agents/start_error.ts";
import { askBrake, EARLY_DEATH_MS, earlyDeath } from "./crash_brake.ts";
import type { Session } from "./session.ts";
import { SessionClaims } from "./session_claims.ts";
import { appendEvent, fitEventData } from "./store/events.ts";
import {
  checkSocketPath,
  ensureHome,
  type HeldLock,
  lockWorker,
  workerFiles,
  workerHome,
} from "./store/home.ts";
import { endProcess, processStart } from "./store/processes.ts";
import { findRow, updateRegistry } from "./store/registry.ts";
import {
  readState,
  updateState,
  type WorkerState,
  type WorkerStateChange,
} from "./store/state.ts";
import type { EndReason, WorkerOptions } from "./worker_options.ts";

/** The record of one worker. */
export class WorkerRecord {
  /** Where the worker's socket is. */
  readonly socketPath: string;
  readonly #options: WorkerOptions;
  readonly #home: ReturnType<typeof workerHome>;
  readonly #source: string;
  #lock: HeldLock | undefined;
  readonly #claims: SessionClaims;
  #deaths = 0;
  #startedAt = performance.now();
  #events: Promise<void> = Promise.resolve();
  #ended = false;

  /**
   * Makes the record of a worker; nothing is written.
   *
   * @param options The worker.
   * @throws {RangeError} When the name is no plain name or the socket's path would be too long.
   */
  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#home = workerHome(options.home);
    this.#claims = new SessionClaims({
      root: options.claimsRoot,
      log: (line) => options.log?.(line),
    });
    this.#source = `stream-worker:${options.shortId}`;
    this.socketPath = workerFiles(this.#home, options.shortId).socket;
    checkSocketPath(this.socketPath);
  }

  /**
   * Takes the name and the claim, and ends what a killed worker has left, so that the session has one writer.
   *
   * @throws {Deno.errors.Busy} When the name or the session belongs to a live worker, or the brake is on.
   */
  async prepare(): Promise<void> {
    const { shortId } = this.#options;
    await ensureHome(this.#home);
    this.#lock = await lockWorker(this.#home, shortId);
    if (this.#lock === undefined) {
      throw new Deno.errors.Busy(
        `Cannot start the worker "${shortId}": one of that name runs in "${this.#home.root}"; stop it first`,
      );
    }
    try {
      await this.#claimKnown();
      const before = await this.#before();
      if (before !== undefined) {
        await this.#endSurvivor(before);
        await this.#brake(before);
      }
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  /**
   * Claims a session that the agent says it writes. A caller who brings the argv answers for its session.
   *
   * @param sessionId The session.
   * @throws {Deno.errors.Busy} When somebody else writes it.
   */
  async claim(sessionId: string | undefined): Promise<void> {
    const { claim, driver, shortId } = this.#options;
    if (sessionId === undefined || driver.callersSession === true) return;
    await this.#claims.take(sessionId, claim?.holder || `stream:${shortId}`);
  }

  /**
   * The agent has told which session it writes, or has gone over to another one.
   *
   * @param sessionId The session.
   * @throws {Deno.errors.Busy} When somebody else writes it.
   */
  async goneOver(sessionId: string | undefined): Promise<void> {
    await this.claim(sessionId);
    const callers = this.#options.driver.callersSession === true;
    if (sessionId === undefined || callers || this.#ended) return;
    this.#events = this.#events.then(() => this.#writeSession(sessionId));
    await this.#events;
  }

  async #writeSession(sessionId: string): Promise<void> {
    await this.#change({ session_id: sessionId });
    if (this.#options.name === undefined) return;
    await this.#attempt("write the registry", async () => {
      await updateRegistry(this.#home, (rows) => {
        const row = findRow(rows, this.#options.shortId);
        if (row !== undefined) row.harness_session_id = sessionId;
      });
    });
  }

  /**
   * The agent did not come up.
   *
   * @param error Why.
   */
  async startFailed(error: unknown): Promise<void> {
    // A program that is not there is no session that keeps dying.
    if (!(error instanceof AgentStartError)) return;
    await this.#change(
      await earlyDeath(++this.#deaths, error.end.stderrTail || error.message),
    );
  }

  /**
   * The agent is up.
   *
   * @param session The session.
   */
  async live(session: Session): Promise<void> {
    this.#startedAt = performance.now();
    const child = session.driver.status().pid;
    const start = child === null ? undefined : await processStart(child);
    if (child !== null && start !== undefined) {
      await this.#claims.writtenBy({ pid: child, ticks: start.ticks });
    }
    const own = await processStart(Deno.pid);
    const now = new Date().toISOString();
    await updateState(this.#home, this.#options.shortId, {
      status: "live",
      ready: true,
      restart_count: this.#deaths,
      worker_pid: Deno.pid,
      worker_start: own?.ticks ?? null,
      child_pid: child,
      child_start: start?.ticks ?? null,
      agent: session.driver.name,
      session_id: session.sessionId ?? null,
      cwd: this.#options.cwd,
      gate: session.gate?.kind ?? "none",
      started_at: now,
      ended_at: null,
      end_reason: null,
      exit_code: null,
      stderr_tail: null,
    });
    if (this.#options.name !== undefined) {
      await this.#register(this.#options.name, session, own?.ticks, now);
    }
    this.event("agent_started", {
      short_id: this.#options.shortId,
      lane: "stream",
      agent: session.driver.name,
      gate: session.gate?.kind ?? "none",
    });
  }

  /**
   * The agent has ended: event, row, state, in this order. What cannot be written is logged.
   *
   * @param reason Why the worker ends.
   * @param end How the agent ended.
   * @param session The session.
   */
  async ended(
    reason: EndReason,
    end: AgentEnd,
    session: Session,
  ): Promise<void> {
    const { shortId } = this.#options;
    this.#ended = true;
    const data = {
      short_id: shortId,
      lane: "stream",
      reason,
      exit_code: end.code,
      stderr_tail: end.stderrTail,
    };
    this.event("agent_exited", fitEventData(data, "stderr_tail"));
    await this.#events;
    await this.#attempt("update the registry", () => this.#endRow(reason));
    const early = reason === "child_exited" && session.turns.finished === 0 &&
      performance.now() - this.#startedAt < EARLY_DEATH_MS;
    await this.#change({
      ...(early
        ? await earlyDeath(++this.#deaths, end.stderrTail)
        : { restart_count: 0 }),
      status: reason === "child_exited" ? "orphaned" : "exited",
      ready: false,
      ended_at: new Date().toISOString(),
      end_reason: reason,
      exit_code: end.code,
      stderr_tail: end.stderrTail === "" ? null : end.stderrTail,
      session_id: session.sessionId ?? null,
      cost_usd: session.turns.totalCostUsd,
      child_pid: null,
      child_start: null,
    });
  }

  /**
   * Appends an event; events keep their order.
   *
   * @param type What happened.
   * @param data Its facts.
   */
  event(type: string, data: Record<string, unknown>): void {
    const { shortId } = this.#options;
    this.#events = this.#events.then(() =>
      this.#attempt(
        "record an event",
        () =>
          appendEvent(this.#home, {
            type,
            source: this.#source,
            data: { short_id: shortId, ...data },
          }),
      )
    );
  }

  /** Lets the claim and the name go, if they are still ours. */
  async release(): Promise<void> {
    await this.#events;
    await this.#attempt("release the claim", () => this.#claims.release());
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** What is known before the agent starts. */
  async #claimKnown(): Promise<void> {
    const { claim, resume, sessionId } = this.#options;
    if (claim !== undefined) {
      await this.#claims.take(claim.sessionUuid, claim.holder);
    }
    await this.claim(resume);
    await this.claim(sessionId);
  }

  /** Two agents that write one session tear it apart. */
  async #endSurvivor(before: WorkerState): Promise<void> {
    const { child_pid: pid, child_start: ticks } = before;
    if (typeof pid !== "number" || typeof ticks !== "number") return;
    if (await endProcess({ pid, ticks })) {
      this.#options.log?.(
        `Ended the agent that a former worker had left (pid ${pid})`,
      );
    }
    if ((await processStart(pid))?.ticks === ticks) {
      throw new Deno.errors.Busy(
        `Cannot end the agent that a former worker has left: pid ${pid} does not die; end it with "kill -9 ${pid}"`,
      );
    }
  }

  async #before(): Promise<WorkerState | undefined> {
    try {
      return await readState(this.#home, this.#options.shortId);
    } catch (error) {
      this.#options.log?.(reasonOf(error));
      return undefined;
    }
  }

  async #brake(before: WorkerState): Promise<void> {
    if (this.#options.force === true) return;
    const { deaths, waitMs, refused } = await askBrake(before);
    this.#deaths = deaths;
    if (refused) {
      await this.#change({ status: "permanent_dead", ready: false });
      const last = String(before.last_error ?? "").trim().split("\n").at(-1) ??
        "";
      throw new Deno.errors.Busy(
        `Cannot start the worker "${this.#options.shortId}": its agent died at once ${deaths} times in a row` +
          `${
            last === "" ? "" : `, last with "${last}"`
          }; start it with --force or after ten minutes`,
      );
    }
    if (waitMs > 0) await pause(waitMs);
  }

  async #register(
    name: string,
    session: Session,
    ticks: number | undefined,
    now: string,
  ): Promise<void> {
    const { shortId, cwd } = this.#options;
    await this.#attempt("write the registry", async () => {
      await updateRegistry(this.#home, (rows) => {
        const old = rows.findIndex((row) =>
          row.short_id === shortId || row.name === name
        );
        if (old >= 0) rows.splice(old, 1);
        rows.push({
          name,
          cwd,
          status: "live",
          created_at: now,
          short_id: shortId,
          project_root: cwd,
          harness: session.driver.name,
          ...(session.sessionId === undefined
            ? {}
            : { harness_session_id: session.sessionId }),
          ...(this.#options.model === undefined
            ? {}
            : { model: this.#options.model }),
          host_mode: "interactive",
          pid: Deno.pid,
          ...(ticks === undefined ? {} : { pid_start_time: ticks }),
          log_path: workerFiles(this.#home, shortId).timeline,
          origin: "spawn",
        });
      });
    });
  }

  async #endRow(reason: EndReason): Promise<void> {
    const { shortId } = this.#options;
    await updateRegistry(this.#home, (rows) => {
      if (reason === "idle-release") {
        const kept = rows.filter((row) => row.short_id !== shortId);
        rows.splice(0, rows.length, ...kept);
        return;
      }
      const row = findRow(rows, shortId);
      if (row === undefined) return;
      row.status = reason === "child_exited" ? "orphaned" : "exited";
      row.exited_at = new Date().toISOString();
    });
  }

  async #change(change: WorkerStateChange): Promise<void> {
    await this.#attempt("write the state", async () => {
      await updateState(this.#home, this.#options.shortId, change);
    });
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log?.(
        `Cannot ${what}: ${reasonOf(error)}`,
      );
    }
  }
}
