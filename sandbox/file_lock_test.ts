import { assertEquals, assertRejects } from "@std/assert";
import { withDir } from "../tests/support/with_dir.ts";
import { withFileLock } from "./file_lock.ts";

Deno.test("withFileLock() keeps others out, also in this process", async () => {
  await withDir(async (dir) => {
    const order: string[] = [];
    const lock = `${dir}/x.lock`;
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<void>();
    const first = withFileLock(lock, async () => {
      order.push("first in");
      entered.resolve();
      await leave.promise;
      order.push("first out");
    });
    await entered.promise;
    const second = withFileLock(lock, () => {
      order.push("second");
      return Promise.resolve();
    });
    await assertRejects(
      () => withFileLock(lock, () => Promise.resolve(), { timeoutMs: 20 }),
      Deno.errors.TimedOut,
      "another process has held it",
    );
    leave.resolve();
    await Promise.all([first, second]);
    assertEquals(order, ["first in", "first out", "second"]);
  });
});

Deno.test("withFileLock() lets readers in together", async () => {
  await withDir(async (dir) => {
    const lock = `${dir}/x.lock`;
    const shared = { shared: true };
    const both = withFileLock(
      lock,
      () => withFileLock(lock, () => Promise.resolve("both"), shared),
      shared,
    );
    assertEquals(await both, "both");
  });
});
