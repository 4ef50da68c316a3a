/**
 * A plugin inside this process: opened, registered, called. Every call into it is nonblocking, every callback from it
 * ends in a code, and nothing is ever closed: a thread of the plugin may call at any time.
 *
 * A fault, an `exit` or a bad constructor of the plugin ends this process. The host therefore runs this in a child.
 *
 * @module
 */

import { ActionBridge } from "./action_worker.ts";
import { openLibrary, runEntryPoint } from "./entry_point.ts";
import {
  DEFAULT_LIMITS,
  type EngineCall,
  type EngineLimits,
  type EngineOptions,
  type EngineStats,
} from "./engine_types.ts";
import { Gate } from "./gate.ts";
import { HandlerCalls } from "./handler_calls.ts";
import { PluginStrings } from "./plugin_strings.ts";
import { SESSION_ID_ENV } from "./codes.ts";
import {
  allocator,
  borrow,
  cString,
  heapBytes,
  keepAlive,
  libc,
  nativeFunction,
  type NativeStruct,
  STEP,
  STRING,
  stringPlace,
  stringStruct,
  structBytes,
} from "./memory.ts";
import { type CallOutcome, driveCall, type Step } from "./poll_driver.ts";
import type { FunctionPointer, ToolFunctions } from "./function_table.ts";
import { Registrar } from "./registrar.ts";
import type { Registration } from "./registration.ts";

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
  /** Its handlers. */
  readonly handlers: HandlerCalls;
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
    this.handlers = new HandlerCalls({
      name: options.name,
      registrar: this.#registrar,
      gate: this.#gate,
      strings: this.#strings,
      limits: this.#limits,
      onWedged: options.onWedged,
    });
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
    const { name } = options;
    const entry = await openLibrary(path, name);
    await runEntryPoint(entry, engine.#registrar, {
      name,
      freeString: engine.#freeString,
      action: bridge.action,
      userData: USER_DATA,
      keepAlive: options.keepAlive ?? false,
    });
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
      execute: (begin) => this.#execute(tool, call, begin),
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
      lateHandlers: this.handlers.late,
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

  async #execute(
    tool: BoundTool,
    call: EngineCall,
    begin: () => boolean,
  ): Promise<bigint> {
    const id = borrow(call.callId);
    const handle = await this.#gate.run(() => {
      if (!begin()) return Promise.resolve(0n);
      const { args } = call;
      // The tool frees it, so it is made only once the tool gets it.
      const params = stringStruct(this.#bridge.give(args), args.length);
      return tool.execute.call(id.struct, params, this.#freeString);
    });
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
