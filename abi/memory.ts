/**
 * Native memory: libc through FFI, and the two string structs. Only malloc memory is handed to plugins, so that libc's
 * own `free` can serve as the host's `free_string` on every thread without any JavaScript.
 *
 * @module
 */

import { AbiError } from "./errors.ts";

/** The struct of an owned or borrowed string. */
export const STRING = { struct: ["u64", "u64"] } as const;
/** The struct that poll returns. */
export const STEP = { struct: ["u32", "u64", "u64"] } as const;
/** The struct of an event. */
export const EVENT = {
  struct: ["u64", "u64", "u64", "u64", "u64", "u64", "u64", "u64"],
} as const;

const LIBC = {
  copyIn: {
    name: "memcpy",
    parameters: ["u64", "buffer", "usize"],
    result: "u64",
  },
  copyOut: {
    name: "memcpy",
    parameters: ["buffer", "u64", "usize"],
    result: "u64",
  },
  setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  dlopen: { parameters: ["buffer", "i32"], result: "u64", nonblocking: true },
  dlopenNow: { name: "dlopen", parameters: ["buffer", "i32"], result: "u64" },
  dlerror: { parameters: [], result: "u64" },
  dlsym: { parameters: ["u64", "buffer"], result: "u64" },
  strlen: { parameters: ["u64"], result: "usize" },
  dup2: { parameters: ["i32", "i32"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  mmap: {
    parameters: ["u64", "usize", "i32", "i32", "i32", "i64"],
    result: "u64",
  },
  mprotect: { parameters: ["u64", "usize", "i32"], result: "i32" },
  mallinfo2: {
    parameters: [],
    result: {
      struct: [
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
        "u64",
      ],
    },
    optional: true,
  },
} as const;

/** The functions of libc that the host uses. */
export type Libc = Deno.DynamicLibrary<typeof LIBC>["symbols"];

let opened: Libc | undefined;

/**
 * The C library of this process. It stays open.
 *
 * @returns Its functions.
 */
export function libc(): Libc {
  if (opened !== undefined) return opened;
  if (Deno.build.os === "windows") {
    throw new AbiError(
      "unsupported",
      "Cannot host native plugins: Windows is not supported yet",
      {
        fix: "run on Linux or macOS",
      },
    );
  }
  const name = Deno.build.os === "darwin" ? "libSystem.B.dylib" : "libc.so.6";
  opened = Deno.dlopen(name, LIBC).symbols;
  return opened;
}

/** The allocator that plugins see: malloc and free as the dynamic loader resolves them in this process. */
export interface Allocator {
  /** The address of malloc. */
  readonly mallocAddress: bigint;
  /** The address of free. */
  readonly freeAddress: bigint;
  /** Allocates. */
  malloc(size: bigint): bigint;
  /** Gives back. */
  free(pointer: bigint): void;
}

let found: Allocator | undefined;

/**
 * The allocator of this process. Looked up by the loader's own rule, so that one put before libc's (a sanitizer,
 * jemalloc) is the one that both sides use.
 *
 * @returns The allocator.
 */
export function allocator(): Allocator {
  if (found !== undefined) return found;
  const anywhere = Deno.build.os === "darwin" ? 2n ** 64n - 2n : 0n;
  const mallocAddress = libc().dlsym(anywhere, cString("malloc"));
  const freeAddress = libc().dlsym(anywhere, cString("free"));
  const malloc = nativeFunction(mallocAddress, MALLOC);
  const free = nativeFunction(freeAddress, FREE);
  found = {
    mallocAddress,
    freeAddress,
    malloc: (size) => malloc.call(size),
    free: (pointer) => free.call(pointer),
  };
  return found;
}

const MALLOC = { parameters: ["usize"], result: "u64" } as const;
const FREE = { parameters: ["u64"], result: "void" } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The bytes of a C string.
 *
 * @param text The text; it must not hold a zero byte.
 * @returns UTF-8 with a zero byte at the end.
 */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3 + 1);
  const { written } = encoder.encodeInto(text, bytes);
  return bytes.slice(0, written + 1);
}

/**
 * Writes the struct of a string.
 *
 * @param pointer The address, 0 for the empty string.
 * @param size The length in bytes.
 * @returns The 16 bytes.
 */
export function stringStruct(
  pointer: bigint,
  size: number | bigint,
): Uint8Array<ArrayBuffer> {
  // Every machine that the ABI is for stores the low byte first, as these words do.
  const words = new BigUint64Array(2);
  if (size > 0) {
    words[0] = pointer;
    words[1] = BigInt(size);
  }
  return new Uint8Array(words.buffer);
}

