/** Workers and agents killed with SIGKILL at every step, as processes of their own. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import {
  connect,
  findRow,
  readClaim,
  readRegistry,
  recoverWorkers,
} from "@bulkhead/worker";
import { eventually } from "./support/eventually.ts";
import { exists } from "./support/processes.ts";
import { hasTool } from "./support/require_tool.ts";
import {
  FAKE_EMITTER,
  SeedClient,
  WorkerWorld,
} from "./support/worker_world.ts";

const ROOT = fromFileUrl(new URL("../deno.json", import.meta.url));

interface Running {
  readonly child: Deno.ChildProcess;
  readonly stderr: Promise<string>;
  readonly socket: string;
}

/** Starts a worker as its callers do. */
function start(
  world: WorkerWorld,
  args: string[],
  extra: { shortId?: string; home?: string } = {},
): Running {
  const shortId = extra.shortId ?? "w1";
  const home = extra.home ?? world.home.root;
  const child = new Deno.Command("setsid", {
    args: world.serveArgv(shortId, home, args),
    env: world.environment,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return {
    child,
    stderr: new Response(child.stderr).text(),
    socket: `${home}/${shortId}/worker.sock`,
  };
}

async function quiet(world: WorkerWorld): Promise<void> {
  let left: number[] = [];
  await eventually(() => `the end of ${left}`, async () => {
    left = await world.processes();
    return left.length === 0;
  });
}

async function kill(running: Running): Promise<void> {
  Deno.kill(running.child.pid, "SIGKILL");
  await running.child.status;
  await running.stderr;
}

/** Says by a file that it runs. */
const COMMAND = "touch shell-runs; sleep 300";
const SCRIPT = JSON.stringify({
  schema: 1,
  turns: [{ steps: [{ tool: "Bash", input: { command: COMMAND } }] }],
});

const SCRIPTED = [
  "--agent",
  "scripted",
  "--script",
  "SCRIPT",
  "--asks",
  "wait",
];
const ready = Deno.build.os === "linux" && hasTool("setpriv");

/** A worker of the scripted agent whose first turn is an ask for a shell. */
async function scripted(
  world: WorkerWorld,
  session: string,
): Promise<string[]> {
  const file = `${world.root}/script.json`;
  await Deno.writeTextFile(file, SCRIPT);
  return [
    ...SCRIPTED.map((word) => word === "SCRIPT" ? file : word),
    "--session-id",
    session,
    "--session-uuid",
    session,
    "--holder",
    "stream:w1",
    "--name",
    "demo",
  ];
}

/** After a kill: nothing runs, and the same session starts again and answers. */
async function startsAgain(world: WorkerWorld): Promise<void> {
  await quiet(world);
  const session = crypto.randomUUID();
  const again = start(world, await scripted(world, session));
  {
    using client = await SeedClient.whenUp(again.socket);
    assertEquals((await client.call("stream.status")).child_alive, true);
    await client.call("stream.shutdown");
  }
  assertEquals((await again.child.status).code, 0, await again.stderr);
  await again.stderr;
  assertEquals(
    await readClaim(`session:${session}`, { root: world.root }),
    undefined,
  );
  await quiet(world);
}

for (const delay of [0, 40, 120, 200, 260, 320, 400]) {
  Deno.test({
    name:
      `worker: killed ${delay} ms after its start, nothing is left and it starts again`,
    ignore: !ready,
    async fn() {
      await using world = await WorkerWorld.make();
      const running = start(world, await scripted(world, crypto.randomUUID()));
      await new Promise((resolve) => setTimeout(resolve, delay));
      await kill(running);
      await startsAgain(world);
    },
  });
}

const steps: [
  string,
  (client: SeedClient, world: WorkerWorld) => Promise<void>,
][] = [
  ["at rest", async () => {}],
  ["right after a turn was written", async (client) => {
    await client.call("stream.write_turn", { text: "go" });
  }],
  ["while an ask is open", async (client) => {
    await client.call("stream.write_turn", { text: "go" });
    await client.framesUntil("control_request");
    while ((await client.call("stream.status")).open_asks === 0) {
      await client.call("stream.read_frames", { wait_ms: 20, cursor: 1e9 });
    }
  }],
  ["while a shell of the agent runs", async (client, world) => {
    await client.call("stream.write_turn", { text: "go" });
    for (;;) {
      const { asks } = await client.call("stream.asks");
      if (Array.isArray(asks) && asks.length > 0) {
        await client.call("stream.answer_ask", {
          id: asks[0].id,
          decision: "allow",
        });
        break;
      }
    }
    await eventually(
      "the shell runs",
      () => exists(`${world.cwd}/shell-runs`),
    );
  }],
  ["while it shuts down", async (client) => {
    await client.bytes(new Uint8Array([40, 0, 0, 0]));
    await client.bytes(
      new TextEncoder().encode(
        '{"id":1,"method":"stream.shutdown"    }  '.slice(0, 40),
      ),
    );
  }],
];

for (const [name, reach] of steps) {
  Deno.test({
    name: `worker: killed ${name}, nothing is left and it starts again`,
    ignore: !ready,
    async fn() {
      await using world = await WorkerWorld.make();
      const running = start(world, await scripted(world, crypto.randomUUID()));
      {
        using client = await SeedClient.whenUp(running.socket);
        await reach(client, world);
        await kill(running);
      }
      await startsAgain(world);
    },
  });
}

Deno.test({
  name:
    "worker: an agent that outlives its killed worker is ended before the session is written again",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    const stubborn = `trap '' TERM; ${FAKE_EMITTER}
while :; do sleep 1; done`;
    const running = start(world, ["--", "bash", "-c", stubborn]);
    let agent: number;
    {
      using client = await SeedClient.whenUp(running.socket);
      // By its first line it has set its trap.
      await client.framesUntil("system");
      agent = Number((await client.call("stream.status")).child_pid);
      await kill(running);
    }
    assert(
      (await world.processes()).includes(agent),
      "it ignores TERM and lives",
    );
    const again = start(world, ["--", "bash", "-c", FAKE_EMITTER]);
    using client = await SeedClient.whenUp(again.socket);
    assert(!(await world.processes()).includes(agent));
    await client.call("stream.shutdown");
    await again.child.status;
    assertStringIncludes(await again.stderr, `pid ${agent}`);
    await quiet(world);
  },
});

Deno.test({
  name:
    "worker: recovery ends the agent of a killed worker, clears its socket and orphans its row",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    const running = start(world, [
      "--name",
      "demo",
      "--",
      "bash",
      "-c",
      `trap '' TERM; ${FAKE_EMITTER}\nwhile :; do sleep 1; done`,
    ]);
    {
      using client = await SeedClient.whenUp(running.socket);
      // By its first line it has set its trap.
      await client.framesUntil("system");
    }
    await kill(running);
    const [found] = await recoverWorkers(world.home);
    assertEquals([
      found?.shortId,
      found?.removedSocket,
      found?.endedAgent !== null,
    ], ["w1", true, true]);
    assertEquals(
      findRow((await readRegistry(world.home)).rows, "w1")?.status,
      "orphaned",
    );
    await quiet(world);
  },
});

