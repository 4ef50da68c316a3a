import { assert, assertEquals } from "@std/assert";
import { guardCode, guardThread } from "./thread_guard.ts";

Deno.test("guardCode() has code for Linux on two machines and for no other", () => {
  assertEquals(guardCode("darwin", "aarch64"), undefined);
  assertEquals(guardCode("windows", "x86_64"), undefined);
  assertEquals(guardCode("linux", "riscv64"), undefined);
  for (const arch of ["x86_64", "aarch64"]) {
    const code = guardCode("linux", arch);
    assert(code !== undefined);
    const pieces = [code.enter(1n, 2n), code.slot(1n, 2n)];
    // Each has its own place of 80 bytes, and literals of aarch64 are aligned in it.
    for (const { length } of pieces) assert(length <= 80 && length > 32);
    if (arch === "aarch64") {
      assertEquals(pieces.map(({ length }) => length % 8), [0, 0]);
    }
  }
});

Deno.test({
  name:
    "guardThread() lets the entering thread through, to the end of its time",
  ignore: guardCode(Deno.build.os, Deno.build.arch) === undefined,
  sanitizeResources: false, // The C library stays open.
  fn: () => {
    const calls: number[] = [];
    const add = (n: number) =>
      new Deno.UnsafeCallback(
        { parameters: ["i32"], result: "i32" } as const,
        (x: number) => {
          calls.push(x);
          return x + n;
        },
      );
    using entry = closed(add(1));
    using slot = closed(add(2));
    const guard = guardThread(entry.address, new Map([["s", slot.address]]));
    assert(guard !== undefined);
    const call = (address: bigint, x: number) =>
      new Deno.UnsafeFnPointer(
        Deno.UnsafePointer.create(address) ?? entry.pointer,
        { parameters: ["i32"], result: "i32" } as const,
      ).call(x);
    const guarded = guard.slots.get("s") ?? 0n;
    assertEquals(call(guarded, 1), -1);
    assertEquals(call(guard.entry, 10), 11);
    assertEquals(call(guarded, 20), 22);
    assertEquals(guard.release(), true);
    assertEquals(call(guarded, 30), -1);
    assertEquals(calls, [10, 20]);
  },
});

function closed<P extends readonly Deno.NativeType[]>(
  callback: Deno.UnsafeCallback<{ parameters: P; result: "i32" }>,
) {
  return {
    pointer: callback.pointer,
    address: Deno.UnsafePointer.value(callback.pointer),
    [Symbol.dispose]: () => callback.close(),
  };
}
