import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  acquireLease,
  Lease,
  type LeaseClock,
  type LeaseStore,
} from "./lease.ts";

/** A store in memory whose link can be cut, per client, and whose answers can be lost. */
class MemoryStore {
  readonly values = new Map<string, { value: string; revision: number }>();
  revision = 0;

  client(): LeaseStore & { cut: boolean; loseAnswers: boolean } {
    const link = { cut: false, loseAnswers: false };
    const call = async <T>(work: () => T): Promise<T> => {
      await Promise.resolve();
      if (link.cut) return await new Promise<never>(() => {});
      const result = work();
      if (link.loseAnswers) return await new Promise<never>(() => {});
      return result;
    };
    const put = (key: string, value: string): number => {
      this.values.set(key, { value, revision: ++this.revision });
      return this.revision;
    };
    return Object.assign(link, {
      create: (key: string, value: string) =>
        call(() => this.values.has(key) ? undefined : put(key, value)),
      update: (key: string, value: string, revision: number) =>
        call(() =>
          this.values.get(key)?.revision === revision
            ? put(key, value)
            : undefined
        ),
      read: (key: string) => call(() => this.values.get(key)),
      remove: (key: string, revision: number) =>
        call(() => {
          if (this.values.get(key)?.revision === revision) {
            this.values.delete(key);
          }
        }),
    });
  }
}

/** For tests that wait for its end. */
const SHORT = { leaseMs: 900, marginMs: 180, stopMs: 450 };
/** For tests in which it must hold, also on a machine that stands still for a second. */
const LONG = { leaseMs: 3_000, marginMs: 600, stopMs: 600 };
/** For the test that looks at what is left when it stops. */
const EARLY = { leaseMs: 3_000, marginMs: 600, stopMs: 1_500 };

async function take(
  store: LeaseStore,
  holder: string,
  more = {},
): Promise<Lease> {
  const lease = await acquireLease(store, "k", holder, { ...SHORT, ...more });
  if (!(lease instanceof Lease)) throw new Error(`held by ${lease.heldBy}`);
  return lease;
}

Deno.test("acquireLease() lets one in, and the next at once after a release", async () => {
  const store = new MemoryStore();
  const one = await take(store.client(), "one", LONG);
  assertEquals(
    await acquireLease(store.client(), "k", "two", { ...LONG, wait: false }),
    {
      heldBy: "one",
    },
  );
  await one.release();
  assertEquals(await one.stopping, "released");
  const two = await take(store.client(), "two", { wait: false });
  assert(two.fence > one.fence);
  await two.release();
});

Deno.test("acquireLease() does not take a lease that is renewed, however long it waits", async () => {
  const store = new MemoryStore();
  const one = await take(store.client(), "one", LONG);
  assertEquals(await acquireLease(store.client(), "k", "two", LONG), {
    heldBy: "one",
  });
  await renewal(one);
  assert(one.valid, "it is renewed all the time");
  await one.release();
});

function renewal(lease: Lease): Promise<void> {
  return new Promise((resolve) => lease.onRenewed(() => resolve()));
}

Deno.test("a lease stops before another can begin when its link is cut", async () => {
  const store = new MemoryStore();
  const link = store.client();
  const one = await take(link, "one", EARLY);
  link.cut = true;
  const waiting = take(store.client(), "two", EARLY);
  assertEquals(await one.stopping, "expired");
  assert(one.remainingMs > 0, "there is time left to end the agent");
  const two = await waiting;
  assertEquals(one.remainingMs, 0, "the first is over when the second begins");
  await two.release();
  one.abandon();
});

Deno.test("a lease survives answers that are lost on their way back", async () => {
  const store = new MemoryStore();
  const link = store.client();
  const one = await take(link, "one", LONG);
  const began = store.revision;
  link.loseAnswers = true;
  while (store.revision === began) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  link.loseAnswers = false;
  await renewal(one);
  assert(one.valid, "the renewal whose answer was lost is found to be ours");
  await one.release();
});

