/**
 * The registrars of the vtable as native callbacks: what each takes, and what it records.
 *
 * @module
 */

import { reasonOf } from "./errors.ts";
import type { FunctionPointer, HandlerFunction } from "./function_table.ts";
import { STRING } from "./memory.ts";
import type { Registrar } from "./registrar.ts";

const REF = STRING;
const FUNCTION = "u64";
/** How a handler is given: the function, what frees its answer, the plugin's own pointer. */
const HANDLER = [FUNCTION, FUNCTION, "u64"] as const;

/** The callbacks of one registrar. */
export interface RegistrarCallbacks {
  /** The address for each slot of the vtable. */
  readonly slots: Map<string, bigint>;
  /** The callbacks themselves: they must stay reachable. */
  readonly keep: { unref(): number }[];
}

/**
 * Makes the callbacks of a registrar.
 *
 * @param registrar Records what they are given.
 * @returns The callbacks.
 */
export function registrarCallbacks(registrar: Registrar): RegistrarCallbacks {
  const slots = new Map<string, bigint>();
  const keep: { unref(): number }[] = [];
  const add = <const P extends readonly Deno.NativeType[]>(
    slot: string,
    parameters: P,
    record: (...args: Deno.ToNativeParameterTypes<P>) => number,
  ) => {
    const guarded = (...args: Deno.ToNativeParameterTypes<P>): number => {
      // An exception would reach the plugin as 0, which means success.
      try {
        return registrar.open ? record(...args) : -1;
      } catch (error) {
        registrar.note(`${slot} failed: ${reasonOf(error)}`);
        return 1;
      }
    };
    // The types of a callback's result do not survive a generic tuple; all of these return i32.
    const callback = Deno.UnsafeCallback.threadSafe(
      { parameters, result: "i32" } as const,
      guarded as Deno.UnsafeCallbackFunction<P, "i32">,
    );
    keep.push(callback);
    slots.set(slot, Deno.UnsafePointer.value(callback.pointer));
  };

  add(
    "register_tool",
    [FUNCTION, FUNCTION, FUNCTION, FUNCTION, FUNCTION, FUNCTION],
    (schema, execute, poll, cancel, destroy, free) =>
      registrar.tool(schema, { execute, poll, cancel, destroy, free }),
  );
  add(
    "register_command",
    [REF, REF, FUNCTION],
    (name, about, call) => registrar.command(name, about, call),
  );
  add(
    "register_shortcut",
    [REF, REF],
    (key, about) => registrar.shortcut(key, about),
  );
  add(
    "register_flag",
    [REF, REF],
    (name, about) => registrar.flag(name, about),
  );
  add(
    "register_provider",
    [REF, REF, REF, ...HANDLER],
    (id, url, style, ...at) =>
      registrar.provider(id, url, style, handlerOf(...at)),
  );
  for (
    const [slot, kind] of [
      ["register_message_renderer", "message"],
      ["register_markdown_transformer", "markdown"],
      ["register_entry_renderer", "entry"],
    ] as const
  ) {
    add(
      slot,
      [REF, ...HANDLER],
      (name, ...at) => registrar.renderer(kind, name, handlerOf(...at)),
    );
  }
  add(
    "register_event_handler",
    ["u32", FUNCTION, "u64"],
    (tag, call, userData) =>
      registrar.eventHandler(tag, handlerOf(call, 0n, userData)),
  );
  add(
    "register_resources_discover",
    HANDLER,
    (...at) => registrar.listed("discover", handlerOf(...at)),
  );
  add(
    "register_before_agent_start",
    HANDLER,
    (...at) => registrar.listed("beforeAgentStart", handlerOf(...at)),
  );
  add(
    "register_oauth_provider",
    [REF, ...HANDLER],
    (manifest, ...at) => registrar.oauth(manifest, handlerOf(...at)),
  );
  add("declare", [REF], (declaration) => registrar.declare(declaration));
  return { slots, keep };
}

function handlerOf(
  call: FunctionPointer,
  free: FunctionPointer,
  userData: bigint,
): HandlerFunction {
  return { call, free, userData };
}
