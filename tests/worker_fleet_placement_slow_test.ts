/**
 * Sessions placed on machines of the fleet, moved when one dies, never run twice.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  connectFleet,
  type Fleet,
  queueSession,
  readJob,
  RemoteWorker,
  sweepFleet,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { eventually } from "./support/eventually.ts";
import {
  acknowledged,
  killAll,
  startProgram,
} from "./support/fleet_program.ts";
import { startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { sideBySide, type Waiting } from "./support/side_by_side.ts";

interface World {
  fleet: Fleet;
  dir: string;
  machine(name: string): Promise<Deno.ChildProcess>;
}

async function withFleet(fn: (world: World) => Promise<void>): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  await Deno.mkdir(`${dir}/ws`);
  const children: Deno.ChildProcess[] = [];
  {
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await using fleet = await connectFleet({
      servers,
      host: "watcher",
      hostTtlMs: 8_000,
    });
    const machine = async (name: string) => {
      const child = await startProgram("fleet_placement_host.ts", [
        servers,
        name,
        dir,
        "1",
      ]);
      children.push(child);
      return child;
    };
    try {
      await fn({ fleet, dir, machine });
    } finally {
      await killAll(children);
    }
  }
  await Deno.remove(dir, { recursive: true });
}

const tests: Waiting[] = [];

function fleetTest(name: string, fn: (world: World) => Promise<void>): void {
  tests.push({ name: `placement: ${name}`, fn: () => withFleet(fn) });
}

const job = (dir: string, sessionId = crypto.randomUUID()) => ({
  sessionId,
  agent: "scripted",
  workspace: { path: `${dir}/ws` },
  prompt: "go",
});

fleetTest(
  "sessions go where there is room, each once",
  async ({ fleet, dir, machine }) => {
    await machine("a");
    await machine("b");
    const jobs = [job(dir), job(dir), job(dir)];
    for (const one of jobs) {
      await queueSession(fleet, one);
      await queueSession(fleet, one); // the same again does nothing
    }
    const placed = async () =>
      (await Promise.all(jobs.map((j) => readJob(fleet, j.sessionId))))
        .filter((j) => j?.state === "delivered");
    await eventually("two run", async () => (await placed()).length === 2);
    const hosts = (await placed()).map((j) => j?.host?.split("/")[0])
      .toSorted();
    assertEquals(hosts, ["a", "b"]);
    const ran = async () =>
      (await Deno.readTextFile(`${dir}/ws/ran`).catch(() => "")).trim().split(
        "\n",
      ).length;
    await eventually("their turns ran", async () => await ran() === 2);
    const first = (await placed())[0];
    const view = await viewFleet(fleet);
    assertEquals(view.hosts.filter((h) => h.slots === 1).length, 2);
    const session = view.sessions.find((s) =>
      s.session_id === first?.sessionId
    );
    await new RemoteWorker(fleet, session?.id ?? "").shutdown();
    await eventually(
      "the third runs",
      async () =>
        (await Promise.all(jobs.map((j) => readJob(fleet, j.sessionId))))
            .filter((j) => j?.state === "delivered").length === 2 &&
        (await readJob(fleet, first?.sessionId ?? ""))?.state === "ended",
    );
    await eventually("all ran", async () => await ran() === 3);
  },
);

fleetTest(
  "a session moves when its machine dies, and its turn is not run again",
  async ({ fleet, dir, machine }) => {
    const a = await machine("a");
    const one = job(dir);
    await queueSession(fleet, one);
    await eventually(
      "it ran",
      async () =>
        (await Deno.readTextFile(`${dir}/ws/ran`).catch(() => "")) === "a\n",
    );
    await acknowledged(fleet);
    await machine("b");
    a.kill("SIGKILL");
    await a.status;
    await eventually(
      "it moved",
      async () =>
        (await readJob(fleet, one.sessionId))?.host?.startsWith("b/") === true,
    );
    let id = "";
    await eventually("it is served there", async () => {
      const session = (await viewFleet(fleet)).sessions.find((s) =>
        s.session_id === one.sessionId && s.host === "b"
      );
      id = session?.id ?? "";
      return session?.state === "idle";
    });
    assertEquals(
      await Deno.readTextFile(`${dir}/ws/ran`),
      "a\n",
      "the turn was not run again",
    );
    // It goes on with what comes next.
    await new RemoteWorker(fleet, id).writeTurn("next");
    const job2 = await readJob(fleet, one.sessionId);
    assertEquals([job2?.state, job2?.moves], ["delivered", 1]);
  },
);

fleetTest(
  "a workspace that no machine has is told, not waited for for ever",
  async ({ fleet, dir, machine }) => {
    await machine("a");
    const one = { ...job(dir), workspace: { path: `${dir}/nowhere` } };
    await queueSession(fleet, one);
    await eventually(
      "it is told",
      async () =>
        (await readJob(fleet, one.sessionId))?.state === "unplaceable",
    );
    assert(
      (await readJob(fleet, one.sessionId))?.reason?.includes(
        "no host has its workspace",
      ),
    );
  },
);

fleetTest(
  "what waits is queued again when the queue is deleted under it",
  async ({ fleet, dir, machine }) => {
    const one = job(dir);
    await queueSession(fleet, one);
    await fleet.jsm.streams.delete(fleet.names.queue);
    await fleet.repair();
    assertEquals((await sweepFleet(fleet)).requeued, [one.sessionId]);
    assertEquals((await sweepFleet(fleet)).requeued, []);
    await machine("a");
    await eventually(
      "it runs",
      async () => (await readJob(fleet, one.sessionId))?.state === "delivered",
    );
  },
);

fleetTest(
  "a commit is fetched and worked on",
  async ({ fleet, dir, machine }) => {
    if (!hasTool("git")) return;
    const git = async (...args: string[]) => {
      const { stdout } = await new Deno.Command("git", {
        args: ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args],
        cwd: `${dir}/ws`,
      }).output();
      return new TextDecoder().decode(stdout).trim();
    };
    await git("init", "-q");
    await Deno.writeTextFile(`${dir}/ws/file.txt`, "from the commit");
    await git("add", ".");
    await git("commit", "-q", "-m", "one");
    const commit = await git("rev-parse", "HEAD");
    await git("config", "uploadpack.allowAnySHA1InWant", "true");
    await machine("a");
    const one = {
      ...job(dir),
      workspace: { git: `git+file://${dir}/ws#${commit}` },
    };
    await queueSession(fleet, one);
    const copy = `${dir}/copies-a/${one.sessionId}`;
    await eventually(
      "it ran",
      async () =>
        (await Deno.readTextFile(`${copy}/ran`).catch(() => "")) === "a\n",
    );
    assertEquals(
      await Deno.readTextFile(`${copy}/file.txt`),
      "from the commit",
    );
  },
);

sideBySide(tests, { ignore: !hasTool("nats-server") });
