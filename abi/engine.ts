/**
 * A plugin inside this process: opened, registered, called. Every call into it is nonblocking, every callback from it
 * ends in a code, and nothing is ever closed: a thread of the plugin may call at any time.
 *
 * A fault, an `exit` or a bad constructor of the plugin ends this process. The host therefore runs this in a child.
 *
 * @module
 */

import { ActionBridge } from "./action_worker.ts";
import { AbiError } from "./errors.ts";
import {
  DEFAULT_LIMITS,
  type DispatchMode,
  type DispatchOutcome,
  type EngineCall,
  type EngineLimits,
  type EngineOptions,
  type EngineStats,
  type InvokeKind,
  type InvokeOutcome,
} from "./engine_types.ts";
import { Gate } from "./gate.ts";
import { PluginStrings } from "./plugin_strings.ts";
import {
  ABI_VERSION,
  describeRegisterCode,
  EVENT_NAMES,
  HANDLER_ABORT,
  HANDLER_CLAIMED,
  HANDLER_CONTINUE,
  payloadKind,
  PLUGIN_API_SIZE,
  REGISTER_SYMBOL,
  RETIRED_ABI_ARGUMENT,
  SESSION_ID_ENV,
  slotOffset,
} from "./layout.ts";
import {
  allocator,
  borrow,
  cString,
  decodeText,
  encodeText,
  EVENT,
  heapBytes,
  libc,
  mallocBytes,
  nativeFunction,
  type NativeStruct,
  readBytes,
  STEP,
  STRING,
  type StringPlace,
  stringPlace,
  stringStruct,
  structBytes,
} from "./memory.ts";
import { type CallOutcome, driveCall, type Step } from "./poll_driver.ts";
import {
  type FunctionPointer,
  type HandlerFunction,
  Registrar,
  type ToolFunctions,
} from "./registrar.ts";
import type { Registration } from "./registration.ts";

const REGISTER = {
  parameters: ["u64", "u32"],
  result: "i32",
  nonblocking: true,
} as const;
const EXECUTE = {
  parameters: [STRING, STRING, "u64"],
  result: "u64",
  nonblocking: true,
} as const;
const POLL = {
  parameters: ["u64", "u64", "u64"],
  result: STEP,
  nonblocking: true,
} as const;
const HANDLE = {
  parameters: ["u64"],
  result: "void",
  nonblocking: true,
} as const;
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

type Callable<D extends Deno.ForeignFunction> = Deno.UnsafeFnPointer<D>;

interface BoundTool {
  readonly execute: Callable<typeof EXECUTE>;
  readonly poll: Callable<typeof POLL>;
  readonly cancel: Callable<typeof HANDLE> | undefined;
  readonly destroy: Callable<typeof HANDLE> | undefined;
  readonly free: FunctionPointer;
}

interface LiveCall {
  readonly free: FunctionPointer;
  readonly onUpdate: ((text: string) => void) | undefined;
}

/** A poll that takes longer blocks; on a busy machine a few do without being to blame. */
const SLOW_POLL_MS = 50;
/** Opaque to the plugin; only its identity counts. */
const USER_DATA = 0x62756c6bn;
/** Everything that native code may hold a pointer to. */
const immortal: unknown[] = [];

