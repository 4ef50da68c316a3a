import { assertEquals } from "@std/assert";
import { callSignal } from "./call_signal.ts";
import { withinBudget } from "./late_calls.ts";
import { after } from "./timer.ts";

const ENDLESS = [Infinity, NaN, 2 ** 31, 1e12];

Deno.test("after() never fires for a time that no timer can hold", () => {
  assertEquals(ENDLESS.map((ms) => after(ms, () => {})), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("after() fires for a time in the past", async () => {
  await new Promise<void>((resolve) => after(-5, resolve));
});

Deno.test("a deadline that no timer can hold does not stop a call", async () => {
  // Two rounds of timers: one that was armed for such a time fires in the first.
  const later = () => new Promise((resolve) => setTimeout(resolve, 5));
  for (const ms of ENDLESS) {
    using stop = callSignal(undefined, ms);
    assertEquals(await withinBudget(later().then(() => "done"), ms), "done");
    assertEquals([stop.signal?.aborted ?? false, stop.passed], [
      false,
      undefined,
    ]);
  }
});
