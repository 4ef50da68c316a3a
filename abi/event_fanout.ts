/**
 * Events for several plugins: in order of priority, within budgets, awaited or queued.
 *
 * @module
 */

import { pause } from "@bulkhead/sandbox";
import { type EncodedEvent, encodeEvent, type NativeEvent } from "./codec.ts";
import type { EventName } from "./codes.ts";
import type { DispatchMode, DispatchOutcome } from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import {
  eventOrder,
  EventQueue,
  type EventRule,
  eventRule,
  VETO_EXIT_CODE,
} from "./events.ts";
import type { NativePlugin } from "./plugin.ts";

/** What the plugins made of an event. */
export interface EventResult {
  /** The plugin that vetoed it and what that means. */
  veto?: {
    plugin: string;
    effect: "exit" | "advisory" | "ignored" | "stop";
    exitCode?: number;
  };
  /** The plugin that claimed it: the host leaves its own handling out. */
  claimedBy?: string;
  /** Handlers that failed, ran late or were skipped, one line each. */
  problems: string[];
}

/** Options of {@linkcode NativeHost.dispatch}. */
export interface DispatchOptions {
  /**
   * Which answers of handlers count.
   *
   * @default the event's own rule
   */
  mode?: DispatchMode;
}

/** An event as it was when it was emitted. */
interface Emitted {
  readonly type: EventName;
  readonly encoded: EncodedEvent;
}

/** Sends events to the plugins of a host. */
export class EventFanout {
  readonly #plugins: readonly NativePlugin[];
  readonly #say: (line: string) => void;
  readonly #queue = new EventQueue<Emitted>();
  readonly #busy = new Set<NativePlugin>();
  #draining: Promise<void> | undefined;
  #closed = false;

  /**
   * Creates a fan-out.
   *
   * @param plugins The plugins, in the order of loading; the host adds to them.
   * @param say Gets what went wrong, one line each.
   */
  constructor(
    plugins: readonly NativePlugin[],
    say: (line: string) => void,
  ) {
    this.#plugins = plugins;
    this.#say = say;
  }

  /** Events that were dropped because the plugins were too slow. */
  get dropped(): number {
    return this.#queue.dropped;
  }

  /**
   * Sends an event to every handler, in order, and waits for them.
   *
   * @param event The event.
   * @param options Another mode than the event's own.
   * @returns A veto, a claim, and what went wrong.
   */
  async dispatch(
    event: NativeEvent,
    options: DispatchOptions = {},
  ): Promise<EventResult> {
    return await this.#send(event.type, encodeEvent(event), options.mode);
  }

  /**
   * Sends an event and does not wait: in order, one event after the other. When the plugins cannot follow, message
   * updates are dropped first.
   *
   * @param event The event.
   */
  emit(event: NativeEvent): void {
    if (this.#closed) return;
    // Written down now: the caller may change it, and learns at once when it cannot be written.
    this.#queue.push({ type: event.type, encoded: encodeEvent(event) });
    this.#draining ??= this.#drain();
  }

  /** Waits until every emitted event was handled. */
  async settled(): Promise<void> {
    await this.#draining;
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true;
  }

  async #send(
    type: EventName,
    encoded: EncodedEvent,
    ownMode: DispatchMode | undefined,
  ): Promise<EventResult> {
    const rule = eventRule(type, ownMode);
    const result: EventResult = { problems: [] };
    const { run, skipped } = eventOrder(this.#plugins, type, Deno.build.os);
    for (const plugin of skipped) {
      result.problems.push(
        `Plugin "${plugin.name}": ${type} is skipped on ${Deno.build.os}, it declares ${
          plugin.registration.platforms.join(", ")
        }`,
      );
    }
    for (const plugin of run) {
      const problem = (what: string) => {
        result.problems.push(`Plugin "${plugin.name}": ${type} ${what}`);
      };
      if (!plugin.running) {
        // The others do not wait until it is back.
        problem("is skipped, it is not running");
        continue;
      }
      if (this.#busy.has(plugin)) {
        problem("is skipped, an earlier handler still runs");
        continue;
      }
      try {
        const outcome = await this.#ask(plugin, encoded, rule, problem);
        if (outcome.verdict === "claimed") {
          result.claimedBy = plugin.name;
          break;
        }
        if (outcome.verdict === "abort") {
          const exit = rule.veto === "exit" ? { exitCode: VETO_EXIT_CODE } : {};
          result.veto = { plugin: plugin.name, effect: rule.veto, ...exit };
          break;
        }
      } catch (error) {
        if (!(error instanceof AbiError)) throw error;
        problem(`failed: ${error.message}`);
      }
    }
    for (const line of result.problems) this.#say(line);
    return result;
  }

  /** Sends an event to the handlers of one plugin and tells which of them failed or were late. */
  async #ask(
    plugin: NativePlugin,
    { tag, strings, isError }: EncodedEvent,
    rule: EventRule,
    problem: (what: string) => void,
  ): Promise<DispatchOutcome> {
    // A veto that is ignored must not end the fan-out either.
    const mode = rule.veto === "ignored" && rule.mode === "lifecycle"
      ? "observe"
      : rule.mode;
    const { budgetMs } = rule;
    const event = { tag, strings, isError, mode, budgetMs };
    const outcome = await plugin.dispatch(event);
    for (const [index, rc] of outcome.failed) {
      problem(`handler ${index} returned ${rc}`);
    }
    for (const index of outcome.late) {
      problem(
        `handler ${index} took longer than ${budgetMs} ms and was left behind`,
      );
    }
    if (outcome.late.length > 0 && rule.mode === "observe") this.#rest(plugin);
    return outcome;
  }

  async #drain(): Promise<void> {
    for (
      let event = this.#queue.shift();
      event !== undefined;
      event = this.#queue.shift()
    ) {
      if (this.#closed) break;
      await this.#send(event.type, event.encoded, "observe");
    }
    this.#draining = undefined;
  }

  /** Leaves a plugin out whose handler does not return, until it answers again. */
  #rest(plugin: NativePlugin): void {
    this.#busy.add(plugin);
    const check = async (): Promise<void> => {
      try {
        while (!this.#closed && (await plugin.stats()).lateHandlers > 0) {
          await pause(250);
        }
      } catch {
        // It was stopped; the one started in its place is rested.
      }
      this.#busy.delete(plugin);
    };
    check();
  }
}
