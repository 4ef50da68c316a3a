/**
 * Calls of handlers: text in, text out; and events, which go to every handler in turn.
 *
 * @module
 */

import type {
  DispatchMode,
  DispatchOutcome,
  EngineLimits,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import type { Gate } from "./gate.ts";
import { LateCalls, withinBudget } from "./late_calls.ts";
import {
  EVENT_NAMES,
  HANDLER_ABORT,
  HANDLER_CLAIMED,
  HANDLER_CONTINUE,
  payloadKind,
} from "./codes.ts";
import {
  allocator,
  borrow,
  encodeText,
  EVENT,
  keepAlive,
  mallocBytes,
  nativeFunction,
  STRING,
  type StringPlace,
  stringPlace,
  stringStruct,
} from "./memory.ts";
import type { PluginStrings } from "./plugin_strings.ts";
import type { HandlerFunction } from "./function_table.ts";
import type { Registrar } from "./registrar.ts";

const REQUEST = {
  parameters: [STRING, "buffer", "u64"],
  result: "i32",
  nonblocking: true,
} as const;
const DISCOVER = {
  parameters: [STRING, STRING, "buffer", "u64"],
  result: "i32",
  nonblocking: true,
} as const;
const ON_EVENT = {
  parameters: [EVENT, "u64"],
  result: "i32",
  nonblocking: true,
} as const;

/** What the calls of a plugin's handlers share with those of its tools. */
export interface HandlerCallsOptions {
  /** The plugin's name. */
  readonly name: string;
  /** What it registered. */
  readonly registrar: Registrar;
  /** Lets native calls through. */
  readonly gate: Gate;
  /** Its strings. */
  readonly strings: PluginStrings;
  /** The limits. */
  readonly limits: EngineLimits;
  /** Called when a handler does not come back. */
  readonly onWedged: ((what: string) => void) | undefined;
}

/** The handlers of one plugin. */
export class HandlerCalls {
  readonly #name: string;
  readonly #registrar: Registrar;
  readonly #gate: Gate;
  readonly #strings: PluginStrings;
  readonly #limits: EngineLimits;
  readonly #late: LateCalls;

  /**
   * Binds the handlers of a plugin.
   *
   * @param options The plugin.
   */
  constructor(options: HandlerCallsOptions) {
    this.#name = options.name;
    this.#registrar = options.registrar;
    this.#gate = options.gate;
    this.#strings = options.strings;
    this.#limits = options.limits;
    this.#late = new LateCalls(options.limits.stuckMs, options.onWedged);
  }

  /** How many handlers have outrun their budget and still run. */
  get late(): number {
    return this.#late.running;
  }

  /**
   * Calls a handler that takes text and gives text.
   *
   * @param kind The kind of handler.
   * @param index Its index.
   * @param inputs One text; for `discover` the working directory and the reason.
   * @param timeoutMs How long it may take.
   * @returns Its code and its output; rejects with code `timeout`.
   */
  async invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    timeoutMs = Infinity,
  ): Promise<InvokeOutcome> {
    const handler = this.#registrar.functions[kind][index];
    if (handler === undefined) {
      throw new RangeError(
        `Cannot call ${kind} ${index} of plugin "${this.#name}": there is none`,
      );
    }
    const out = new Uint8Array(16);
    const [first = "", second = ""] = inputs;
    const a = borrow(first);
    const b = borrow(second);
    const { call, giveUp } = this.#start(() =>
      kind === "discover"
        ? nativeFunction(handler.call, DISCOVER).call(
          a.struct,
          b.struct,
          out,
          handler.userData,
        )
        : nativeFunction(handler.call, REQUEST).call(
          a.struct,
          out,
          handler.userData,
        )
    );
    const outcome = call.then((rc) => {
      // Keeps the borrowed bytes alive until the call has settled.
      keepAlive(a.bytes, b.bytes);
      if (rc === undefined) return undefined;
      return this.#output(kind, handler, rc, stringPlace(out));
    });
    const timely = await withinBudget(outcome, timeoutMs);
    if (timely !== undefined) return timely;
    const what = `${kind} handler ${index}`;
    const dropped = giveUp();
    if (!dropped) this.#late.watch(outcome, what);
    throw new AbiError(
      "timeout",
      `Cannot wait for plugin "${this.#name}": its ${what} did not ${
        dropped ? "begin" : "return"
      } within ${timeoutMs} ms${
        dropped ? ", other calls of the plugin do not return" : ""
      }`,
      { plugin: this.#name, fix: "ask again with a longer timeout" },
    );
  }

  /** Calls native code when there is a place for it, unless it was given up by then. */
  #start<T>(
    native: () => Promise<T>,
  ): { call: Promise<T | undefined>; giveUp(): boolean } {
    let begun = false;
    let dropped = false;
    const call = this.#gate.run<T | undefined>(() => {
      begun = !dropped;
      return begun ? native() : Promise.resolve(undefined);
    });
    const giveUp = () => dropped = !begun;
    return { call, giveUp };
  }

  async #output(
    kind: InvokeKind,
    handler: HandlerFunction,
    rc: number,
    place: StringPlace,
  ): Promise<InvokeOutcome> {
    // A command has no free function; its output is malloc memory by contract.
    const free = kind === "commands" ? "malloc" : handler.free;
    const { maxResultBytes } = this.#limits;
    return { rc, text: await this.#strings.take(place, free, maxResultBytes) };
  }

  /**
   * Sends an event to this plugin's handlers, one after the other in the order of registration.
   *
   * @param tag The event's tag.
   * @param strings The payload's strings.
   * @param isError The error byte of a tool result.
   * @param mode Which answers count.
   * @param budgetMs How long each handler may take before the next one gets its turn.
   * @returns What they made of it.
   */
  async dispatch(
    tag: number,
    strings: readonly string[],
    isError: boolean,
    mode: DispatchMode,
    budgetMs: number,
  ): Promise<DispatchOutcome> {
    const failed: [number, number][] = [];
    const late: number[] = [];
    const running: Promise<unknown>[] = [];
    const { event, pointers } = nativeEvent(tag, strings, isError);
    let verdict: DispatchOutcome["verdict"] = "continue";
    for (const [index, handler] of this.#registrar.functions.events.entries()) {
      if (this.#registrar.registration.events[index] !== tag) continue;
      const { call, giveUp } = this.#start(() =>
        nativeFunction(handler.call, ON_EVENT).call(
          event,
          handler.userData,
        )
      );
      running.push(call);
      const rc = await withinBudget(call, budgetMs);
      if (rc === undefined) {
        late.push(index);
        if (!giveUp()) {
          this.#late.watch(call, `the ${EVENT_NAMES[tag]} handler ${index}`);
        }
      } else if (mode === "lifecycle" && rc === HANDLER_ABORT) {
        verdict = "abort";
      } else if (mode === "arbitrate" && rc === HANDLER_CLAIMED) {
        verdict = "claimed";
      } else if (rc !== HANDLER_CONTINUE) failed.push([index, rc]);
      if (verdict !== "continue") break;
    }
    const release = () => {
      for (const pointer of pointers) allocator().free(pointer);
    };
    // A late handler still reads the strings.
    if (late.length === 0) release();
    else Promise.allSettled(running).then(release);
    return { verdict, failed, late };
  }
}

function nativeEvent(
  tag: number,
  strings: readonly string[],
  isError: boolean,
): { event: Uint8Array<ArrayBuffer>; pointers: bigint[] } {
  const event = new Uint8Array(64);
  const view = new DataView(event.buffer);
  view.setUint32(0, tag, true);
  const pointers: bigint[] = [];
  for (const [index, text] of strings.slice(0, 3).entries()) {
    const bytes = encodeText(text);
    if (bytes.length === 0) continue;
    const pointer = mallocBytes(bytes);
    pointers.push(pointer);
    event.set(stringStruct(pointer, bytes.length), 8 + index * 16);
  }
  if (payloadKind(tag) === "tool_result") event[56] = isError ? 1 : 0;
  return { event, pointers };
}