Deno.test({
  name:
    "worker: two processes for one session in two homes: the second is refused, the first goes on",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    const claim = [
      "--session-uuid",
      "u-1",
      "--holder",
      "stream:w1",
      "--",
      "bash",
      "-c",
      FAKE_EMITTER,
    ];
    const first = start(world, claim);
    using client = await SeedClient.whenUp(first.socket);
    const second = start(world, claim, { home: `${world.root}/w2` });
    assertEquals((await second.child.status).code, 1);
    assertStringIncludes(await second.stderr, "u-1");
    await client.call("stream.write_turn", { text: "x" });
    await client.framesUntil("result");
    await client.call("stream.shutdown");
    assertEquals((await first.child.status).code, 0);
    await first.stderr;
    await quiet(world);
  },
});

Deno.test({
  name: "worker: TERM and INT end it in order, HUP does not end it",
  ignore: !ready,
  async fn() {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using world = await WorkerWorld.make();
      await world.row();
      const running = start(world, ["--", "bash", "-c", FAKE_EMITTER]);
      {
        using client = await SeedClient.whenUp(running.socket);
        Deno.kill(running.child.pid, "SIGHUP");
        await client.call("stream.write_turn", { text: "x" });
        await client.framesUntil("result");
        Deno.kill(running.child.pid, signal);
      }
      assertEquals((await running.child.status).code, 0, await running.stderr);
      await running.stderr;
      assertEquals(
        findRow((await readRegistry(world.home)).rows, "w1")?.status,
        "exited",
      );
      await quiet(world);
    }
  },
});

