/**
 * The fleet from the command line: a run that all machines see, a queued one, the
 * doctor, what is wrong in one line; and that without a fleet nothing of it is loaded.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fleetOptions } from "../cli/run/fleet.ts";
import {
  connectFleet,
  readJob,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { freePort, startNats } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const ready = hasTool("nats-server");

interface Result {
  code: number;
  out: string;
  err: string;
}

interface World {
  dir: string;
  env: Record<string, string>;
  bulkhead(...args: string[]): Promise<Result>;
}

function commandTest(
  name: string,
  fn: (world: World) => Promise<void>,
  needsServer = true,
): void {
  Deno.test({
    name: `fleet command: ${name}`,
    ignore: needsServer && !ready,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "fc" }));
      await Deno.mkdir(`${dir}/ws`);
      await Deno.mkdir(`${dir}/home`, { mode: 0o700 });
      const env = { FNO_CLAIMS_ROOT: dir, BULKHEAD_HOME: `${dir}/home` };
      try {
        await fn({
          dir,
          env,
          bulkhead: (...args) =>
            deno(["run", "-A", "--no-check", `${ROOT}mod.ts`, ...args], env),
        });
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  });
}

async function deno(
  args: string[],
  env: Record<string, string>,
): Promise<Result> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

async function eventually(
  what: string,
  fits: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await fits()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`never came: ${what}`);
}

/** Our own modules and everything else, but no NATS. */
async function importMapWithout(dir: string): Promise<string> {
  const read = async (path: string) =>
    JSON.parse(await Deno.readTextFile(path));
  const root = await read(`${ROOT}deno.json`);
  const imports: Record<string, string> = { ...root.imports };
  for (const member of root.workspace) {
    const { name, exports } = await read(`${ROOT}${member}/deno.json`);
    const entries = typeof exports === "string" ? { ".": exports } : exports;
    for (const [key, path] of Object.entries(entries)) {
      imports[name + key.slice(1)] = new URL(
        `${member}/${path}`,
        `file://${ROOT}`,
      ).href;
    }
  }
  for (const name of Object.keys(imports)) {
    if (name.startsWith("@nats-io/")) {
      imports[name] = `file://${dir}/no-such-module.ts`;
    }
  }
  await Deno.writeTextFile(`${dir}/map.json`, JSON.stringify({ imports }));
  return `${dir}/map.json`;
}

commandTest(
  "without a fleet nothing of NATS is loaded",
  async ({ dir, env }) => {
    const map = await importMapWithout(dir);
    const run = (...args: string[]) =>
      deno([
        "run",
        "-A",
        "--no-check",
        "--no-lock",
        "--no-config",
        `--import-map=${map}`,
        `${ROOT}mod.ts`,
        ...args,
      ], env);
    const agent = ["--agent", "scripted", "--cwd", `${dir}/ws`];
    const local = await run("run", ...agent, "hello");
    assertEquals(local.code, 0, local.err);
    assertMatch(local.out, /You said: hello/);
    for (const args of [["worker", "list"], ["doctor", "--cwd", `${dir}/ws`]]) {
      const { out, err } = await run(...args);
      assert(!/nats|no-such-module/i.test(out + err), out + err);
    }
    // The map works: with a fleet the client is missed.
    const fleet = await run(
      "run",
      ...agent,
      "--fleet",
      "nats://127.0.0.1:1",
      "x",
    );
    assertEquals(fleet.code, 1);
    assertMatch(fleet.err + fleet.out, /no-such-module/);
  },
  false,
);

