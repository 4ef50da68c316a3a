/**
 * The fleet from the command line: a run that all machines see, a queued one, the
 * doctor, what is wrong in one line; and that without a fleet nothing of it is loaded.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { fleetOptions } from "../cli/run/placed.ts";
import {
  connectFleet,
  PERMISSION_ROLES,
  permissionsConfig,
  readJob,
  RemoteWorker,
  viewFleet,
} from "@bulkhead/worker/fleet";
import { installDemoPlugin } from "../cli/run/demo_plugin.ts";
import { eventually } from "./support/eventually.ts";
import { freePort, startNats, type TestServer } from "./support/nats_server.ts";
import { hasTool } from "./support/require_tool.ts";
import { sideBySide, type Waiting } from "./support/side_by_side.ts";

const ROOT = fromFileUrl(new URL("../", import.meta.url));

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

const tests: Waiting[] = [];

function commandTest(
  name: string,
  fn: (world: World) => Promise<void>,
): void {
  tests.push({
    name: `fleet command: ${name}`,
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

/** Offers a machine until it is disposed of. */
async function offer(
  env: Record<string, string>,
  servers: string,
  name: string,
  ...flags: string[]
): Promise<{ stop(): Promise<void>; log(): string } & AsyncDisposable> {
  const child = new Deno.Command(Deno.execPath(), {
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
      name,
      ...flags,
    ],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const said = Promise.withResolvers<void>();
  let text = "";
  const read = (async () => {
    for await (
      const part of child.stderr.pipeThrough(new TextDecoderStream())
    ) {
      text += part;
      if (text.includes("offering")) said.resolve();
    }
    said.reject(new Error(`the host ended: ${text}`));
  })();
  await said.promise;
  const end = async (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // it has ended
    }
    await child.status;
    await read;
  };
  return {
    log: () => text,
    stop: () => end("SIGTERM"),
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}

/** The command lines of everything that runs. */
async function commandLines(): Promise<string[]> {
  const lines: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    lines.push(
      await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => ""),
    );
  }
  return lines;
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
      // Hosts are shown, and what runs here is listed once.
      const list = (await bulkhead("worker", "list")).out;
      assertMatch(list, /^demo +idle/m);
      assertMatch(list, /^host \S+ {2}1 sessions, load \d/m);
      assert(!list.includes(id), list);
      const { fleet: others } = JSON.parse(
        (await bulkhead("worker", "list", "--json")).out,
      );
      assertEquals(others.view.sessions.length, 0);
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
  "run --fleet and worker start --fleet go to a host that judges as run does",
  async ({ dir, env, bulkhead }) => {
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await using fleet = await connectFleet({ servers, host: "watcher" });
    await using host = await offer(env, servers, "h1", "--slots", "2");
    const agent = ["--agent", "scripted", "--cwd", `${dir}/ws`, "--json"];
    const ran = await bulkhead("run", "--fleet", servers, ...agent, "hello");
    assertEquals(ran.code, 0, ran.err);
    await Deno.writeTextFile(
      `${dir}/script.json`,
      JSON.stringify({
        schema: 1,
        turns: [{ steps: [{ say: "as scripted" }] }],
      }),
    );
    const started = await bulkhead(
      "worker",
      "start",
      "demo",
      "--fleet",
      servers,
      ...agent,
      "--script",
      `${dir}/script.json`,
      "--model",
      "some-model",
      "--prompt",
      "go",
    );
    assertEquals(started.code, 0, started.err);
    const placed = [ran, started].map(({ out }) => JSON.parse(out));
    // The script went with the session.
    await Deno.remove(`${dir}/script.json`);
    const said = async (shortId: string) => {
      for await (
        const { frames } of new RemoteWorker(fleet, `h1.${shortId}`).frames()
      ) {
        for (const frame of frames) {
          if (frame.kind === "result") return frame.result;
        }
      }
    };
    for (const { session_id: sessionId } of placed) {
      await eventually(
        "it runs",
        async () => (await readJob(fleet, sessionId))?.state === "delivered",
      );
    }
    assertEquals(await said(placed[0].short_id), "You said: hello");
    assertEquals(await said(placed[1].short_id), "as scripted");
    assert(
      (await commandLines()).some((line) =>
        line.includes(placed[1].session_id) && line.includes("some-model")
      ),
      "the agent was started with the model",
    );
    const id = `h1.${placed[0].short_id}`;
    const asked = await bulkhead(
      "worker",
      "ask",
      id,
      "--fleet",
      servers,
      "more",
    );
    assertEquals(
      [asked.code, asked.out.trim()],
      [0, "You said: more"],
      asked.err,
    );
    // The host shows what it offers, and what runs in this home is listed once.
    const listed = await bulkhead("worker", "list", "--fleet", servers);
    assertMatch(
      listed.out,
      /^host h1 {2}2 sessions, 2 slots, load \d/m,
    );
    assertEquals(listed.out.split(placed[1].short_id).length, 2, listed.out);
    // The marker of its guard is there while it runs.
    const marker = `${dir}/home/markers/fleet-${placed[0].short_id}.json`;
    assertEquals(JSON.parse(await Deno.readTextFile(marker)).allowedRoots, [
      `${dir}/ws`,
    ]);
    await host.stop();
    for (const { session_id: sessionId } of placed) {
      assertEquals((await readJob(fleet, sessionId))?.state, "ended");
    }
    assertEquals(
      await Deno.stat(marker).catch(() => undefined),
      undefined,
    );
    // It goes on where somebody takes it, by its own record.
    await using _next = await offer(env, servers, "h2");
    const again = await bulkhead(
      "run",
      "--fleet",
      servers,
      ...agent,
      "--resume",
      placed[0].session_id,
      "once more",
    );
    assertEquals(again.code, 0, again.err);
    await eventually(
      "it runs again",
      async () =>
        (await readJob(fleet, placed[0].session_id))?.state === "delivered",
    );
    await eventually(
      "it is on the other host",
      async () =>
        (await viewFleet(fleet)).sessions.some((s) =>
          s.id === `h2.${placed[0].short_id}` && s.state === "idle"
        ),
    );
  },
);

