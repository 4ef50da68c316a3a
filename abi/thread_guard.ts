/**
 * Only the thread that runs the entry point may register, as in a host that keeps its registry in a thread-local.
 *
 * Deno queues a callback from any foreign thread to the JavaScript thread, where its origin is lost, and waits for it.
 * So the vtable does not hold the callbacks: it holds a few instructions of machine code each, which compare the
 * calling thread with the one that entered, and answer -1 on the spot for any other.
 *
 * @module
 */

import type { FunctionPointer } from "./function_table.ts";
import { allocator, libc, readBytes } from "./memory.ts";

/** An entry point and registrars that know their thread. */
export interface ThreadGuard {
  /** Notes its thread and goes on to the entry point. */
  readonly entry: FunctionPointer;
  /** The registrars, by slot. */
  readonly slots: Map<string, FunctionPointer>;
  /**
   * Ends the time of registering: from now on no thread is the right one.
   *
   * @returns Whether another thread was refused.
   */
  release(): boolean;
}

/** Machine code that ends in a jump; all of it may stand at any address. */
export interface GuardCode {
  /** Stores the thread in the cell and jumps to the target. */
  enter(cell: bigint, target: bigint): Uint8Array<ArrayBuffer>;
  /** Jumps to the target on the stored thread; otherwise marks the cell and returns -1. */
  slot(cell: bigint, target: bigint): Uint8Array<ArrayBuffer>;
}

/** A thread is known by the address of its control block, which no two live ones share. */
const X86_64: GuardCode = {
  enter: (cell, target) =>
    joined(
      "f3 0f 1e fa", // endbr64
      "49 ba", // movabs $cell, %r10
      cell,
      "64 4c 8b 1c 25 00 00 00 00", // mov %fs:0, %r11
      "4d 89 1a", // mov %r11, (%r10)
      "49 bb", // movabs $target, %r11
      target,
      "41 ff e3", // jmp *%r11
    ),
  slot: (cell, target) =>
    joined(
      "f3 0f 1e fa", // endbr64
      "49 ba", // movabs $cell, %r10
      cell,
      "64 4c 8b 1c 25 00 00 00 00", // mov %fs:0, %r11
      "4d 3b 1a", // cmp (%r10), %r11
      "75 0d", // jne 1f
      "49 bb", // movabs $target, %r11
      target,
      "41 ff e3", // jmp *%r11
      "41 c7 42 08 01 00 00 00", // 1: movl $1, 8(%r10)
      "b8 ff ff ff ff", // mov $-1, %eax
      "c3", // ret
    ),
};

const AARCH64: GuardCode = {
  enter: (cell, target) =>
    joined(
      "5f 24 03 d5", // bti c
      "50 d0 3b d5", // mrs x16, tpidr_el0
      "91 00 00 58", // ldr x17, cell
      "30 02 00 f9", // str x16, [x17]
      "90 00 00 58", // ldr x16, target
      "00 02 1f d6", // br x16
      cell,
      target,
    ),
  slot: (cell, target) =>
    joined(
      "5f 24 03 d5", // bti c
      "50 d0 3b d5", // mrs x16, tpidr_el0
      "91 01 00 58", // ldr x17, cell
      "31 02 40 f9", // ldr x17, [x17]
      "1f 02 11 eb", // cmp x16, x17
      "61 00 00 54", // b.ne 1f
      "50 01 00 58", // ldr x16, target
      "00 02 1f d6", // br x16
      "d1 00 00 58", // 1: ldr x17, cell
      "30 00 80 52", // mov w16, #1
      "30 0a 00 b9", // str w16, [x17, #8]
      "00 00 80 12", // mov w0, #-1
      "c0 03 5f d6", // ret
      "1f 20 03 d5", // nop
      cell,
      target,
    ),
};

/**
 * The code for a machine.
 *
 * @param os The operating system, in Deno's spelling.
 * @param arch The machine, in Deno's spelling.
 * @returns The code; nothing where none was written.
 */
export function guardCode(
  os: string,
  arch: string,
): GuardCode | undefined {
  if (os !== "linux") return undefined;
  return arch === "x86_64" ? X86_64 : arch === "aarch64" ? AARCH64 : undefined;
}

/**
 * Binds registrars to the thread that will run an entry point. What it makes stays for ever: plugins keep the vtable.
 *
 * @param entry The entry point.
 * @param registrars The registrars, by slot.
 * @returns The guarded functions; nothing where the machine or its policy does not allow for them.
 */
export function guardThread(
  entry: FunctionPointer,
  registrars: ReadonlyMap<string, FunctionPointer>,
): ThreadGuard | undefined {
  const code = guardCode(Deno.build.os, Deno.build.arch);
  if (code === undefined) return undefined;
  // The thread, and a word that says whether another one was refused.
  const cell = allocator().malloc(16n);
  libc().copyIn(cell, new Uint8Array(16), 16n);
  const parts = [code.enter(cell, entry)];
  for (const target of registrars.values()) parts.push(code.slot(cell, target));
  const places = executable(parts);
  if (places === undefined) return undefined;
  const [start = 0n, ...slots] = places;
  return {
    entry: start,
    slots: new Map(
      [...registrars.keys()].map((slot, i) => [slot, slots[i] ?? 0n]),
    ),
    release() {
      libc().copyIn(cell, new Uint8Array(8), 8n);
      return readBytes({ pointer: cell + 8n, size: 1n })[0] !== 0;
    },
  };
}

/** Puts code into memory that is first written and then executed, never both. */
function executable(
  parts: readonly Uint8Array<ArrayBuffer>[],
): bigint[] | undefined {
  const [READ, WRITE, EXECUTE, PRIVATE, ANONYMOUS] = [1, 2, 4, 0x02, 0x20];
  const FAILED = 2n ** 64n - 1n;
  const all = new Uint8Array(parts.length * STEP);
  parts.forEach((part, i) => all.set(part, i * STEP));
  const size = BigInt(all.length);
  const start = libc().mmap(
    0n,
    size,
    READ | WRITE,
    PRIVATE | ANONYMOUS,
    -1,
    0n,
  );
  if (start === FAILED) return undefined;
  libc().copyIn(start, all, size);
  if (libc().mprotect(start, size, READ | EXECUTE) !== 0) return undefined;
  return parts.map((_, i) => start + BigInt(i * STEP));
}

/** No piece of code is longer; a multiple of 8, since literals are aligned. */
const STEP = 80;

function joined(...parts: (string | bigint)[]): Uint8Array<ArrayBuffer> {
  const bytes = parts.flatMap((part) =>
    typeof part === "string"
      ? part.split(" ").map((byte) => parseInt(byte, 16))
      : [...new Uint8Array(new BigUint64Array([part]).buffer)]
  );
  return new Uint8Array(bytes);
}