commandTest(
  "a run is seen by all, and goes on locally when the configured server is gone",
  async ({ dir, bulkhead }) => {
    const agent = ["--agent", "scripted", "--cwd", `${dir}/ws`];
    const config = (port: number) =>
      Deno.writeTextFile(
        `${dir}/home/config.toml`,
        `[worker]\nfleet = "nats://127.0.0.1:${port}"\n`,
      );
    {
      await using server = await startNats();
      await config(server.port);
      const ran = await bulkhead("run", ...agent, "hello");
      assertEquals(ran.code, 0, ran.err);
      await using fleet = await connectFleet({
        servers: `nats://127.0.0.1:${server.port}`,
        host: "watcher",
      });
      const { sessions, hosts } = await viewFleet(fleet);
      assertEquals(sessions.map((s) => s.state), ["ended"]);
      assertEquals(hosts, []);
      let said = "";
      for await (
        const { frames } of new RemoteWorker(fleet, sessions[0]?.id ?? "")
          .frames()
      ) {
        for (const frame of frames) {
          if (frame.kind === "result") said = frame.result ?? "";
        }
        if (said !== "") break;
      }
      assertEquals(said, "You said: hello");
      const doctor = await bulkhead("doctor", "--cwd", `${dir}/ws`);
      for (
        const line of [
          /fleet +server: version/,
          /fleet +claims: can be/,
          /fleet +clock: differs/,
        ]
      ) {
        assertMatch(doctor.out, line);
      }
      // Two people run one session: the second is told who has it.
      const started = await bulkhead(
        "worker",
        "start",
        "demo",
        ...agent,
        "--json",
      );
      assertEquals(started.code, 0, started.err);
      const { session } = JSON.parse(started.out);
      const taken = await bulkhead("run", ...agent, "--resume", session, "x");
      assertEquals(taken.code, 1);
      assertMatch(taken.err, /writes it; stop it there first/);
      const id =
        (await viewFleet(fleet)).sessions.find((s) => s.session_id === session)
          ?.id ?? "";
      const asked = await bulkhead("worker", "ask", id, "over", "there");
      assertEquals(
        [asked.code, asked.out.trim()],
        [0, "You said: over there"],
        asked.err,
      );
      assertMatch(
        (await bulkhead("worker", "list")).out,
        new RegExp(`^host .*\\n(.*\\n)*${id}  idle`, "m"),
      );
      assertEquals((await bulkhead("worker", "stop", id)).code, 0);
    }
    await config(freePort());
    const alone = await bulkhead("run", ...agent, "alone");
    assertEquals(alone.code, 0, alone.err);
    assertMatch(
      alone.err + alone.out,
      /Cannot reach the fleet .*; this session is local/,
    );
    const resumed = await bulkhead(
      "run",
      ...agent,
      "--resume",
      crypto.randomUUID(),
      "x",
    );
    assertEquals(resumed.code, 1);
    assertMatch(resumed.err, /give --fleet off to go on here/);
    const listed = await bulkhead("worker", "list");
    assertEquals(listed.code, 0);
    assertMatch(listed.err, /^error: Cannot reach the fleet .*\n$/);
    const asked = await bulkhead(
      "run",
      ...agent,
      "--fleet",
      `nats://127.0.0.1:${freePort()}`,
      "x",
    );
    assertEquals(asked.code, 1);
    assertMatch(asked.err, /^error: Cannot reach the fleet .*\n/);
  },
);

commandTest(
  "a queued run goes to a host that judges it as run does",
  async ({ dir, env, bulkhead }) => {
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await using fleet = await connectFleet({ servers, host: "watcher" });
    const host = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        `${ROOT}mod.ts`,
        "fleet",
        "host",
        "--servers",
        servers,
        "--host",
        "h1",
      ],
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      const queued = await bulkhead(
        "run",
        "--fleet",
        servers,
        "--queue",
        "--agent",
        "scripted",
        "--cwd",
        `${dir}/ws`,
        "--json",
        "hello",
      );
      assertEquals(queued.code, 0, queued.err);
      const { session_id: sessionId, short_id: shortId } = JSON.parse(
        queued.out,
      );
      await eventually(
        "it runs",
        async () => (await readJob(fleet, sessionId))?.state === "delivered",
      );
      const asked = await bulkhead(
        "worker",
        "ask",
        `h1.${shortId}`,
        "--fleet",
        servers,
        "more",
      );
      assertEquals(
        [asked.code, asked.out.trim()],
        [0, "You said: more"],
        asked.err,
      );
      // The marker of its guard is there while it runs.
      const marker = `${dir}/home/markers/fleet-${shortId}.json`;
      assertEquals(JSON.parse(await Deno.readTextFile(marker)).allowedRoots, [
        `${dir}/ws`,
      ]);
      host.kill("SIGTERM");
      await host.status;
      assertEquals((await readJob(fleet, sessionId))?.state, "ended");
      assertEquals(
        await Deno.stat(marker).catch(() => undefined),
        undefined,
      );
    } finally {
      try {
        host.kill("SIGKILL");
      } catch {
        // it has ended
      }
      await host.status;
    }
    const wrong = await bulkhead(
      "run",
      "--fleet",
      servers,
      "--queue",
      "--agent",
      "scripted",
      "--model",
      "x",
      "hello",
    );
    assertEquals(wrong.code, 2);
  },
);

commandTest("the guard and the posture judge on a host", async ({ dir }) => {
  const judges = await fleetOptions().host?.judges(
    { cwd: `${dir}/ws`, shortId: "x" } as Parameters<
      NonNullable<ReturnType<typeof fleetOptions>["host"]>["judges"]
    >[0],
    { home: `${dir}/home`, allow: [] },
  );
  const write = (path: string) =>
    Promise.all((judges?.deciders ?? []).map((decider) =>
      decider.decide({
        toolName: "Write",
        input: { file_path: path, content: "x" },
        cwd: `${dir}/ws`,
      })
    ));
  const outside = await write(`${dir}/elsewhere.txt`);
  assertEquals(outside[0]?.decision, "deny");
  const inside = await write(`${dir}/ws/a.txt`);
  assertEquals(inside.map((v) => v?.decision ?? null), [null, "allow"]);
  await judges?.close?.();
}, false);
