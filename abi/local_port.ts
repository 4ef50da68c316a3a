/**
 * A plugin inside this process, behind the same interface as one in a child.
 *
 * @module
 */

import type { Engine } from "./engine.ts";
import type {
  DispatchOutcome,
  EngineStats,
  InvokeKind,
  InvokeOutcome,
} from "./engine_types.ts";
import { encodeText } from "./memory.ts";
import type { CallOutcome } from "./poll_driver.ts";
import type { PluginPort, PortCall, PortEvent } from "./port.ts";
import type { Registration } from "./registration.ts";

/** A plugin inside this process. */
export class LocalPort implements PluginPort {
  readonly isolation = "none";
  readonly death = undefined;
  readonly registration: Registration;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.registration = engine.registration;
  }

  async call(call: PortCall): Promise<CallOutcome> {
    const driven = this.#engine.call({ ...call, args: encodeText(call.args) });
    driven.finished.catch(() => {
      // Reported through the outcome.
    });
    return await driven.outcome;
  }

  invoke(
    kind: InvokeKind,
    index: number,
    inputs: readonly string[],
    timeoutMs: number,
  ): Promise<InvokeOutcome> {
    return this.#engine.handlers.invoke(kind, index, inputs, timeoutMs);
  }

  dispatch(event: PortEvent): Promise<DispatchOutcome> {
    return this.#engine.handlers.dispatch(
      event.tag,
      event.strings,
      event.isError,
      event.mode,
      event.budgetMs,
    );
  }

  setSession(id: string): void {
    this.#engine.setSession(id);
  }

  stats(): Promise<EngineStats> {
    return Promise.resolve(this.#engine.stats());
  }

  /** Nothing is ever unmapped: a thread of the plugin may call at any time. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