commandTest(
  "what widens an agent's rights takes a host that trusts the queue",
  async ({ dir, env, bulkhead }) => {
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await using fleet = await connectFleet({ servers, host: "watcher" });
    const script = {
      schema: 1,
      turns: [{
        steps: [
          { tool: "Bash", input: { command: "echo done > here" } },
          { say: "done" },
        ],
      }],
    };
    await Deno.writeTextFile(`${dir}/s.json`, JSON.stringify(script));
    const run = async () => {
      const ran = await bulkhead(
        "run",
        "--fleet",
        servers,
        "--agent",
        "scripted",
        "--cwd",
        `${dir}/ws`,
        "--script",
        `${dir}/s.json`,
        "--approve",
        "--json",
      );
      assertEquals(ran.code, 0, ran.err);
      return JSON.parse(ran.out).session_id;
    };
    let sessionId: string;
    {
      await using careful = await offer(env, servers, "careful");
      sessionId = await run();
      await eventually(
        "it is told why not here",
        () =>
          careful.log().includes(
            "it asks for --approve, which takes a host with --trust-queue",
          ),
      );
      assertEquals((await readJob(fleet, sessionId))?.state, "queued");
    }
    await using _host = await offer(env, servers, "open", "--trust-queue");
    await eventually(
      "it runs",
      async () => (await readJob(fleet, sessionId))?.state === "delivered",
    );
    await eventually(
      "nobody had to answer",
      async () =>
        await Deno.readTextFile(`${dir}/ws/here`).catch(() => "") === "done\n",
    );
  },
);

