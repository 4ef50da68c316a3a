import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { DEMO_PREFIX } from "../cli/run/places.ts";
import { bulkhead, CLI, withRunWorld } from "./support/run_world.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const GREETING = `${ROOT}worker/scripted/examples/greeting.json`;

/** The objects of `--json` of one type. */
function events(out: string, type: string): Record<string, unknown>[] {
  return out.trim().split("\n").map((line) => JSON.parse(line)).filter((
    event,
  ) => event.type === type);
}

async function demosLeft(): Promise<string[]> {
  const temp = Deno.env.get("TMPDIR") ?? "/tmp";
  return (await Array.fromAsync(Deno.readDir(temp), (entry) => entry.name))
    .filter((name) => name.startsWith(DEMO_PREFIX));
}

Deno.test("demo: a plugin tool is called, an inside write allowed, an outside one denied, an ask put", async () => {
  const { code, out, err } = await bulkhead([
    "run",
    "--agent",
    "scripted",
    "--example",
    "greeting",
  ]);
  assertEquals([code, err], [0, ""]);
  assertStringIncludes(out, "guard: callback, verified");
  assertStringIncludes(out, "Hello, Bulkhead, from a process of its own");
  assertStringIncludes(out, "Write hello.txt  allowed");
  assertStringIncludes(out, "Write ../bulkhead-outside.txt  denied by guard");
  assertStringIncludes(out, "eval guard: Write to ");
  assertStringIncludes(out, "AskUserQuestion May I finish?");
  assertStringIncludes(out, "files written hello.txt");
  assertStringIncludes(out, "agent         scripted, exit 0");
  assertEquals(out.includes("\x1b["), false, "no colour off a terminal");
});

Deno.test("demo: a second denied write in a copy of the script shows in the output", async () => {
  await withRunWorld(async ({ dir, place, env }) => {
    const script = JSON.parse(await Deno.readTextFile(GREETING));
    script.turns[0].steps.splice(-1, 0, {
      message: [{
        tool: "Write",
        input: { file_path: `${dir}/second.txt`, content: "x" },
      }],
    });
    await Deno.writeTextFile(`${dir}/script.json`, JSON.stringify(script));
    const { code, out } = await bulkhead([
      "run",
      "--script",
      `${dir}/script.json`,
      ...place,
      "--json",
      "play",
    ], { env });
    assertEquals(code, 0, out);
    const denied = events(out, "verdict").filter((event) =>
      event.decision === "deny"
    );
    assertEquals(denied.length, 2);
    assertStringIncludes(JSON.stringify(denied[1]), `${dir}/second.txt`);
    const [start] = events(out, "start");
    assert(start);
    assertNotEquals(start.pid, start.agent_pid);
    const [summary] = events(out, "summary");
    assertEquals(summary?.written, ["hello.txt"]);
    assertEquals(
      await Deno.stat(`${dir}/second.txt`).catch(() => "absent"),
      "absent",
    );
    // Nothing of the worker is left but its record.
    await Deno.stat(String(start.socket)).then(
      () => assert(false, "the socket is left"),
      () => {},
    );
  });
});

Deno.test("demo: a tool sees its own PID namespace and not the home's files", async () => {
  await withRunWorld(async ({ dir, home, place, env }) => {
    const plugin = `${dir}/plugins/look`;
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.mkdir(home);
    await Deno.writeTextFile(`${home}/secret`, "hidden");
    await Deno.writeTextFile(
      `${plugin}/plugin.toml`,
      `[[tools]]\nname = "look"\ncommand = "./look.sh"\n`,
    );
    await Deno.writeTextFile(
      `${plugin}/look.sh`,
      `#!/bin/sh\nreadlink /proc/self/ns/pid\ncat '${home}/secret' 2>&1\nexit 0\n`,
    );
    await Deno.chmod(`${plugin}/look.sh`, 0o755);
    const { digestPlugin } = await import("@bulkhead/plugins");
    const { hash } = await digestPlugin(plugin);
    await Deno.writeTextFile(
      `${dir}/script.json`,
      JSON.stringify({
        schema: 1,
        turns: [{
          steps: [{
            message: [{
              tool: "mcp__bulkhead__plugin__look__look",
              input: {},
            }],
          }],
        }],
      }),
    );
    const { code, out } = await bulkhead([
      "run",
      "--script",
      `${dir}/script.json`,
      ...place,
      "--plugin-dir",
      `${dir}/plugins`,
      "--trust-plugin",
      `look=${hash}`,
      "--isolation",
      "preferred",
      "--json",
      "play",
    ], { env });
    assertEquals(code, 0, out);
    const said = JSON.stringify(events(out, "frame"));
    const { probeIsolation } = await import("@bulkhead/sandbox");
    const { backend } = await probeIsolation();
    if (backend === "none") return;
    assertEquals(said.includes("hidden"), false);
    if (backend !== "bubblewrap") return;
    const ours = await Deno.readLink("/proc/self/ns/pid");
    assertStringIncludes(said, "pid:[");
    assertEquals(said.includes(ours), false);
  });
});

