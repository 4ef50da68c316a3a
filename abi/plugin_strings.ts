/**
 * Strings that a plugin made: read within limits, given back once, counted.
 *
 * @module
 */

import type { EngineLimits } from "./engine_types.ts";
import { AbiError } from "./errors.ts";
import type { Gate } from "./gate.ts";
import {
  allocator,
  decodeText,
  encodeText,
  nativeFunction,
  readBytes,
  STRING,
  type StringPlace,
  stringStruct,
} from "./memory.ts";
import type { FunctionPointer } from "./function_table.ts";

const FREE = {
  parameters: [STRING],
  result: "void",
  nonblocking: true,
} as const;
const FREE_NOW = { parameters: [STRING], result: "void" } as const;

type Free<D extends Deno.ForeignFunction> = Deno.UnsafeFnPointer<D>;

/** The strings of one plugin. */
export class PluginStrings {
  /** How many came from the plugin. */
  received = 0;
  /** How many of those were given back. */
  freed = 0;
  /** How many were no UTF-8. */
  invalidUtf8 = 0;
  readonly #name: string;
  readonly #limits: EngineLimits;
  readonly #gate: Gate;
  readonly #frees = new Map<FunctionPointer, Free<typeof FREE>>();
  readonly #freesNow = new Map<FunctionPointer, Free<typeof FREE_NOW>>();

  /**
   * Creates the counters.
   *
   * @param name The plugin's name.
   * @param limits How much is read.
   * @param gate Lets native calls through.
   */
  constructor(name: string, limits: EngineLimits, gate: Gate) {
    this.#name = name;
    this.#limits = limits;
    this.#gate = gate;
  }

  /** An update that is too long is replaced by a line that says so. */
  readUpdate(place: StringPlace): string {
    if (place.size <= BigInt(this.#limits.maxUpdateBytes)) {
      return this.read(place, this.#limits.maxUpdateBytes);
    }
    this.received++;
    const text = `(an update of ${place.size} bytes was left out)`;
    return JSON.stringify({
      content: [{ type: "text", text }],
      truncated: true,
    });
  }

  /** Copies a string; what is too long throws and is not read. */
  read(place: StringPlace, maxBytes: number): string {
    if (place.size === 0n) return "";
    this.received++;
    const cut = place.size > BigInt(maxBytes);
    const bytes = readBytes(cut ? { pointer: place.pointer, size: 0n } : place);
    if (cut) throw new TooLong(place.size, maxBytes);
    const text = decodeText(bytes);
    if (text.includes("\ufffd") && encodeText(text).length !== bytes.length) {
      this.invalidUtf8++;
    }
    return text;
  }

  /** Copies a string and gives it back, also when it is too long to be read. */
  async take(
    place: StringPlace,
    free: FunctionPointer | "malloc",
    maxBytes: number,
  ): Promise<string> {
    if (place.size === 0n) return "";
    let text: string;
    try {
      text = this.read(place, maxBytes);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      await this.freeLater(free, place);
      throw new AbiError(
        "protocol",
        `Cannot read an answer of plugin "${this.#name}": ${error.message}`,
        {
          plugin: this.#name,
          fix:
            "let the tool answer with less, for example with the path of a file",
        },
      );
    }
    await this.freeLater(free, place);
    return text;
  }

  /** Gives a string back without blocking. */
  async freeLater(
    free: FunctionPointer | "malloc",
    place: StringPlace,
  ): Promise<void> {
    if (free === 0n) return;
    if (free === "malloc") {
      allocator().free(place.pointer);
      this.freed++;
      return;
    }
    let call = this.#frees.get(free);
    if (call === undefined) {
      this.#frees.set(free, call = nativeFunction(free, FREE));
    }
    const bound = call;
    await this.#gate.run(
      () => bound.call(stringStruct(place.pointer, place.size)),
      true,
    );
    this.freed++;
  }

  /** Gives a string back at once: inside a callback, where a thread of the plugin waits for it. */
  freeNow(free: FunctionPointer, place: StringPlace): void {
    if (free === 0n || place.size === 0n) return;
    let call = this.#freesNow.get(free);
    if (call === undefined) {
      this.#freesNow.set(free, call = nativeFunction(free, FREE_NOW));
    }
    call.call(stringStruct(place.pointer, place.size));
    this.freed++;
  }
}

class TooLong extends RangeError {
  constructor(size: bigint, maxBytes: number) {
    super(`it has ${size} bytes, at most ${maxBytes} are read`);
  }
}