commandTest(
  "a host ends at a signal though its server is gone, and its session with it",
  async ({ dir, env, bulkhead }) => {
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await Deno.writeTextFile(
      `${dir}/s.json`,
      JSON.stringify({ schema: 1, turns: [{ steps: [{ say: "done" }] }] }),
    );
    await using host = await offer(env, servers, "left", "--slots", "2");
    {
      await using fleet = await connectFleet({ servers, host: "watcher" });
      const queued = await bulkhead(
        ...["run", "--fleet", servers, "--agent", "scripted", "--json"],
        ...["--cwd", `${dir}/ws`, "--script", `${dir}/s.json`, "go"],
      );
      const { session_id } = JSON.parse(queued.out);
      await eventually(
        "it runs",
        async () => (await readJob(fleet, session_id))?.state === "delivered",
      );
    }
    await server.stop("SIGKILL");
    await eventually(
      "the host has seen it",
      () => host.log().includes("trying again"),
    );
    let over = false;
    host.stop().then(() => over = true);
    await eventually("the host has ended", () => over);
    const workers = await bulkhead("worker", "list", "--json");
    const states = JSON.parse(workers.out).workers
      .map((worker: { state: string }) => worker.state);
    assertEquals(states, ["exited"]);
  },
);

commandTest(
  "a placed session gets the trusted plugins of a host that offers them",
  async ({ dir, env, bulkhead }) => {
    await installDemoPlugin(`${dir}/home`);
    await Deno.writeTextFile(
      `${dir}/home/config.toml`,
      '[capabilities.plugins]\nenabled = true\nsandbox = "off"\n' +
        '[capabilities.trust]\nenabled = true\ndefault = "always"\n',
    );
    await using server = await startNats();
    const servers = `nats://127.0.0.1:${server.port}`;
    await using host = await offer(env, servers, "h1", "--plugins");
    const ran = await bulkhead(
      "run",
      "--fleet",
      servers,
      "--agent",
      "scripted",
      "--example",
      "greeting",
      "--cwd",
      `${dir}/ws`,
    );
    assertEquals(ran.code, 0, ran.err);
    await eventually(
      () => `the plugin was called: ${host.log()}`,
      async () =>
        (await Deno.readTextFile(`${dir}/ws/hello.txt`).catch(() => ""))
          .startsWith("Hello, Bulkhead, from a process of its own"),
    );
  },
);

/** One line on standard error, with the fix in it. */
function assertOneLine(result: Result, pattern: RegExp): void {
  assertMatch(result.err, pattern);
  assert(result.err.split("\n").length <= 3, result.err);
}

commandTest(
  "whatever is wrong with the server is one line, and local sessions go on",
  async ({ dir, env, bulkhead }) => {
    const agent = ["--agent", "scripted", "--cwd", `${dir}/ws`];
    // Started before there was a fleet, and there until the end.
    const started = await bulkhead("worker", "start", "local", ...agent);
    assertEquals(started.code, 0, started.err);
    const faults = await Promise.all([
      {
        server: await startNats({ jetstream: false }),
        pattern: /no JetStream for this account .*start nats-server with --jet/,
      },
      {
        server: await startNats({
          config: 'authorization { users: [ { user: "u", password: "p" } ] }',
        }),
        pattern: /refused the credentials; check the credentials file/,
      },
      newerServer(),
    ]);
    const gone = await startNats();
    await gone.stop();
    faults.push({
      server: gone,
      pattern: /Cannot reach the fleet .*; start nats-server with JetStream/,
    });
    for (const { server, pattern } of faults) {
      const servers = `nats://127.0.0.1:${server.port}`;
      await Deno.writeTextFile(
        `${dir}/home/config.toml`,
        `[worker]\nfleet = "${servers}"\n`,
      );
      for (
        const args of [
          ["run", "--fleet", ...agent, "x"],
          ["worker", "start", "other", "--fleet", ...agent],
          ...server !== gone ? [] : [
            ["run", "--fleet", "--here", ...agent, "x"],
            ["worker", "list", "--fleet"],
            ["fleet", "queue", "x", "--agent", "scripted"],
          ],
        ]
      ) {
        const failed = await bulkhead(...args);
        assertEquals(failed.code, 1, args.join(" ") + failed.err);
        assertOneLine(failed, pattern);
      }
      // It was only configured: nobody is kept from working.
      const ran = await bulkhead("run", ...agent, "alone");
      assertEquals(ran.code, 0, ran.err);
      assertMatch(ran.out, /You said: alone/);
      assertMatch(ran.err + ran.out, /; this session is local/);
      const asked = await bulkhead("worker", "ask", "local", "still there");
      assertEquals(
        [asked.code, asked.out.trim()],
        [0, "You said: still there"],
        asked.err,
      );
      const doctor = await deno(
        ["run", "-A", "--no-check", `${ROOT}mod.ts`, "fleet", "doctor"],
        { ...env, BULKHEAD_FLEET: servers },
      );
      assertEquals(doctor.code, 1);
      assertMatch(doctor.out, /^FAIL server: .*\n {5}\S/m);
    }
    for (const { server } of faults) await server[Symbol.asyncDispose]();
    const stopped = await bulkhead("worker", "stop", "local");
    assertEquals(stopped.code, 0, stopped.err);
  },
);