Deno.test("demo: nothing is left after a run, and the next run sweeps what a killed one left", async () => {
  const temp = Deno.env.get("TMPDIR") ?? "/tmp";
  const stale = `${temp}/${DEMO_PREFIX}1-1-stale`;
  await Deno.mkdir(stale);
  await Deno.writeTextFile(`${stale}/lock`, "");
  const { code } = await bulkhead(["run", "--example", "greeting"]);
  assertEquals(code, 0);
  assertEquals(
    (await demosLeft()).some((name) => name.endsWith("stale")),
    false,
  );
});

Deno.test("run: a second run in one workspace is refused", async () => {
  await withRunWorld(async ({ dir, place, env }) => {
    await Deno.writeTextFile(
      `${dir}/wait.json`,
      JSON.stringify({ schema: 1, turns: [{ steps: [{ ask: "Wait?" }] }] }),
    );
    const first = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        CLI,
        "run",
        "--script",
        `${dir}/wait.json`,
        ...place,
        "--keep",
        "--json",
        "play",
      ],
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = first.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
    let seen = "";
    while (!seen.includes('"type":"start"')) {
      const { value, done } = await reader.read();
      if (done) break;
      seen += value;
    }
    const second = await bulkhead([
      "run",
      "--agent",
      "scripted",
      ...place,
      "hi",
    ], { env });
    assertEquals(second.code, 1);
    assertStringIncludes(second.err, `pid ${first.pid}`);
    first.kill("SIGTERM");
    await first.status;
    await reader.cancel();
  });
});

for (
  const [name, args, code, message] of [
    ["an unknown command", ["runn"], 2, 'did you mean "run"'],
    ["an unknown flag", ["run", "--agnet", "x", "hi"], 2, "--agent"],
    ["no prompt", ["run"], 2, "there is no prompt"],
    ["a missing script", ["run", "--script", "/no/such.json"], 1, "/no/such"],
    ["a missing workspace", ["run", "--cwd", "/no/such", "hi"], 1, "/no/such"],
    ["an unknown example", ["run", "--example", "nope"], 1, "greeting"],
    ["an option that is no prompt", ["run", "--allow", "x"], 2, "no prompt"],
    ["an unknown agent", ["run", "--agent", "x", "hi"], 2, "--agent claude"],
  ] as const
) {
  Deno.test(`run: ${name} is one line with the fix`, async () => {
    const ran = await bulkhead([...args], {
      env: { BULKHEAD_HOME: await Deno.makeTempDir() },
    });
    assertEquals(ran.code, code, ran.err);
    assertStringIncludes(ran.err, message);
    assertEquals(ran.err.trimEnd().split("\n").length, 1, ran.err);
  });
}

Deno.test("run: an agent that does not come up leaves no session behind", async () => {
  await withRunWorld(async ({ home, place }) => {
    const { code } = await bulkhead([
      "run",
      "--script",
      "/no/such.json",
      ...place,
    ]);
    assertEquals(code, 1);
    const left = await Array.fromAsync(
      Deno.readDir(`${home}/workers`),
      ({ name }) => name,
    );
    assertEquals(left.filter((name) => name.startsWith("run-")), []);
  });
});

Deno.test("run: bad TOML in the home's configuration names the file", async () => {
  await withRunWorld(async ({ home, place, env }) => {
    await Deno.mkdir(home);
    await Deno.writeTextFile(`${home}/config.toml`, "[capabilities\n");
    const { code, err } = await bulkhead([
      "run",
      "--agent",
      "scripted",
      ...place,
      "hi",
    ], { env });
    assertEquals(code, 1);
    assertStringIncludes(err, "config.toml");
    assertEquals(err.trimEnd().split("\n").length, 1, err);
  });
});