Deno.test({
  name:
    "worker: a home that is full or only readable refuses the start with its reason and leaves nothing",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    const home = `${world.root}/small`;
    await Deno.mkdir(home);
    const mounted = await new Deno.Command("mount", {
      args: ["-t", "tmpfs", "-o", "size=16k,mode=0700", "none", home],
    }).output();
    if (!mounted.success) {
      await Deno.stderr.write(
        new TextEncoder().encode(
          'skipped: a full home needs a small file system: run as root, "mount" was refused\n',
        ),
      );
      return;
    }
    try {
      await new Deno.Command("sh", {
        args: [
          "-c",
          `mkdir '${home}/w1'; dd if=/dev/zero of='${home}/fill' bs=4k 2>/dev/null`,
        ],
      }).output();
      const full = start(world, ["--", "bash", "-c", FAKE_EMITTER], { home });
      assertEquals((await full.child.status).code, 1);
      assertMatch(await full.stderr, /no space/i);
      await new Deno.Command("sh", {
        args: ["-c", `rm -rf '${home}'/*; mount -o remount,ro '${home}'`],
      }).output();
      const readonly = start(world, ["--", "bash", "-c", FAKE_EMITTER], {
        home,
      });
      assertEquals((await readonly.child.status).code, 1);
      assertMatch(await readonly.stderr, /read-only/i);
      await quiet(world);
    } finally {
      await new Deno.Command("umount", { args: [home] }).output();
    }
  },
});

Deno.test({
  name:
    "worker: 100 MB without a newline are a stub and leave the worker small",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    const running = start(world, [
      "--",
      "bash",
      "-c",
      `head -c 100000000 /dev/zero | tr '\\0' x; echo; ${FAKE_EMITTER}`,
    ]);
    using client = await SeedClient.whenUp(running.socket);
    await client.call("stream.write_turn", { text: "x" });
    const { frames } = await client.framesUntil("result");
    assertEquals([frames[0]?.kind, frames[0]?.size], [
      "malformed",
      100_000_000,
    ]);
    await client.call("stream.shutdown");
    assertEquals((await running.child.status).code, 0);
    await running.stderr;
  },
});

Deno.test({
  name:
    "worker: a client of another process that is killed in the middle of a watch changes nothing",
  ignore: !ready,
  async fn() {
    await using world = await WorkerWorld.make();
    await using worker = await world.script(FAKE_EMITTER);
    const code = `import { connect } from "@bulkhead/worker";
      using client = await connect(Deno.args[0]);
      for await (const event of client.watch({ answers: true })) console.log(event.type);`;
    await Deno.writeTextFile(`${world.root}/client.ts`, code);
    const client = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        `--config=${ROOT}`,
        "--no-lock",
        `${world.root}/client.ts`,
        worker.socketPath,
      ],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = client.stdout.getReader();
    await reader.read();
    Deno.kill(client.pid, "SIGKILL");
    await reader.cancel();
    await client.status;
    using other = await connect(worker.socketPath);
    const sent = await other.writeTurn("x");
    assertEquals((await other.turn(sent.turn ?? "", 60_000)).phase, "done");
    while ((await other.status()).clients > 1) {
      await other.readFrames(1e9, { waitMs: 10 });
    }
  },
});
