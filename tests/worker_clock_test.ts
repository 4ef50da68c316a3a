// deno-lint-ignore-file camelcase -- field names are the files' own
/** The clock of the day jumps: what waits goes on by a clock that does not. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { argvDriver, type Worker } from "@bulkhead/worker";
import { FAKE_EMITTER, INIT, WorkerWorld } from "./support/worker_world.ts";

const YEAR_MS = 365 * 86_400_000;
const FAR = 3_600_000;

/** Shifts the clock of the day of this process while something runs. */
class Clock implements Disposable {
  readonly #real = globalThis.Date;
  #shift = 0;

  constructor() {
    const now = () => this.#real.now() + this.#shift;
    globalThis.Date = new Proxy(this.#real, {
      construct: (real, args: [number?]) => new real(args[0] ?? now()),
      get: (real, name) => name === "now" ? now : Reflect.get(real, name),
    });
  }

  /** Jumps. */
  jump(ms: number): void {
    this.#shift += ms;
  }

  [Symbol.dispose](): void {
    globalThis.Date = this.#real;
  }
}

/** Enough time for a timer that is due to have fired. */
async function timersRun(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const ASKS =
  `${INIT}; read line; echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Write","input":{}}}'; read answer; echo '{"type":"result","subtype":"success"}'; cat >/dev/null`;

async function asked(worker: Worker): Promise<void> {
  await worker.send("go");
  for await (const { frame } of worker.frames()) {
    if (frame.kind === "control_request") return;
  }
}

function settled(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const look = () => worker.asks.length === 0 && resolve();
    worker.session.watch(look);
    look();
  });
}

for (const jump of [YEAR_MS, -YEAR_MS]) {
  const where = jump > 0 ? "forward" : "back";

  Deno.test(`clock: a jump ${where} neither settles a question nor keeps it open`, async () => {
    using clock = new Clock();
    await using world = await WorkerWorld.make();
    {
      await using worker = await world.script(ASKS, {
        asks: "wait",
        askTimeoutMs: FAR,
      });
      await asked(worker);
      clock.jump(jump);
      await timersRun();
      assertEquals(worker.asks.length, 1);
      assert(worker.answer("r", { decision: "allow" }));
    }
    await using worker = await world.script(ASKS, {
      asks: "wait",
      askTimeoutMs: 50,
    });
    await asked(worker);
    clock.jump(jump);
    await settled(worker);
    await worker.end();
    const events = await world.events("agent_ask_settled");
    assertEquals(events.at(-1)?.data.end, "expired");
  });

  Deno.test(`clock: a jump ${where} neither lets a session go nor keeps it`, async () => {
    using clock = new Clock();
    await using world = await WorkerWorld.make();
    {
      await using worker = await world.script(FAKE_EMITTER, {
        idleGraceMs: FAR,
      });
      await worker.ask("x");
      clock.jump(jump);
      await timersRun();
      assertEquals(worker.state, "idle");
      assertEquals((await worker.ask("x")).outcome, "completed");
    }
    const worker = await world.script(FAKE_EMITTER, { idleGraceMs: 50 });
    clock.jump(jump);
    assertEquals((await worker.ended).reason, "idle-release");
  });

  Deno.test(`clock: a jump ${where} neither makes a stall nor hides one`, async () => {
    using clock = new Clock();
    await using world = await WorkerWorld.make();
    const silent =
      `${INIT}; read line; echo '{"type":"assistant"}'; cat >/dev/null`;
    const running = async (stallMs: number) => {
      const worker = await world.script(silent, { stallMs });
      await worker.send("x");
      for await (const { frame } of worker.frames()) {
        if (frame.kind === "assistant") break;
      }
      return worker;
    };
    {
      await using worker = await running(FAR);
      clock.jump(jump);
      await timersRun();
      assert(!worker.session.stalled && worker.session.silentMs < FAR);
    }
    await using worker = await running(50);
    clock.jump(jump);
    await new Promise<void>((resolve) => {
      const look = () => worker.session.stalled && resolve();
      worker.session.watch(look);
      look();
    });
    assert(worker.session.silentMs < FAR);
  });

  Deno.test(`clock: a jump ${where} neither lifts the brake on a session that keeps dying nor shortens its wait`, async () => {
    using clock = new Clock();
    await using world = await WorkerWorld.make();
    const die = async () => {
      const driver = argvDriver(["sh", "-c", "exit 1"]);
      await (await world.argv([], { driver })).ended;
    };
    await die();
    const before = performance.now();
    await die();
    clock.jump(jump);
    await die();
    // It may take as long as it likes; it has waited a second after the second death.
    assert(performance.now() - before >= 990);
    const file = `${world.home.root}/w1/state.json`;
    const state = { ...await world.state(), restart_count: 5 };
    await Deno.writeTextFile(file, JSON.stringify(state));
    await assertRejects(die, Deno.errors.Busy, "5 times in a row");
    clock.jump(jump);
    await assertRejects(die, Deno.errors.Busy, "5 times in a row");
  });
}

Deno.test("clock: without a mark of the boot the brake goes by the clock of the day", async () => {
  await using world = await WorkerWorld.make();
  await (await world.argv(["sh", "-c", "exit 1"])).ended;
  const file = `${world.home.root}/w1/state.json`;
  const state = {
    ...await world.state(),
    restart_count: 5,
    last_death_boot: "an earlier boot",
  };
  await Deno.writeTextFile(file, JSON.stringify(state));
  await assertRejects(
    () => world.script(FAKE_EMITTER),
    Deno.errors.Busy,
    "5 times in a row",
  );
  await Deno.writeTextFile(
    file,
    JSON.stringify({ ...state, last_restart_at: "2020-01-01T00:00:00.000Z" }),
  );
  await using worker = await world.script(FAKE_EMITTER);
  assertEquals((await worker.ask("x")).outcome, "completed");
});