commandTest(
  "each role does from the command line what it is for, and is refused the rest in one line",
  async ({ dir, env }) => {
    const users = PERMISSION_ROLES.map((role) =>
      `{ user: ${role}, password: x, permissions: $BULKHEAD_${role.toUpperCase()} }`
    );
    await using server = await startNats({
      config: permissionsConfig() +
        `authorization { users: [ ${users.join(", ")} ] }`,
    });
    const servers = `nats://127.0.0.1:${server.port}`;
    const secret = { ...env, BULKHEAD_FLEET_PASSWORD: "x" };
    const as = (user: string, ...args: string[]) =>
      deno([
        "run",
        "-A",
        "--no-check",
        `${ROOT}mod.ts`,
        "fleet",
        ...args,
        "--servers",
        servers,
        "--user",
        user,
      ], secret);
    const early = await as("watch", "list");
    assertEquals(early.code, 1);
    assertOneLine(
      early,
      /let a user with the host permissions .* connect first/,
    );
    await using _host = await offer(secret, servers, "h1", "--user", "host");
    const queued = await as(
      "queue",
      "queue",
      "hello",
      "--agent",
      "scripted",
      "--workspace",
      `${dir}/ws`,
      "--json",
    );
    assertEquals(queued.code, 0, queued.err);
    const id = `h1.${JSON.parse(queued.out).short_id}`;
    await eventually(
      "it is listed",
      async () => (await as("watch", "list")).out.includes(`${id}  idle`),
    );
    const asked = await as("drive", "ask", id, "more");
    assertEquals(
      [asked.code, asked.out.trim()],
      [0, "You said: more"],
      asked.err,
    );
    for (
      const [user, ...args] of [
        ["watch", "ask", id, "no"],
        ["answer", "stop", id],
        ["drive", "queue", "no", "--agent", "scripted"],
      ] as const
    ) {
      const refused = await as(user, ...args);
      assertEquals(refused.code, 1, args.join(" "));
      assertOneLine(refused, /does not permit|may queue/);
    }
  },
);

/** A server whose fleet a newer program has made. */
async function newerServer(): Promise<{ server: TestServer; pattern: RegExp }> {
  const server = await startNats();
  await using fleet = await connectFleet({
    servers: `nats://127.0.0.1:${server.port}`,
    host: "newer",
  });
  await (await fleet.bucket(fleet.names.meta)).put("schema", "2");
  return { server, pattern: /its format is 2, this program knows 1; update/ };
}

commandTest("the guard and the posture judge on a host", async ({ dir }) => {
  const judges = await fleetOptions().host?.judges(
    { cwd: `${dir}/ws`, shortId: "x" } as Parameters<
      NonNullable<ReturnType<typeof fleetOptions>["host"]>["judges"]
    >[0],
    {
      home: `${dir}/home`,
      allow: [],
      roots: [],
      trustProject: false,
      plugins: false,
      log: () => {},
    },
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
});

sideBySide(tests, { ignore: !hasTool("nats-server") });