/** A struct as a callback receives it or a call returns it. */
export type NativeStruct = ArrayBufferLike | ArrayBufferView;

/**
 * The bytes of a struct.
 *
 * @param struct The struct.
 * @returns A view of its bytes.
 */
export function structBytes(struct: NativeStruct): Uint8Array {
  return ArrayBuffer.isView(struct)
    ? new Uint8Array(struct.buffer, struct.byteOffset, struct.byteLength)
    : new Uint8Array(struct);
}

/** A string of a plugin as it crosses the border: where it is and how long. */
export interface StringPlace {
  /** The address. */
  readonly pointer: bigint;
  /** The length in bytes. */
  readonly size: bigint;
}

/**
 * Reads the struct of a string.
 *
 * @param struct The bytes that hold it.
 * @param offset Where it starts.
 * @returns Address and length; the empty string has both 0.
 */
export function stringPlace(struct: Uint8Array, offset = 0): StringPlace {
  const view = new DataView(struct.buffer, struct.byteOffset + offset, 16);
  const pointer = view.getBigUint64(0, true);
  const size = view.getBigUint64(8, true);
  // A null pointer is empty whatever the length says, and a dangling one of length 0 is never touched.
  return pointer === 0n || size === 0n
    ? { pointer: 0n, size: 0n }
    : { pointer, size };
}

/**
 * Copies bytes out of native memory.
 *
 * @param place Where they are.
 * @returns The copy.
 */
export function readBytes(place: StringPlace): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Number(place.size));
  if (bytes.length > 0) {
    libc().copyOut(bytes, place.pointer, BigInt(bytes.length));
  }
  return bytes;
}

/**
 * Decodes UTF-8; invalid bytes become U+FFFD.
 *
 * @param bytes The bytes.
 * @returns The text.
 */
export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/**
 * Encodes text as UTF-8.
 *
 * @param text The text.
 * @returns The bytes.
 */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/**
 * Copies bytes into memory that `free` gives back.
 *
 * @param bytes The bytes.
 * @returns The address, 0 for no bytes.
 */
export function mallocBytes(bytes: Uint8Array<ArrayBuffer>): bigint {
  if (bytes.length === 0) return 0n;
  const size = BigInt(bytes.length);
  const pointer = allocator().malloc(size);
  if (pointer === 0n) {
    throw new AbiError(
      "protocol",
      `Cannot pass a string: no memory for ${size} bytes`,
    );
  }
  libc().copyIn(pointer, bytes, size);
  return pointer;
}

/** A borrowed string: the struct, and the bytes that must stay reachable until the call has settled. */
export interface Borrowed {
  /** The struct to pass. */
  readonly struct: Uint8Array<ArrayBuffer>;
  /** What it points to. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Lends text to a plugin.
 *
 * @param text The text or its bytes.
 * @returns The struct and its owner.
 */
export function borrow(text: string | Uint8Array<ArrayBuffer>): Borrowed {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  if (bytes.length === 0) return { struct: new Uint8Array(16), bytes };
  const pointer = Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  return { struct: stringStruct(pointer, bytes.length), bytes };
}

/**
 * Binds a function of the plugin.
 *
 * @param address Its address.
 * @param definition Its signature.
 * @returns The function to call.
 */
export function nativeFunction<const D extends Deno.ForeignFunction>(
  address: bigint,
  definition: D,
): Deno.UnsafeFnPointer<D> {
  const pointer = Deno.UnsafePointer.create<NoInfer<Omit<D, "nonblocking">>>(
    address,
  );
  if (pointer === null) {
    throw new TypeError("Cannot call a function: it is NULL");
  }
  return new Deno.UnsafeFnPointer(pointer, definition);
}

/**
 * The bytes that are allocated from malloc in this process.
 *
 * @returns The bytes, 0 where the C library does not tell.
 */
export function heapBytes(): number {
  const info = libc().mallinfo2?.();
  if (info === undefined) return 0;
  const bytes = structBytes(info);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const HBLKHD = 4;
  const UORDBLKS = 7;
  return Number(view.getBigUint64(HBLKHD * 8, true)) +
    Number(view.getBigUint64(UORDBLKS * 8, true));
}

/**
 * Marks a use after an await, so that the bytes stay reachable while native code reads them.
 *
 * @param values What native code reads.
 */
export function keepAlive(...values: Uint8Array[]): void {
  for (const value of values) void value.length;
}