Deno.test("acquireLease() finds what an attempt without an answer has made", async () => {
  const store = new MemoryStore();
  const link = store.client();
  let failing = true;
  const create: LeaseStore["create"] = async (key, value) => {
    const made = await link.create(key, value);
    if (failing) throw new Error("no answer came");
    return made;
  };
  const patient = { ...link, create, passes: () => failing };
  const waiting = take(patient, "one", LONG);
  while (store.values.size === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  failing = false;
  const one = await waiting;
  assert(one.valid);
  await one.release();
  // What does not pass is thrown at once.
  failing = true;
  const hopeless = { ...link, create, passes: () => false };
  await assertRejects(() => take(hopeless, "two"), Error, "no answer came");
});

Deno.test("a lease that the store has lost is made again", async () => {
  const store = new MemoryStore();
  const one = await take(store.client(), "one", LONG);
  store.values.clear();
  await renewal(one);
  assert(one.valid);
  assertEquals(
    await acquireLease(store.client(), "k", "two", { ...LONG, wait: false }),
    { heldBy: "one" },
  );
  await one.release();
});

Deno.test("a lease that was taken is told so and cannot come back", async () => {
  const store = new MemoryStore();
  const one = await take(store.client(), "one", LONG);
  store.values.set("k", { value: "{}", revision: ++store.revision });
  assertEquals(await one.stopping, "taken");
  assertEquals([one.valid, one.remainingMs], [false, 0]);
  assertEquals(store.values.get("k")?.value, "{}");
});

class TestClock implements LeaseClock {
  offset = 0;
  wallOffset = 0;
  monotonic(): number {
    return performance.now() + this.offset;
  }
  wall(): number {
    return Date.now() + this.wallOffset;
  }
}

Deno.test("a lease is not prolonged by a clock that is set back", async () => {
  const store = new MemoryStore();
  const clock = new TestClock();
  const link = store.client();
  const one = await take(link, "one", { clock });
  clock.wallOffset = -3_600_000;
  link.cut = true;
  const waiting = take(store.client(), "two");
  assertEquals(await one.stopping, "expired");
  const two = await waiting;
  assertEquals(one.remainingMs, 0);
  await two.release();
  one.abandon();
});

Deno.test("a lease does not hold after a jump or a sleep until it is renewed again", async () => {
  const store = new MemoryStore();
  const clock = new TestClock();
  const link = store.client();
  const one = await take(link, "one", { ...LONG, clock });
  clock.wallOffset = 60_000;
  assertEquals(one.valid, false, "at once, for whoever asks");
  await renewal(one);
  assertEquals(one.valid, true, "the server has confirmed that nobody took it");
  link.cut = true;
  clock.wallOffset = 120_000;
  assertEquals(one.valid, false);
  assertEquals(await one.stopping, "expired");
  one.abandon();
});

Deno.test("acquireLease() does not take early when its own clock of the day jumps", async () => {
  const store = new MemoryStore();
  const one = await take(store.client(), "one", LONG);
  const clock = new TestClock();
  const waiting = acquireLease(store.client(), "k", "two", { ...LONG, clock });
  clock.wallOffset = 3_600_000;
  assertEquals(await waiting, { heldBy: "one" });
  await one.release();
});

const BRIEF = { leaseMs: 400, marginMs: 80, stopMs: 160 };

Deno.test("leases under cuts and heals at random never have two owners", async () => {
  const store = new MemoryStore();
  let seed = 7;
  const random = () =>
    (seed = seed * 1103515245 + 12345 & 0x7fffffff) / 0x7fffffff;
  const deadline = performance.now() + 30_000;
  let owners = 0, doubles = 0, begun = 0, lastFence = 0;
  const contender = async (name: string) => {
    const link = store.client();
    while (begun < 5 && performance.now() < deadline) {
      link.cut = false;
      const lease = await acquireLease(link, "k", name, BRIEF)
        .catch(() => undefined);
      if (!(lease instanceof Lease)) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      begun++;
      if (++owners > 1) doubles++;
      assert(lease.fence > lastFence);
      lastFence = lease.fence;
      const cut = setTimeout(() => link.cut = true, random() * 500);
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([
        lease.stopping,
        new Promise((resolve) =>
          timer = setTimeout(resolve, 300 + random() * 900)
        ),
      ]);
      clearTimeout(timer);
      clearTimeout(cut);
      // The agent's end takes its time, within what is left; with nothing left its watchdog has ended it.
      const left = lease.remainingMs - 20;
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
      owners--;
      if (random() < 0.5 && !link.cut) await lease.release();
      lease.abandon();
    }
  };
  await Promise.all(["a", "b", "c", "d"].map(contender));
  assertEquals(doubles, 0);
  assert(begun >= 5, String(begun));
});
