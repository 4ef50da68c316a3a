import { assertEquals, assertRejects } from "@std/assert";
import { Gate } from "./gate.ts";

Deno.test("Gate runs so many calls at once, the others in order, urgent ones from the reserve", async () => {
  const gate = new Gate(2, 1);
  const started: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const call = (n: number, urgent = false) =>
    gate.run(() => {
      started.push(n);
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    }, urgent);
  const calls = [call(1), call(2), call(3), call(4), call(5, true)];
  assertEquals([started, gate.active, gate.queued], [[1, 2, 5], 3, 2]);
  for (let i = 0; i < 5; i++) {
    while (ends.length <= i) await Promise.resolve();
    ends[i]?.resolve(i);
    await Promise.resolve();
  }
  await Promise.all(calls);
  assertEquals([started, gate.active, gate.queued], [[1, 2, 5, 3, 4], 0, 0]);
});

Deno.test("Gate gives the place back after a failure", async () => {
  const gate = new Gate(1, 0);
  for (let i = 0; i < 3; i++) {
    await assertRejects(
      () => gate.run(() => Promise.reject(new Error("no"))),
      Error,
      "no",
    );
  }
  assertEquals(await gate.run(() => Promise.resolve(7)), 7);
});