/** A plugin inside this process. */
export class Engine {
  /** What the plugin registered. */
  readonly registration: Registration;
  readonly #name: string;
  readonly #registrar: Registrar;
  readonly #bridge: ActionBridge;
  readonly #limits: EngineLimits;
  readonly #onWedged: ((what: string) => void) | undefined;
  readonly #gate = new Gate();
  readonly #strings: PluginStrings;
  readonly #tools = new Map<number, BoundTool>();
  readonly #freeString: bigint;
  readonly #partial: bigint;
  readonly #live = new Map<bigint, LiveCall>();
  #lastFree: FunctionPointer = 0n;
  #nextCall = 1n;
  readonly #stats = {
    calls: 0,
    liveHandles: 0,
    latePartials: 0,
    lateHandlers: 0,
    polls: 0,
    slowPolls: 0,
    longestPollMs: 0,
  };

  private constructor(options: EngineOptions, bridge: ActionBridge) {
    this.#name = options.name;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#onWedged = options.onWedged;
    this.#strings = new PluginStrings(options.name, this.#limits, this.#gate);
    this.#bridge = bridge;
    this.#registrar = new Registrar((free, place) => {
      this.#strings.received++;
      this.#strings.freeNow(free, place);
    });
    this.registration = this.#registrar.registration;
    const partial = Deno.UnsafeCallback.threadSafe(
      { parameters: [STRING, "u64"], result: "void" } as const,
      (struct, id) => this.#onPartial(struct, id),
    );
    if (!options.keepAlive) partial.unref();
    immortal.push(this, partial);
    this.#partial = Deno.UnsafePointer.value(partial.pointer);
    this.#freeString = bridge.free !== 0n
      ? bridge.free
      : allocator().freeAddress;
  }

  /**
   * Opens a library and runs its entry point. Inspect it first.
   *
   * @param path The library's real path.
   * @param options Its name, who answers its actions.
   * @returns The registered plugin; rejects with an {@linkcode AbiError} of code `open` or `register`.
   */
  static async load(path: string, options: EngineOptions): Promise<Engine> {
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const bridge = await ActionBridge.start({
      answer: options.answer,
      deadlineMs: limits.actionDeadlineMs,
      userData: USER_DATA,
      accounting: options.accounting ?? false,
    });
    const engine = new Engine(options, bridge);
    if (options.sessionId !== undefined) engine.setSession(options.sessionId);
    const register = await engine.#open(path);
    await engine.#register(register, options.keepAlive ?? false);
    return engine;
  }

  /**
   * Runs a tool.
   *
   * @param call The tool, its arguments, how to stop it.
   * @returns How it ended, and the moment its handle is destroyed.
   */
  call(
    call: EngineCall,
  ): { outcome: Promise<CallOutcome>; finished: Promise<void> } {
    const tool = this.#tool(call.tool);
    const id = this.#nextCall++;
    this.#stats.calls++;
    this.#live.set(id, { free: tool.free, onUpdate: call.onUpdate });
    this.#lastFree = tool.free;
    const driven = driveCall({
      execute: () => this.#execute(tool, call),
      poll: (handle) => this.#poll(tool, handle, id),
      cancel: (handle) => this.#native(tool.cancel, handle),
      destroy: async (handle) => {
        this.#live.delete(id);
        await this.#native(tool.destroy, handle);
        this.#stats.liveHandles--;
      },
    }, {
      signal: call.signal,
      onProgress: call.onUpdate,
      cancelGraceMs: this.#limits.cancelGraceMs,
      stuckMs: this.#limits.stuckMs,
      onWedged: (where) =>
        this.#onWedged?.(
          `${where} of tool "${this.registration.tools[call.tool]?.name}"`,
        ),
    });
    const finished = driven.finished.finally(() => this.#live.delete(id));
    return { outcome: driven.outcome, finished };
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
    const call = this.#gate.run(() =>
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
      return this.#output(kind, handler, rc, stringPlace(out));
    });
    const timely = await withinBudget(outcome, timeoutMs);
    if (timely !== undefined) return timely;
    const what = `${kind} handler ${index}`;
    this.#watch(outcome, what);
    throw new AbiError(
      "timeout",
      `Cannot wait for plugin "${this.#name}": its ${what} did not return within ${timeoutMs} ms`,
      { plugin: this.#name, fix: "ask again with a longer timeout" },
    );
  }

  async #output(
    kind: InvokeKind,
    handler: HandlerFunction,
    rc: number,
    place: StringPlace,
  ): Promise<InvokeOutcome> {
    const { maxResultBytes } = this.#limits;
    if (kind !== "commands") {
      return {
        rc,
        text: await this.#strings.take(place, handler.free, maxResultBytes),
      };
    }
    // A command has no free function; its output is malloc memory by contract.
    const text = place.size > BigInt(maxResultBytes)
      ? ""
      : this.#strings.read(place, maxResultBytes);
    if (place.size > 0n) {
      allocator().free(place.pointer);
      this.#strings.freed++;
    }
    return { rc, text };
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
    const { event, pointers } = this.#event(tag, strings, isError);
    let verdict: DispatchOutcome["verdict"] = "continue";
    for (const [index, handler] of this.#registrar.functions.events.entries()) {
      if (this.registration.events[index] !== tag) continue;
      const call = this.#gate.run(() =>
        nativeFunction(handler.call, ON_EVENT).call(
          event,
          handler.userData,
        )
      );
      running.push(call);
      const rc = await withinBudget(call, budgetMs);
      if (rc === undefined) {
        late.push(index);
        this.#watch(call, `the ${EVENT_NAMES[tag]} handler ${index}`);
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

  /**
   * Puts the session's id into the environment that native code reads.
   *
   * @param id The session.
   */
  setSession(id: string): void {
    if (!id.includes("\0")) {
      libc().setenv(cString(SESSION_ID_ENV), cString(id), 1);
    }
  }

  /**
   * The counters.
   *
   * @returns A copy.
   */
  stats(): EngineStats {
    // Garbage of our own must not look like a leak; only there when asked for.
    const collect: unknown = Reflect.get(globalThis, "gc");
    if (typeof collect === "function") collect();
    return {
      ...this.#stats,
      stringsReceived: this.#strings.received,
      stringsFreed: this.#strings.freed,
      invalidUtf8: this.#strings.invalidUtf8,
      actions: this.#bridge.calls,
      active: this.#gate.active,
      queued: this.#gate.queued,
      heapBytes: heapBytes(),
      rssBytes: Deno.memoryUsage().rss,
      hostStrings: this.#bridge.counts(),
    };
  }

  async #open(path: string): Promise<FunctionPointer> {
    // RTLD_NOW: a missing symbol is an error here and not a dead process at its first call.
    const RTLD_NOW = 2;
    const file = cString(path);
    const library = await libc().dlopen(file, RTLD_NOW);
    keepAlive(file);
    if (library === 0n) {
      throw new AbiError(
        "open",
        `Cannot load "${path}": the loader refused it: ${this.#whyNot(path)}`,
        {
          plugin: this.#name,
          fix: "install the libraries it needs, or build it for this system",
        },
      );
    }
    const entry = libc().dlsym(library, cString(REGISTER_SYMBOL));
    if (entry === 0n) {
      throw new AbiError(
        "open",
        `Cannot load "${path}": it does not export "${REGISTER_SYMBOL}"`,
        {
          plugin: this.#name,
          fix: "export that function with C linkage and default visibility",
        },
      );
    }
    return entry;
  }

  /** The loader keeps its message per thread, so the failed attempt is repeated on this one. */
  #whyNot(path: string): string {
    if (libc().dlopenNow(cString(path), 2) !== 0n) {
      return "it opened at the second attempt";
    }
    const message = libc().dlerror();
    return message === 0n ? "no reason given" : decodeText(
      readBytes({ pointer: message, size: libc().strlen(message) }),
    );
  }

  async #register(entry: FunctionPointer, keepAlive: boolean): Promise<void> {
    const { slots, keep } = this.#registrar.callbacks();
    immortal.push(keep);
    if (!keepAlive) { for (const callback of keep) callback.unref(); }
    const api = new Uint8Array(PLUGIN_API_SIZE);
    const view = new DataView(api.buffer);
    view.setUint32(slotOffset("abi_version"), ABI_VERSION, true);
    view.setUint32(slotOffset("struct_size"), PLUGIN_API_SIZE, true);
    view.setBigUint64(slotOffset("free_string"), this.#freeString, true);
    view.setBigUint64(slotOffset("runtime_action"), this.#bridge.action, true);
    view.setBigUint64(slotOffset("user_data"), USER_DATA, true);
    for (const [slot, address] of slots) {
      view.setBigUint64(slotOffset(slot), address, true);
    }
    this.#registrar.open = true;
    let rc: number;
    try {
      // The vtable is never given back: plugins keep the pointer.
      const vtable = mallocBytes(api);
      rc = await nativeFunction(entry, REGISTER).call(
        vtable,
        RETIRED_ABI_ARGUMENT,
      );
    } finally {
      this.#registrar.open = false;
    }
    if (rc !== 0) {
      throw new AbiError(
        "register",
        `Cannot load plugin "${this.#name}": ${describeRegisterCode(rc)}`,
        {
          plugin: this.#name,
          exitCode: rc,
          fix: registerFix(rc),
        },
      );
    }
  }

  #tool(index: number): BoundTool {
    const bound = this.#tools.get(index);
    if (bound !== undefined) return bound;
    const functions = this.#registrar.functions.tools[index];
    if (functions === undefined) {
      throw new RangeError(
        `Cannot call tool ${index} of plugin "${this.#name}": there is none`,
      );
    }
    const tool = bind(functions);
    this.#tools.set(index, tool);
    return tool;
  }

  async #execute(tool: BoundTool, call: EngineCall): Promise<bigint> {
    const id = borrow(call.callId);
    const params = stringStruct(this.#bridge.give(call.args), call.args.length);
    const handle = await this.#gate.run(() =>
      tool.execute.call(id.struct, params, this.#freeString)
    );
    keepAlive(id.bytes);
    if (handle !== 0n) this.#stats.liveHandles++;
    return handle;
  }

  async #poll(tool: BoundTool, handle: bigint, id: bigint): Promise<Step> {
    let started = 0;
    const result = await this.#gate.run(() => {
      started = performance.now();
      return tool.poll.call(handle, this.#partial, id);
    });
    const took = performance.now() - started;
    this.#stats.polls++;
    if (took > SLOW_POLL_MS) this.#stats.slowPolls++;
    if (took > this.#stats.longestPollMs) this.#stats.longestPollMs = took;
    const step = structBytes(result);
    const tag = new DataView(step.buffer, step.byteOffset, 24).getUint32(
      0,
      true,
    );
    // With an undefined tag nobody knows whether the rest is a string.
    if (tag > 2) return { tag, text: "" };
    const place = stringPlace(step, 8);
    if (place.size === 0n) return { tag, text: "" };
    if (tag === 0) {
      const text = this.#strings.readUpdate(place);
      await this.#strings.freeLater(tool.free, place);
      return { tag, text };
    }
    return {
      tag,
      text: await this.#strings.take(
        place,
        tool.free,
        this.#limits.maxResultBytes,
      ),
    };
  }

  async #native(
    call: Callable<typeof HANDLE> | undefined,
    handle: bigint,
  ): Promise<void> {
    if (call !== undefined) await this.#gate.run(() => call.call(handle), true);
  }

  /** Runs while a thread of the plugin waits: copies, frees, passes on. */
  #onPartial(struct: NativeStruct, id: bigint): void {
    try {
      const place = stringPlace(structBytes(struct));
      const call = this.#live.get(id);
      if (call === undefined) {
        this.#stats.latePartials++;
        // It cannot be read safely, but whoever made it expects it to be freed.
        if (place.size > 0n) this.#strings.received++;
        this.#strings.freeNow(this.#lastFree, place);
        return;
      }
      const text = this.#strings.readUpdate(place);
      this.#strings.freeNow(call.free, place);
      if (text !== "") call.onUpdate?.(text);
    } catch {
      // Nobody above could be told; the update is lost, the call goes on.
    }
  }

  #event(
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

  #watch(call: Promise<unknown>, what: string): void {
    const timer = setTimeout(
      () => this.#onWedged?.(what),
      this.#limits.stuckMs,
    );
    this.#stats.lateHandlers++;
    const back = () => {
      this.#stats.lateHandlers--;
      clearTimeout(timer);
    };
    call.then(back, back);
  }
}

function bind(tool: ToolFunctions): BoundTool {
  return {
    execute: nativeFunction(tool.execute, EXECUTE),
    poll: nativeFunction(tool.poll, POLL),
    cancel: tool.cancel === 0n
      ? undefined
      : nativeFunction(tool.cancel, HANDLE),
    destroy: tool.destroy === 0n
      ? undefined
      : nativeFunction(tool.destroy, HANDLE),
    free: tool.free,
  };
}

function registerFix(rc: number): string {
  if (rc === 1) return "rebuild it against version 4 of the ABI";
  if (rc === 3) {
    return "update the host, or build the plugin against an older SDK";
  }
  if (rc === 70) return "read what it wrote to stderr, then ask its author";
  return "ask its author what the code means";
}

async function withinBudget<T>(
  call: Promise<T>,
  budgetMs: number,
): Promise<T | undefined> {
  if (!Number.isFinite(budgetMs)) return await call;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), budgetMs);
  });
  try {
    return await Promise.race([call, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Marks a use after an await, so that the bytes stay reachable while native code reads them. */
function keepAlive(...values: Uint8Array[]): void {
  for (const value of values) void value.length;
}
