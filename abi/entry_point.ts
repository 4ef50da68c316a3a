/**
 * The beginning of a plugin: its library is opened, its entry point runs with a vtable of ours.
 *
 * @module
 */

import { AbiError } from "./errors.ts";
import {
  ABI_VERSION,
  describeRegisterCode,
  REGISTER_SYMBOL,
  RETIRED_ABI_ARGUMENT,
} from "./codes.ts";
import { PLUGIN_API_SIZE, slotOffset } from "./layout.ts";
import {
  cString,
  decodeText,
  EVENT,
  keepAlive,
  libc,
  mallocBytes,
  nativeFunction,
  readBytes,
} from "./memory.ts";
import type { FunctionPointer } from "./function_table.ts";
import type { Registrar } from "./registrar.ts";
import { registrarCallbacks } from "./registrar_callbacks.ts";
import { guardThread } from "./thread_guard.ts";

const REGISTER = {
  parameters: ["u64", "u32"],
  result: "i32",
  nonblocking: true,
} as const;

/** What goes into the vtable besides the registrars. */
export interface EntryPointOptions {
  /** The plugin's name. */
  readonly name: string;
  /** Frees strings of the host. */
  readonly freeString: FunctionPointer;
  /** Answers runtime actions. */
  readonly action: FunctionPointer;
  /** Opaque to the plugin; only its identity counts. */
  readonly userData: bigint;
  /** Let the registrars keep the process alive. */
  readonly keepAlive: boolean;
}

/** Callbacks that native code may hold a pointer to. */
const immortal: unknown[] = [];

/**
 * Opens a library. Its constructors run.
 *
 * @param path Its real path.
 * @param plugin The plugin's name.
 * @returns The entry point; rejects with code `open`.
 */
export async function openLibrary(
  path: string,
  plugin: string,
): Promise<FunctionPointer> {
  // RTLD_NOW: a missing symbol is an error here and not a dead process at its first call.
  const RTLD_NOW = 2;
  const file = cString(path);
  const library = await libc().dlopen(file, RTLD_NOW);
  keepAlive(file);
  if (library === 0n) {
    throw new AbiError(
      "open",
      `Cannot load "${path}": the loader refused it: ${whyNot(path)}`,
      {
        plugin: plugin,
        fix:
          "install the libraries it needs, let it read those outside its own directory, or build it for this system",
      },
    );
  }
  const entry = libc().dlsym(library, cString(REGISTER_SYMBOL));
  if (entry === 0n) {
    throw new AbiError(
      "open",
      `Cannot load "${path}": it does not export "${REGISTER_SYMBOL}"`,
      {
        plugin: plugin,
        fix: "export that function with C linkage and default visibility",
      },
    );
  }
  return entry;
}

/** The loader keeps its message per thread, so the failed attempt is repeated on this one. */
function whyNot(path: string): string {
  if (libc().dlopenNow(cString(path), 2) !== 0n) {
    return "it opened at the second attempt";
  }
  const message = libc().dlerror();
  return message === 0n ? "no reason given" : decodeText(
    readBytes({ pointer: message, size: libc().strlen(message) }),
  );
}

/**
 * Runs an entry point with a vtable of our own.
 *
 * @param entry The entry point.
 * @param registrar Records what it registers.
 * @param plugin Its name, and the host's functions.
 * @returns Settles once it is registered; rejects with code `register`.
 */
export async function runEntryPoint(
  entry: FunctionPointer,
  registrar: Registrar,
  plugin: EntryPointOptions,
): Promise<void> {
  const { slots, keep } = registrarCallbacks(registrar);
  const dispatch = Deno.UnsafeCallback.threadSafe(
    { parameters: [EVENT, "u64"], result: "i32" } as const,
    () => 0, // Accepted and dropped, on any thread.
  );
  keep.push(dispatch);
  immortal.push(keep);
  if (!plugin.keepAlive) { for (const callback of keep) callback.unref(); }
  const guard = guardThread(entry, slots);
  const api = new Uint8Array(PLUGIN_API_SIZE);
  const view = new DataView(api.buffer);
  view.setUint32(slotOffset("abi_version"), ABI_VERSION, true);
  view.setUint32(slotOffset("struct_size"), PLUGIN_API_SIZE, true);
  const functions = new Map([
    ...guard?.slots ?? slots,
    ["free_string", plugin.freeString],
    ["runtime_action", plugin.action],
    ["dispatch_event", Deno.UnsafePointer.value(dispatch.pointer)],
    ["user_data", plugin.userData],
  ]);
  for (const [slot, address] of functions) {
    view.setBigUint64(slotOffset(slot), address, true);
  }
  // The vtable is never given back: plugins keep the pointer.
  const vtable = mallocBytes(api);
  const register = nativeFunction(guard?.entry ?? entry, REGISTER);
  registrar.open = true;
  let rc: number;
  try {
    rc = await register.call(vtable, RETIRED_ABI_ARGUMENT);
  } finally {
    registrar.open = false;
    if (guard?.release() === true) {
      registrar.note(
        `registrations from another thread are refused: only the one that runs "${REGISTER_SYMBOL}" may register`,
      );
    }
  }
  if (rc !== 0) {
    throw new AbiError(
      "register",
      `Cannot load plugin "${plugin.name}": ${describeRegisterCode(rc)}`,
      {
        plugin: plugin.name,
        exitCode: rc,
        fix: registerFix(rc),
      },
    );
  }
}

function registerFix(rc: number): string {
  if (rc === 1) return "rebuild it against version 4 of the ABI";
  if (rc === 3) {
    return "update the host, or build the plugin against an older SDK";
  }
  if (rc === 70) return "read what it wrote to stderr, then ask its author";
  return "ask its author what the code means";
}
