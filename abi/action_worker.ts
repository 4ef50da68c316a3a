/**
 * `runtime_action` lives on its own Worker: the plugin's thread blocks in it while the main thread stays free to
 * answer. The Worker is inline source, so it needs no read permission.
 *
 * @module
 */

import { AbiError, reasonOf } from "./errors.ts";
import {
  ACTION_COUNT,
  ACTION_DROPPED,
  ACTION_ERROR,
  ACTION_NO_BRIDGE,
  ACTION_UNKNOWN,
} from "./codes.ts";
import { allocator, decodeText, encodeText, mallocBytes } from "./memory.ts";

/** What the host answers to one action. */
export interface ActionAnswer {
  /** The code the plugin sees. */
  readonly rc: number;
  /** JSON for `out`. */
  readonly text: string;
}

/** Options of {@linkcode ActionBridge}. */
export interface ActionBridgeOptions {
  /** Answers one action. */
  readonly answer: (action: number, args: string) => Promise<ActionAnswer>;
  /** How long the plugin's thread waits before it gets code -2. */
  readonly deadlineMs: number;
  /** The only `user_data` that is ours. */
  readonly userData: bigint;
  /** Also serve `free_string` there, and count: slow, for the conformance run. */
  readonly accounting: boolean;
}

/** Strings given to the plugin and strings it gave back; only counted with `accounting`. */
export interface HostStringCounts {
  /** Given to the plugin. */
  given: number;
  /** Given back. */
  freed: number;
  /** Given back twice. */
  freedTwice: number;
  /** Given back although they were never ours, or with another length. */
  freedWrong: number;
}

interface Ready {
  readonly action: bigint;
  readonly free: bigint;
}

/** The Worker that serves `runtime_action`. It is never stopped: a plugin's thread may call at any time. */
export class ActionBridge {
  /** The address of `runtime_action`. */
  readonly action: bigint;
  /** The address of the counting `free_string`; 0 without accounting. */
  readonly free: bigint;
  readonly #counts: Int32Array<SharedArrayBuffer>;
  #calls = 0;

  private constructor(ready: Ready, counts: Int32Array<SharedArrayBuffer>) {
    this.action = ready.action;
    this.free = ready.free;
    this.#counts = counts;
  }