Deno.test("run: an agent that is not installed is one line with its install command", async () => {
  await withRunWorld(async ({ dir, place }) => {
    const { code, err } = await bulkhead([
      "run",
      "--agent",
      "codex",
      ...place,
      "hi",
    ], { env: { PATH: dir, FNO_CLAIMS_ROOT: dir } });
    assertEquals(code, 1);
    assertStringIncludes(err, "npm i -g @openai/codex");
  });
});

Deno.test("run: without Claude Code the scripted agent plays, loudly; --agent claude fails", async () => {
  await withRunWorld(async ({ dir, place }) => {
    const env = { PATH: dir, FNO_CLAIMS_ROOT: dir };
    const played = await bulkhead(["run", ...place, "fix it"], { env });
    assertEquals(played.code, 0, played.err);
    assertStringIncludes(played.out, "You said: fix it");
    assertStringIncludes(played.err, "WARNING: Claude Code is not installed");
    assertStringIncludes(played.err, "--agent claude fails instead");
    const { code, out, err } = await bulkhead(
      ["run", "--agent", "claude", ...place, "fix it"],
      { env },
    );
    assertEquals([code, out], [1, ""]);
    assertStringIncludes(err, "npm i -g @anthropic-ai/claude-code");
  });
});

Deno.test("run: --approve answers a question by the option that says yes", async () => {
  await withRunWorld(async ({ env, playing }) => {
    const args = await playing([
      { ask: "May I?", options: ["no", "yes"], header: "May" },
    ]);
    const { code, out } = await bulkhead([...args, "--approve", "go"], { env });
    assertEquals(code, 0, out);
    assertStringIncludes(out, "AskUserQuestion May I?: yes");
    assertStringIncludes(out, `"May I?"="yes"`);
  });
});

Deno.test("run: a guard that allows writes everywhere, or in the whole home, says so", async () => {
  await withRunWorld(async ({ env, playing, dir }) => {
    const args = await playing([{ say: "hi" }]);
    for (const root of ["/", dir]) {
      const { code, err } = await bulkhead([...args, "--root", root, "go"], {
        env: { ...env, HOME: dir },
      });
      assertEquals(code, 0, err);
      assertStringIncludes(
        err,
        root === "/" ? "WARNING: a root is /:" : `a root is the home ${dir}:`,
      );
    }
  });
});

Deno.test("run: a prompt is read from standard input", async () => {
  await withRunWorld(async ({ env, place }) => {
    for (const dash of [["-"], []]) {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          CLI,
          "run",
          "--agent",
          "scripted",
          ...place,
          ...dash,
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        env,
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("say it again\n"));
      await writer.close();
      const { code, stdout, stderr } = await child.output();
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      assertStringIncludes(
        new TextDecoder().decode(stdout),
        "You said: say it again",
      );
    }
  });
});

Deno.test("run: a tool that is allowed and not there is named", async () => {
  await withRunWorld(async ({ env, playing }) => {
    const args = await playing([{ say: "hi" }]);
    const allowed = ["--allow", "NoSuchTool,Read"];
    const { code, err } = await bulkhead([...args, ...allowed, "go"], { env });
    assertEquals(code, 0, err);
    assertStringIncludes(err, `WARNING: --allow "NoSuchTool" allows nothing`);
    assertEquals(err.trimEnd().split("\n").length, 1, err);
  });
});

Deno.test("run: a socket path that is too long is named with its limit", async () => {
  await withRunWorld(async ({ dir, ws, env }) => {
    const home = `${dir}/${"x".repeat(120)}`;
    const { code, err } = await bulkhead([
      "run",
      "--agent",
      "scripted",
      "--cwd",
      ws,
      "--home",
      home,
      "hi",
    ], { env });
    assertEquals(code, 1);
    assertStringIncludes(err, "107");
    assertEquals(err.trimEnd().split("\n").length, 1, err);
  });
});

Deno.test("run: where claims cannot be kept the run goes on and says so", async () => {
  await withRunWorld(async ({ place }) => {
    const { code, err } = await bulkhead([
      "run",
      "--agent",
      "scripted",
      ...place,
      "hi",
    ], { env: { FNO_CLAIMS_ROOT: "/dev/null" } });
    assertEquals(code, 0, err);
    assertStringIncludes(err, "WARNING: nothing keeps a second run out");
    assertEquals(err.trimEnd().split("\n").length, 1, err);
  });
});
