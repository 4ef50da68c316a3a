import { assertEquals, assertRejects } from "@std/assert";
import {
  driveCall,
  type DriveOptions,
  type Step,
  type StepPort,
} from "./poll_driver.ts";

interface Log {
  readonly events: string[];
  polling: boolean;
}

function port(
  steps: (log: Log, n: number) => Step | Promise<Step>,
  execute: bigint | Promise<bigint> = 7n,
): [StepPort, Log] {
  const log: Log = { events: [], polling: false };
  let polls = 0;
  return [{
    execute: (begin) => {
      begin();
      log.events.push("execute");
      return Promise.resolve(execute);
    },
    poll: async () => {
      log.polling = true;
      const step = await steps(log, polls++);
      log.polling = false;
      return step;
    },
    cancel: () => {
      log.events.push("cancel");
      return Promise.resolve();
    },
    destroy: (handle) => {
      log.events.push(
        log.polling ? "destroy while polling" : `destroy ${handle}`,
      );
      return Promise.resolve();
    },
  }, log];
}

const limits: DriveOptions = { cancelGraceMs: 30, stuckMs: 60 };
const pending: Step = { tag: 0, text: "" };

Deno.test("driveCall() polls until done and destroys once", async () => {
  const updates: string[] = [];
  const [p, log] = port((_, n) =>
    n < 20 ? { tag: 0, text: n === 3 ? "half" : "" } : { tag: 1, text: "ok" }
  );
  const call = driveCall(p, { ...limits, onProgress: (t) => updates.push(t) });
  assertEquals(await call.outcome, {
    kind: "done",
    text: "ok",
    cancelled: false,
    ignoredCancel: false,
  });
  await call.finished;
  assertEquals(updates, ["half"]);
  assertEquals(log.events, ["execute", "destroy 7"]);
});

Deno.test("driveCall() reports errors, null handles and undefined tags", async () => {
  const [err] = port(() => ({ tag: 2, text: "no" }));
  assertEquals((await driveCall(err, limits).outcome).kind, "error");
  const [none, log] = port(() => pending, 0n);
  assertEquals((await driveCall(none, limits).outcome).kind, "null_handle");
  assertEquals(log.events, ["execute"]);
  const [odd, oddLog] = port(() => ({ tag: 9, text: "" }));
  const outcome = await driveCall(odd, limits).outcome;
  assertEquals([outcome.kind, outcome.text], [
    "bad_tag",
    "poll returned tag 9, only 0 to 2 are defined",
  ]);
  assertEquals(oddLog.events, ["execute", "destroy 7"]);
});

Deno.test("driveCall() cancels once, lets the tool end by itself and then destroys", async () => {
  const abort = new AbortController();
  let after = 0;
  const [p, log] = port((log) => {
    if (log.events.includes("cancel")) {
      return after++ < 3 ? pending : { tag: 2, text: "cancelled" };
    }
    queueMicrotask(() => abort.abort());
    return pending;
  });
  const call = driveCall(p, {
    ...limits,
    cancelGraceMs: 5_000,
    stuckMs: 5_000,
    signal: abort.signal,
  });
  assertEquals(await call.outcome, {
    kind: "error",
    text: "cancelled",
    cancelled: true,
    ignoredCancel: false,
  });
  await call.finished;
  assertEquals(log.events, ["execute", "cancel", "destroy 7"]);
});

Deno.test("driveCall() gives up on a tool that ignores the cancel, still destroying once", async () => {
  const abort = new AbortController();
  const [p, log] = port((_, n) => {
    if (n === 1) abort.abort();
    return pending;
  });
  const call = driveCall(p, { ...limits, signal: abort.signal });
  const outcome = await call.outcome;
  assertEquals([outcome.kind, outcome.ignoredCancel], ["cancelled", true]);
  // Between two polls the handle goes first, then the caller is answered.
  assertEquals(log.events, ["execute", "cancel", "destroy 7"]);
  await call.finished;
});

Deno.test("driveCall() answers the caller while poll sleeps, destroys when it returns, reports a wedge", async () => {
  const abort = new AbortController();
  const gate = Promise.withResolvers<Step>();
  const wedged = Promise.withResolvers<string>();
  const [p, log] = port(() => {
    abort.abort();
    return gate.promise;
  });
  const call = driveCall(p, {
    ...limits,
    signal: abort.signal,
    onWedged: wedged.resolve,
  });
  assertEquals((await call.outcome).ignoredCancel, true);
  assertEquals(log.events, ["execute", "cancel"]);
  assertEquals(await wedged.promise, "poll");
  gate.resolve(pending);
  await call.finished;
  assertEquals(log.events, ["execute", "cancel", "destroy 7"]);
});

Deno.test("driveCall() delivers a cancel that came during execute", async () => {
  const abort = new AbortController();
  const handle = Promise.withResolvers<bigint>();
  const [p, log] = port(
    (log) =>
      log.events.includes("cancel") ? { tag: 2, text: "stopped" } : pending,
    handle.promise,
  );
  const call = driveCall(p, {
    ...limits,
    signal: abort.signal,
    cancelGraceMs: 5_000,
    stuckMs: 5_000,
  });
  abort.abort();
  handle.resolve(7n);
  assertEquals((await call.outcome).text, "stopped");
  await call.finished;
  assertEquals(log.events, ["execute", "cancel", "destroy 7"]);
});

Deno.test("driveCall() never starts a call that is already aborted", async () => {
  const [p, log] = port(() => pending);
  const call = driveCall(p, { ...limits, signal: AbortSignal.abort() });
  assertEquals((await call.outcome).kind, "cancelled");
  assertEquals(log.events, []);
});

Deno.test("driveCall() hands the result over when destroy does not come back", async () => {
  const wedged = Promise.withResolvers<string>();
  const gate = Promise.withResolvers<void>();
  const [p] = port(() => ({ tag: 1, text: "ok" }));
  const call = driveCall({ ...p, destroy: () => gate.promise }, {
    ...limits,
    onWedged: wedged.resolve,
  });
  assertEquals((await call.outcome).text, "ok");
  assertEquals(await wedged.promise, "destroy");
  gate.resolve();
  await call.finished;
});

Deno.test("driveCall() passes on what the port throws", async () => {
  const [p] = port(() => Promise.reject(new RangeError("too long")));
  const call = driveCall(p, limits);
  await assertRejects(() => call.outcome, RangeError);
  await call.finished;
});

Deno.test("driveCall() does not wait for a call that never began, nor begins it later", async () => {
  const [p, log] = port(() => pending);
  const place = Promise.withResolvers<void>();
  const waiting: StepPort = {
    ...p,
    async execute(begin): Promise<bigint> {
      await place.promise;
      return begin() ? await p.execute(begin) : 0n;
    },
  };
  const wedged: string[] = [];
  const stop = new AbortController();
  const call = driveCall(waiting, {
    cancelGraceMs: Infinity,
    stuckMs: 0,
    signal: stop.signal,
    onWedged: (where) => wedged.push(where),
  });
  stop.abort();
  assertEquals(await call.outcome, {
    kind: "cancelled",
    text: "it never began, other calls of the plugin do not return",
    cancelled: true,
    ignoredCancel: false,
  });
  place.resolve();
  await call.finished;
  assertEquals([log.events, wedged], [[], []]);
});
