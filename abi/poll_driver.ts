/**
 * One tool call: execute, poll until it ends, cancel at most once, destroy exactly once and never while poll runs.
 *
 * @module
 */

import { STEP_DONE, STEP_ERR, STEP_PENDING, STEP_TAGS } from "./codes.ts";
import { after } from "./timer.ts";

/** One step as the driver sees it: the string is copied out and already freed. */
export interface Step {
  /** The tag. */
  readonly tag: number;
  /** Progress, result or message. */
  readonly text: string;
}

/** The four functions of a tool, bound to one call. All of them are nonblocking for the driver. */
export interface StepPort {
  /**
   * Starts the call; 0 means failure.
   *
   * @param begin Asked at the moment when there is a place for it; with `false` it is not wanted any more.
   */
  execute(begin: () => boolean): Promise<bigint>;
  /** One step. */
  poll(handle: bigint): Promise<Step>;
  /** Sets the cancel flag. */
  cancel(handle: bigint): Promise<void>;
  /** Frees the handle. */
  destroy(handle: bigint): Promise<void>;
}

/** How a call ended. */
export interface CallOutcome {
  /**
   * - `done`, `error`: the tool said so
   * - `null_handle`: execute refused
   * - `cancelled`: the caller stopped it before it began, or it never noticed
   * - `bad_tag`: poll returned something undefined
   */
  readonly kind: "done" | "error" | "null_handle" | "cancelled" | "bad_tag";
  /** Result, error message, or empty. */
  readonly text: string;
  /** True when the caller stopped the call before it ended. */
  readonly cancelled: boolean;
  /** True when the tool did not end within the grace after a cancel. */
  readonly ignoredCancel: boolean;
}

/** Options of {@linkcode driveCall}. */
export interface DriveOptions {
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Gets progress that poll returns inline. */
  readonly onProgress?: (text: string) => void;
  /** How long a cancelled tool may go on before its caller is answered. */
  readonly cancelGraceMs: number;
  /** How long after a cancel a function of the tool may still run before the plugin counts as wedged. */
  readonly stuckMs: number;
  /** Says that a function of the tool did not come back. */
  readonly onWedged?: (what: string) => void;
}

/** A call under way. */
export interface DrivenCall {
  /** What to tell the caller, and when. */
  readonly outcome: Promise<CallOutcome>;
  /** Settles when the handle is destroyed, or was never made. */
  readonly finished: Promise<void>;
}

/** What is told of a call that was stopped before there was a place for it. */
const NEVER_BEGAN = "it never began, other calls of the plugin do not return";
/** Polls without a pause in the beginning. */
const EAGER_POLLS = 8;
/** The longest pause between two polls. */
const MAX_PAUSE_MS = 25;

/**
 * Drives one call.
 *
 * @param port The tool's functions.
 * @param options Cancel, progress and limits.
 * @returns The outcome and the end of the call.
 */
export function driveCall(port: StepPort, options: DriveOptions): DrivenCall {
  const driver = new CallDriver(port, options);
  const finished = driver.run();
  return { outcome: driver.outcome.promise, finished };
}

class CallDriver {
  readonly outcome = Promise.withResolvers<CallOutcome>();
  readonly #port: StepPort;
  readonly #options: DriveOptions;
  #handle = 0n;
  #where = "execute";
  #begun = false;
  #cancelled = false;
  #ignored = false;
  #cancelling: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #timers: ReturnType<typeof after>[] = [];

  constructor(port: StepPort, options: DriveOptions) {
    this.#port = port;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted) {
      this.#settle("cancelled", "");
      return;
    }
    const onAbort = () => this.#cancel();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#drive();
    } catch (error) {
      this.outcome.reject(error);
    } finally {
      signal?.removeEventListener("abort", onAbort);
      for (const timer of this.#timers) clearTimeout(timer);
    }
  }

  async #drive(): Promise<void> {
    this.#handle = await this.#port.execute(() => {
      this.#begun = !this.#cancelled;
      return this.#begun;
    });
    if (this.#handle === 0n) return this.#settle("null_handle", "");
    // A cancel that came while execute ran is delivered now.
    if (this.#cancelled) this.#cancelling ??= this.#port.cancel(this.#handle);
    let kind: CallOutcome["kind"];
    let text: string;
    try {
      [kind, text] = await this.#poll();
    } catch (error) {
      await this.#destroy();
      throw error;
    }
    await this.#destroy(kind, text);
    this.#settle(kind, text);
  }

  async #destroy(kind?: CallOutcome["kind"], text = ""): Promise<void> {
    this.#where = "destroy";
    await this.#cancelling;
    // Nobody may wait for ever on a destructor.
    if (kind !== undefined && this.#timers.length === 0) {
      this.#guardDestroy(kind, text);
    }
    await this.#port.destroy(this.#handle);
  }

  async #poll(): Promise<[CallOutcome["kind"], string]> {
    let quiet = 0;
    while (true) {
      this.#where = "poll";
      const step = await this.#port.poll(this.#handle);
      if (step.tag === STEP_DONE) return ["done", step.text];
      if (step.tag === STEP_ERR) return ["error", step.text];
      if (step.tag !== STEP_PENDING) return ["bad_tag", describeTag(step.tag)];
      if (step.text !== "") {
        quiet = 0;
        if (!this.#cancelled) this.#options.onProgress?.(step.text);
      } else quiet++;
      if (this.#ignored) return ["cancelled", ""];
      if (quiet > EAGER_POLLS) {
        await this.#pause(
          Math.min(2 ** (quiet - EAGER_POLLS - 1), MAX_PAUSE_MS),
        );
      }
      if (this.#ignored) return ["cancelled", ""];
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    if (this.#handle !== 0n && this.#where === "poll") {
      this.#cancelling = this.#port.cancel(this.#handle);
    }
    this.#wake?.();
    // Nothing of the tool runs yet, so there is nothing to wait for, and nobody to blame.
    if (!this.#begun) return this.#settle("cancelled", NEVER_BEGAN);
    const { cancelGraceMs, stuckMs, onWedged } = this.#options;
    // A little earlier: a tool that is between two polls is destroyed before its caller is answered.
    const early = Math.min(100, cancelGraceMs / 4);
    this.#timers.push(
      after(cancelGraceMs - early, () => {
        this.#ignored = true;
        this.#wake?.();
        // A function that still runs keeps the handle; only the caller goes. Set only now: on a busy machine two
        // timers that are both due may fire in any order.
        this.#timers.push(
          after(early, () => this.#settle("cancelled", "")),
        );
      }),
      after(
        Math.max(stuckMs, cancelGraceMs),
        () => onWedged?.(this.#where),
      ),
    );
  }

  #guardDestroy(kind: CallOutcome["kind"], text: string): void {
    const { cancelGraceMs, stuckMs, onWedged } = this.#options;
    // The second timer only after the first: every call passes here, and a timer costs as much as what it watches.
    const late = () => {
      this.#settle(kind, text);
      this.#timers.push(
        after(stuckMs - cancelGraceMs, () => onWedged?.(this.#where)),
      );
    };
    this.#timers.push(after(cancelGraceMs, late));
  }

  #settle(kind: CallOutcome["kind"], text: string): void {
    this.outcome.resolve({
      kind,
      text,
      cancelled: this.#cancelled,
      ignoredCancel: this.#ignored,
    });
  }
}

function describeTag(tag: number): string {
  return `poll returned tag ${tag}, only 0 to ${
    STEP_TAGS.length - 1
  } are defined`;
}
