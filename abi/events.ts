/**
 * The order and the rules of events across plugins.
 *
 * @module
 */

import type { DispatchMode } from "./engine_types.ts";
import { EVENT_NAMES, type EventName } from "./codes.ts";
import { runsOn } from "./registration.ts";

/** What a lifecycle veto does. */
export type VetoEffect = "exit" | "advisory" | "ignored" | "stop";

/** How one event is dispatched. */
export interface EventRule {
  /** Which answers count. */
  readonly mode: DispatchMode;
  /** How long each handler may take, in milliseconds. */
  readonly budgetMs: number;
  /** What a veto does. */
  readonly veto: VetoEffect;
}

/** How long a handler of an event that is only observed may take. */
const OBSERVE_BUDGET_MS = 10_000;
/** How long a handler may think about a key. */
const INPUT_BUDGET_MS = 50;

const RULES: ReadonlyMap<EventName, EventRule> = new Map<EventName, EventRule>([
  ["BeforeTuiStart", { mode: "lifecycle", budgetMs: 5_000, veto: "exit" }],
  ["SessionStart", { mode: "lifecycle", budgetMs: 10_000, veto: "advisory" }],
  ["SessionShutdown", { mode: "lifecycle", budgetMs: 15_000, veto: "ignored" }],
  ["Input", { mode: "arbitrate", budgetMs: INPUT_BUDGET_MS, veto: "ignored" }],
]);

/** The exit code of a program whose start a plugin vetoed. */
export const VETO_EXIT_CODE = 3;

/**
 * How an event is dispatched: `BeforeTuiStart`, `SessionStart` and `SessionShutdown` as lifecycle events that can be
 * vetoed, `Input` so that a handler can claim it, everything else is observed.
 *
 * @param event The event.
 * @param mode Another mode than the event's own.
 * @returns The rule.
 *
 * @example The veto of a start ends the program
 * ```ts
 * import { eventRule } from "./events.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(eventRule("BeforeTuiStart"), { mode: "lifecycle", budgetMs: 5_000, veto: "exit" });
 * assertEquals(eventRule("TurnEnd").mode, "observe");
 * ```
 */
export function eventRule(event: EventName, mode?: DispatchMode): EventRule {
  const own = RULES.get(event);
  if (own !== undefined && (mode === undefined || mode === own.mode)) {
    return own;
  }
  if (mode === "lifecycle") return { mode, budgetMs: 10_000, veto: "stop" };
  if (mode === "arbitrate") {
    return { mode, budgetMs: INPUT_BUDGET_MS, veto: "ignored" };
  }
  return { mode: "observe", budgetMs: OBSERVE_BUDGET_MS, veto: "ignored" };
}

/** What the order needs to know of a plugin. */
export interface OrderedPlugin {
  /** What it registered. */
  readonly registration: {
    /** Its priority. */
    readonly priority: number;
    /** Its platforms. */
    readonly platforms: readonly string[];
    /** The tags of its handlers. */
    readonly events: readonly number[];
  };
}

/**
 * The plugins that get an event, in order: priority ascending, then the order in which they were loaded. A plugin's
 * priority counts for all of its handlers, so that they stay together in their order of registration.
 *
 * @param plugins The loaded plugins, in the order of loading.
 * @param event The event.
 * @param os The operating system, in Deno's spelling.
 * @returns Those with a handler for it, and those skipped because of their platforms.
 */
export function eventOrder<T extends OrderedPlugin>(
  plugins: readonly T[],
  event: EventName,
  os: string,
): { run: T[]; skipped: T[] } {
  const tag = EVENT_NAMES.indexOf(event);
  const concerned = plugins.filter((p) => p.registration.events.includes(tag));
  return {
    run: concerned.filter((p) => runsOn(p.registration.platforms, os))
      .sort((a, b) => a.registration.priority - b.registration.priority),
    skipped: concerned.filter((p) => !runsOn(p.registration.platforms, os)),
  };
}

/** A queue that stays small: when it is full, progress goes first. */
export class EventQueue<T extends { readonly type: EventName }> {
  readonly #items: T[] = [];
  readonly #limit: number;
  #dropped = 0;

  /**
   * Creates a queue.
   *
   * @param limit How many events wait at most.
   */
  constructor(limit = 1_024) {
    this.#limit = limit;
  }

  /** How many events were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How many events wait. */
  get size(): number {
    return this.#items.length;
  }

  /**
   * Adds an event; a full queue first drops updates, then the oldest event.
   *
   * @param item The event.
   */
  push(item: T): void {
    if (this.#items.length >= this.#limit) {
      this.#dropped++;
      const update = this.#items.findIndex((i) => PROGRESS.has(i.type));
      if (update < 0 && PROGRESS.has(item.type)) return;
      this.#items.splice(Math.max(update, 0), 1);
    }
    this.#items.push(item);
  }

  /**
   * Takes the next event.
   *
   * @returns The event, or `undefined` when there is none.
   */
  shift(): T | undefined {
    return this.#items.shift();
  }
}

const PROGRESS: ReadonlySet<EventName> = new Set([
  "MessageUpdate",
  "ToolExecutionUpdate",
]);