  /**
   * Starts the Worker.
   *
   * @param options Who answers, and by when.
   * @returns The running bridge.
   */
  static async start(options: ActionBridgeOptions): Promise<ActionBridge> {
    const counts = new Int32Array(new SharedArrayBuffer(16));
    const url = `data:application/javascript,${encodeURIComponent(SOURCE)}`;
    const worker = new Worker(url, { type: "module" });
    const ready = Promise.withResolvers<Ready>();
    const bridge = ready.promise.then((addresses) =>
      new ActionBridge(addresses, counts)
    );
    worker.onerror = (event) => {
      event.preventDefault();
      ready.reject(
        new AbiError(
          "start",
          `Cannot start the action worker: ${event.message}`,
        ),
      );
    };
    worker.onmessage = (event: MessageEvent<FromWorker>) => {
      const message = event.data;
      if (message.kind === "ready") ready.resolve(message);
      else bridge.then((b) => b.#answer(message, options));
    };
    worker.postMessage({
      os: Deno.build.os,
      malloc: allocator().mallocAddress,
      free: allocator().freeAddress,
      deadlineMs: options.deadlineMs,
      userData: options.userData,
      accounting: options.accounting,
      counts,
      codes: {
        count: ACTION_COUNT,
        error: ACTION_ERROR,
        unknown: ACTION_UNKNOWN,
        noBridge: ACTION_NO_BRIDGE,
        dropped: ACTION_DROPPED,
      },
    });
    return await bridge;
  }

  /** How many actions were asked so far. */
  get calls(): number {
    return this.#calls;
  }

  /**
   * What was given to the plugin and came back.
   *
   * @returns The counts.
   */
  counts(): HostStringCounts {
    const [given = 0, freed = 0, freedTwice = 0, freedWrong = 0] = this.#counts;
    return { given, freed, freedTwice, freedWrong };
  }

  /**
   * Copies bytes into memory that this host's `free_string` takes back.
   *
   * @param bytes The bytes.
   * @returns The address, 0 for no bytes.
   */
  give(bytes: Uint8Array<ArrayBuffer>): bigint {
    if (this.free === 0n || bytes.length === 0) return mallocBytes(bytes);
    Atomics.add(this.#counts, 0, 1);
    const block = new Uint8Array(bytes.length + 16);
    const view = new DataView(block.buffer);
    view.setBigUint64(0, LIVE, true);
    view.setBigUint64(8, BigInt(bytes.length), true);
    block.set(bytes, 16);
    return mallocBytes(block) + 16n;
  }

  async #answer(
    request: ActionRequest,
    options: ActionBridgeOptions,
  ): Promise<void> {
    this.#calls++;
    let answer: ActionAnswer;
    try {
      answer = await options.answer(request.action, decodeText(request.args));
    } catch (error) {
      const message = reasonOf(error);
      answer = { rc: ACTION_ERROR, text: JSON.stringify({ error: message }) };
    }
    const control = new Int32Array(request.shared);
    const out = new BigUint64Array(request.shared);
    if (Atomics.load(control, 0) !== 0) return;
    const bytes = request.wantsOut
      ? encodeText(answer.text)
      : new Uint8Array(0);
    out[1] = this.give(bytes);
    out[2] = BigInt(bytes.length);
    control[1] = answer.rc;
    // After its deadline the Worker took the state away; then the few bytes of that answer are lost.
    if (Atomics.compareExchange(control, 0, 0, 1) === 0) {
      Atomics.notify(control, 0);
    }
  }
}

/** The mark in front of a string that the plugin holds. */
const LIVE = 0x42554c4b4c495645n;

interface ActionRequest {
  readonly kind: "action";
  readonly action: number;
  readonly args: Uint8Array;
  readonly wantsOut: boolean;
  readonly shared: SharedArrayBuffer;
}

type FromWorker = ({ readonly kind: "ready" } & Ready) | ActionRequest;

/** The Worker, as plain JavaScript. Every callback ends in a code: an exception would read as success. */
const SOURCE = `
const MAX_ARGS = 67108864n;
const STRING = { struct: ["u64", "u64"] };
const LIVE = ${LIVE}n, DEAD = 0x42554c4b44454144n;
self.onmessage = ({ data: config }) => {
  const name = config.os === "darwin" ? "libSystem.B.dylib" : "libc.so.6";
  const c = Deno.dlopen(name, {
    copyIn: { name: "memcpy", parameters: ["u64", "buffer", "usize"], result: "u64" },
    copyOut: { name: "memcpy", parameters: ["buffer", "u64", "usize"], result: "u64" },
  }).symbols;
  const native = (address, definition) =>
    new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(address), definition);
  const malloc = native(config.malloc, { parameters: ["usize"], result: "u64" });
  const release = native(config.free, { parameters: ["u64"], result: "void" });
  const codes = config.codes;
  const place = (struct) => {
    const view = new DataView(struct.buffer, struct.byteOffset, 16);
    return [view.getBigUint64(0, true), view.getBigUint64(8, true)];
  };
  const put = (out, pointer, size) => {
    if (out !== 0n) c.copyIn(out, new BigUint64Array([pointer, size]), 16n);
  };
  const give = (text) => {
    const bytes = new TextEncoder().encode(text);
    const head = config.accounting ? 16 : 0;
    const block = new Uint8Array(bytes.length + head);
    if (head > 0) {
      new BigUint64Array(block.buffer, 0, 2).set([LIVE, BigInt(bytes.length)]);
      Atomics.add(config.counts, 0, 1);
    }
    block.set(bytes, head);
    const pointer = malloc.call(BigInt(block.length));
    c.copyIn(pointer, block, BigInt(block.length));
    return [pointer + BigInt(head), BigInt(bytes.length)];
  };
  const action = Deno.UnsafeCallback.threadSafe(
    { parameters: ["u32", STRING, "u64", "u64"], result: "i32" },
    (id, ref, out, userData) => {
      try {
        if (id >= codes.count) {
          if (out !== 0n) put(out, ...give(JSON.stringify({ error: "unknown runtime action id " + id })));
          return codes.unknown;
        }
        put(out, 0n, 0n);
        if (userData !== config.userData) return codes.noBridge;
        const [pointer, size] = place(ref);
        if (size > MAX_ARGS) {
          if (out !== 0n) put(out, ...give(JSON.stringify({ error: "arguments of " + size + " bytes are too long" })));
          return codes.error;
        }
        const args = new Uint8Array(pointer === 0n ? 0 : Number(size));
        if (args.length > 0) c.copyOut(args, pointer, size);
        const shared = new SharedArrayBuffer(24);
        const control = new Int32Array(shared);
        self.postMessage({ kind: "action", action: id, args, wantsOut: out !== 0n, shared });
        Atomics.wait(control, 0, 0, config.deadlineMs);
        if (Atomics.compareExchange(control, 0, 0, 2) === 0) return codes.dropped;
        const words = new BigUint64Array(shared);
        put(out, words[1], words[2]);
        return control[1];
      } catch {
        return codes.error;
      }
    },
  );
  let free = 0n;
  if (config.accounting) {
    const old = [];
    const callback = Deno.UnsafeCallback.threadSafe({ parameters: [STRING], result: "void" }, (struct) => {
      try {
        const [pointer, size] = place(struct);
        if (pointer === 0n || size === 0n) return;
        const head = new BigUint64Array(2);
        c.copyOut(head, pointer - 16n, 16n);
        if (head[0] === DEAD) return void Atomics.add(config.counts, 2, 1);
        if (head[0] !== LIVE || head[1] !== size) return void Atomics.add(config.counts, 3, 1);
        c.copyIn(pointer - 16n, new BigUint64Array([DEAD]), 8n);
        Atomics.add(config.counts, 1, 1);
        old.push(pointer - 16n);
        // Freed late, so that a second free is seen as such.
        if (old.length > 256) release.call(old.shift());
      } catch { /* A free function has no way to report. */ }
    });
    free = Deno.UnsafePointer.value(callback.pointer);
    callback.unref();
  }
  action.unref();
  self.postMessage({ kind: "ready", action: Deno.UnsafePointer.value(action.pointer), free });
};
`;
