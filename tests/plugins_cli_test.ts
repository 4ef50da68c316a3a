import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { InstallError, installPlugin } from "@bulkhead/plugins";
import { hasTool } from "./support/require_tool.ts";

const CLI = fromFileUrl(new URL("../plugins/cli.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../deno.json", import.meta.url));
const ARGV = ["run", "-A", "--no-prompt", `--config=${CONFIG}`, CLI];

interface Ran {
  code: number;
  out: string;
  err: string;
}

/** A home with plugins switched on, and the command line over it. */
class World implements AsyncDisposable {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  static async make(): Promise<World> {
    const dir = await Deno.realPath(
      await Deno.makeTempDir({ prefix: "with space " }),
    );
    await Deno.mkdir(`${dir}/home`);
    await Deno.mkdir(`${dir}/ws`);
    await Deno.writeTextFile(
      `${dir}/home/config.toml`,
      '[capabilities.plugins]\nenabled = true\nsandbox = "preferred"\n[capabilities.trust]\nenabled = true\n',
    );
    return new World(dir);
  }

  get env(): Record<string, string> {
    return { BULKHEAD_HOME: `${this.dir}/home`, NO_COLOR: "1" };
  }

  async run(args: string[], input = ""): Promise<Ran> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...ARGV, ...args],
      cwd: `${this.dir}/ws`,
      env: this.env,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input)).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: decode(stdout), err: decode(stderr) };
  }

  /** Runs with --json and checks the envelope. */
  async json(
    args: string[],
    input = "",
  ): Promise<Record<string, unknown> & { code: number }> {
    const { code, out } = await this.run([...args, "--json"], input);
    assertEquals(out.split("\n").length, 2, `one object on one line: ${out}`);
    const value = JSON.parse(out);
    assertEquals(value.schema, 1);
    assertEquals(value.ok, code === 0, out);
    if (!value.ok) {
      assertEquals(typeof value.error.code, "string");
      assertEquals(typeof value.error.message, "string");
    }
    return { ...value, code };
  }

  /** Installs and trusts a scaffold. */
  async add(name: string, language: string): Promise<void> {
    await this.json(["new", `../${name}`, "--language", language]);
    const { hash } = await this.json(["check", `../${name}`]);
    const installed = await this.json([
      "install",
      `../${name}`,
      "--trust-plugin",
      `${name}=${hash}`,
    ]);
    assertEquals([installed.name, installed.trusted], [name, true]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}

Deno.test("plugins: help, mistyped words and flags", async () => {
  await using world = await World.make();
  const help = await world.run(["--help"]);
  assertEquals(help.code, 0);
  const verbs = [...help.out.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map((match) =>
    match[1] ?? ""
  );
  assertEquals(verbs.length, 12);
  assertEquals((await world.run([])).code, 2);
  const rows: [string[], string][] = [
    [["instal", "x"], 'did you mean "install"?'],
    [["install"], "bulkhead plugins install SOURCE"],
    [["install", "a", "b"], '"b"'],
    [["uninstall", "x"], 'did you mean "remove"?'],
    [["untrust", "x"], "and there is none; bulkhead plugins list"],
    [["list", "--jsno"], "did you mean --json?"],
    [["call", "x", "--args", "{"], "--args is not JSON"],
    [["fire", "pre_tol"], 'did you mean "pre_tool"?'],
    [["fire", "pre_tool", "--payload", "[]"], "not an object"],
    [["new", "../x", "--language", "pyton"], 'did you mean "python"?'],
    [["update"], "one NAME, or --all"],
    [["list", "--trust-plugin", "x"], "64 hex digits"],
    [["call", "x", "--timeout-ms", "0"], "at least 1"],
  ];
  await Promise.all(rows.map(async ([args, part]) => {
    const { code, out, err } = await world.run(args);
    assertEquals([code, out], [2, ""], args.join(" "));
    assertEquals(err.trimEnd().split("\n").length, 1, err);
    assertStringIncludes(err, part);
  }));
  const json = await world.run(["instal", "--json"]);
  assertEquals(json.code, 2);
  assertEquals(JSON.parse(json.out).error.code, "usage_error");
});

Deno.test("plugins: every command's help has an example and is plain text", async () => {
  await using world = await World.make();
  const verbs = [
    "list",
    "check",
    "trust",
    "untrust",
    "call",
    "fire",
    "install",
    "update",
    "remove",
    "serve",
    "new",
    "doctor",
  ];
  await Promise.all(verbs.map(async (verb) => {
    const { code, out } = await world.run([verb, "--help"]);
    assertEquals(code, 0);
    assertStringIncludes(out, "Examples:");
    assertMatch(out, new RegExp(`^Usage: bulkhead plugins ${verb}`, "m"));
    assert(!out.includes("\x1b"));
  }));
});

Deno.test("plugins: what an install writes is what a load reads, for every scaffold (gopher-ai#148)", async (t) => {
  await using world = await World.make();
  for (const language of ["shell", "deno", "python"]) {
    await t.step(language, async () => {
      const name = `my-${language}`;
      await world.add(name, language);
      const called = await world.run([
        "call",
        `${name}/greet`,
        "--args",
        '{"name":"Ada"}',
      ]);
      assertEquals([called.code, called.out, called.err], [
        0,
        "Hello, Ada!\n",
        "",
      ]);
      const wrong = await world.json([
        "call",
        `plugin__${name}__greet`,
        "--args",
        "-",
      ], '{"nme":"Ada"}');
      assertEquals(wrong.code, 1);
      const removed = await world.json(["remove", name]);
      assertEquals([removed.name, removed.untrusted], [name, true]);
    });
  }
  const list = await world.json(["list"]);
  assertEquals(list.plugins, []);
});

Deno.test("plugins: headless means refused with one line that names the hash (claude-code#31242, codex#46210)", async () => {
  await using world = await World.make();
  await world.json(["new", "../demo", "--language", "shell"]);
  const refused = await world.run(["install", "../demo"]);
  assertEquals([refused.code, refused.out], [1, ""]);
  const pin =
    /--trust-plugin (demo=sha256:[0-9a-f]{64})/.exec(refused.err)?.[1] ?? "";
  assertEquals(
    (await world.run(["install", "../demo", "--trust-plugin", pin])).code,
    0,
  );
  await world.json(["untrust", "demo"]);
  const call = await world.json([
    "call",
    "demo/greet",
    "--args",
    '{"name":"x"}',
  ]);
  assertEquals(call.code, 1);
  assertEquals((await world.json(["list"])).plugins instanceof Array, true);
  const trust = await world.json(["trust", "demo"]);
  assertEquals(trust.code, 1);
  assertEquals(
    (await world.json(["trust", "demo", "--trust-plugin", pin])).code,
    0,
  );
  assertEquals(
    (await world.json(["call", "demo/greet", "--args", '{"name":"x"}'])).code,
    0,
  );
  // Content that changed is not the content that was trusted.
  await Deno.writeTextFile(
    `${world.dir}/home/plugins/demo/greet.sh`,
    "#!/bin/sh\necho PWNED\n",
  );
  const changed = await world.run([
    "call",
    "demo/greet",
    "--args",
    '{"name":"x"}',
  ]);
  assertEquals([changed.code, changed.out], [1, ""]);
});

Deno.test("plugins: a pin that lets nothing in is one error line, whatever else would have worked", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  await world.json(["new", "../other", "--language", "shell"]);
  const zero = `sha256:${"0".repeat(64)}`;
  const input = ["--args", '{"name":"x"}'];
  const rows: [string[], RegExp][] = [
    [["install", "../demo"], /its content is sha256:.*not the sha256:0/],
    [["install", "../other"], /--trust-plugin names "demo"/],
    [["update", "demo"], /its content is sha256:.*not the sha256:0/],
    [["update", "--all"], /its content is sha256:.*not the sha256:0/],
    [["trust", "demo"], /the content of the plugin is sha256:/],
    [["call", "demo/greet", ...input], /the content of the plugin is sha256:/],
    [["serve"], /the content of the plugin is sha256:/],
    [["fire", "stop"], /the content of the plugin is sha256:/],
  ];
  for (const [args, pattern] of rows) {
    const { code, out, err } = await world.run([
      ...args,
      "--trust-plugin",
      `demo=${zero}`,
    ]);
    assertEquals([code, out], [1, ""], args.join(" ") + err);
    assertEquals(err.trimEnd().split("\n").length, 1, err);
    assertMatch(err, pattern);
  }
  for (
    const args of [["call", "demo/greet", ...input], ["update", "--all"], [
      "serve",
    ]]
  ) {
    const { code, err } = await world.run([
      ...args,
      "--trust-plugin",
      `typo=${zero}`,
    ]);
    assertEquals(code, 1);
    assertMatch(err, /typo/);
  }
  // A pin that fits trusts what is there already.
  const { hash } = await world.json(["check", "../demo"]);
  await world.json(["untrust", "demo"]);
  const pin = ["--trust-plugin", `demo=${hash}`];
  const again = await world.json(["install", "../demo", ...pin]);
  assertEquals([again.changed, again.trusted], [false, true]);
});

Deno.test("plugins: what differs from what was installed is named and to be restored, never to be trusted", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  const file = `${world.dir}/home/plugins/demo/greet.sh`;
  await Deno.writeTextFile(file, "#!/bin/sh\necho PWNED\n");
  for (const verb of ["doctor", "list"]) {
    const { out, err } = await world.run([verb]);
    assertStringIncludes(out, '~ "greet.sh"');
    assertStringIncludes(out, "plugins update demo restores it");
    assert(!(out + err).includes("plugins trust"), out + err);
  }
  const update = await world.json(["check", "../demo"]);
  await world.json(["update", "demo", "--trust-plugin", `demo=${update.hash}`]);
  assert(!(await world.run(["list"])).out.includes("not what was"));
});

Deno.test("plugins: the fix of a damaged store works as it is written", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  for (const name of ["trust.json", "plugins.lock.json"]) {
    await Deno.writeTextFile(`${world.dir}/home/${name}`, "{");
    const found = await world.json(["doctor"]);
    assertEquals(found.code, 1);
    const fix = JSON.stringify(found.findings);
    const path = `${world.dir}/home/${name}`;
    assertStringIncludes(fix, `mv '${path}' '${path}.damaged'`);
    await Deno.rename(path, `${path}.damaged`);
    assertEquals((await world.json(["doctor"])).code, 0);
  }
});

Deno.test("plugins: a sandbox that is off and a tool that will fail are told by call and by list", async () => {
  await using world = await World.make();
  await Deno.writeTextFile(
    `${world.dir}/home/config.toml`,
    '[capabilities.plugins]\nenabled = true\nsandbox = "off"\n[capabilities.trust]\nenabled = true\ndefault = "always"\n',
  );
  await Deno.mkdir(`${world.dir}/home/plugins/demo`, { recursive: true });
  await Deno.writeTextFile(
    `${world.dir}/home/plugins/demo/plugin.toml`,
    '[[tools]]\nname = "ok"\ncommand = "true"\n[[tools]]\nname = "greet"\ncommand = "python3"\nargs = ["greet.py"]\n',
  );
  for (const args of [["call", "demo/ok"], ["list"]]) {
    const { code, err } = await world.run(args);
    assertEquals(code, 0);
    assertStringIncludes(err, "plugins run with all of your rights");
    assertStringIncludes(err, '"greet.py" is not a file of the plugin');
  }
  const { code, err } = await world.run(["call", "demo/greet"]);
  assertEquals(code, 1);
  assertStringIncludes(err, "greet.py");
});

Deno.test("plugins: off means off, and says how to switch them on", async () => {
  await using world = await World.make();
  await Deno.remove(`${world.dir}/home/config.toml`);
  const call = await world.json(["call", "x"]);
  assertEquals(
    [call.code, call.error instanceof Object && "fix" in call.error],
    [1, true],
  );
  assertEquals((await world.json(["list"])).enabled, false);
  assertEquals((await world.json(["doctor"])).code, 0);
});

Deno.test("plugins: doctor finds damage, and --fix puts interrupted installs right", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  assertEquals((await world.json(["doctor"])).code, 0);
  await Deno.mkdir(`${world.dir}/home/.bulkhead-install-1-dead/old/lost`, {
    recursive: true,
  });
  await Deno.remove(`${world.dir}/home/plugins/demo`, { recursive: true });
  const found = await world.json(["doctor"]);
  assertEquals(found.code, 1);
  const text = JSON.stringify(found.findings);
  assertStringIncludes(text, "an install was interrupted");
  assertStringIncludes(text, "bulkhead plugins update demo");
  await world.run(["doctor", "--fix"]);
  assertEquals(
    (await Deno.stat(`${world.dir}/home/plugins/lost`)).isDirectory,
    true,
  );
  await Deno.writeTextFile(
    `${world.dir}/home/config.toml`,
    "[capabilities.plugins]\nenabled = 5\n",
  );
  assertEquals((await world.json(["doctor"])).code, 1);
});

Deno.test("plugins: update shows files and commands that changed, a refusal keeps the old", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  await Deno.writeTextFile(
    `${world.dir}/demo/greet.sh`,
    "#!/bin/sh\necho TWO\n",
  );
  const refused = await world.json(["update", "demo"]);
  assertEquals(refused.code, 1);
  const kept = await world.run([
    "call",
    "demo/greet",
    "--args",
    '{"name":"Ada"}',
  ]);
  assertEquals(kept.out, "Hello, Ada!\n");
  const { hash } = await world.json(["check", "../demo"]);
  const updated = await world.json([
    "update",
    "demo",
    "--trust-plugin",
    `demo=${hash}`,
  ]);
  assertEquals([updated.changed, updated.trusted], [true, true]);
  const now = await world.run([
    "call",
    "demo/greet",
    "--args",
    '{"name":"Ada"}',
  ]);
  assertEquals(now.out, "TWO\n");
  assertEquals((await world.json(["update", "--all"])).code, 0);
});

Deno.test("plugins: fire runs hooks and shows who decided", async () => {
  await using world = await World.make();
  await world.json(["new", "../demo", "--language", "shell"]);
  await Deno.writeTextFile(
    `${world.dir}/demo/plugin.toml`,
    'name = "demo"\n[[hooks]]\nevent = "pre_tool"\nmatcher = "Write"\ncommand = "sh"\nargs = ["-c", "echo not here >&2; exit 2"]\n',
  );
  const { hash } = await world.json(["check", "../demo"]);
  await world.json(["install", "../demo", "--trust-plugin", `demo=${hash}`]);
  const denied = await world.run([
    "fire",
    "pre_tool",
    "--payload",
    '{"tool":{"name":"Write"}}',
  ]);
  assertEquals(denied.code, 0);
  assertStringIncludes(denied.out, "decision: deny");
  assertStringIncludes(denied.out, "not here");
  const other = await world.run([
    "fire",
    "pre_tool",
    "--payload",
    '{"tool":{"name":"Read"}}',
  ]);
  assertStringIncludes(other.out, "decision: none");
});

Deno.test("plugins: ANSI and bidi text of a manifest reaches no terminal (llxprt-code#1801)", async () => {
  await using world = await World.make();
  await world.json(["new", "../demo", "--language", "shell"]);
  await Deno.writeTextFile(
    `${world.dir}/demo/plugin.toml`,
    'name = "demo"\nversion = "\\u001b[2J1"\n[[tools]]\nname = "a\\u202eb"\ndescription = "\\u001b]0;x\\u0007"\ncommand = "sh"\nargs = ["\\u001b[31m"]\n',
  );
  for (const args of [["check", "../demo"], ["install", "../demo"], ["list"]]) {
    const { out, err } = await world.run(args);
    assert(
      !/[\p{Cc}\p{Cf}]/u.test((out + err).replaceAll("\n", "")),
      JSON.stringify(out + err),
    );
  }
});

/** Speaks JSON-RPC with a child over its stdio. */
async function converse(
  world: World,
  talk: (
    ask: (message: object) => Promise<Record<string, unknown>>,
    next: () => Promise<Record<string, unknown>>,
  ) => Promise<void>,
): Promise<{ code: number; rest: string; err: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...ARGV, "serve"],
    cwd: `${world.dir}/ws`,
    env: world.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  const next = async (): Promise<Record<string, unknown>> => {
    while (!buffer.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`the server ended: ${await errors}`);
      buffer += value;
    }
    const at = buffer.indexOf("\n");
    const line = buffer.slice(0, at);
    buffer = buffer.slice(at + 1);
    return JSON.parse(line);
  };
  const ask = async (message: object) => {
    await writer.write(
      new TextEncoder().encode(
        JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n",
      ),
    );
    return "id" in message ? await next() : {};
  };
  try {
    await talk(ask, next);
  } finally {
    await writer.close().catch(() => {});
  }
  for (
    let chunk = await reader.read();
    !chunk.done;
    chunk = await reader.read()
  ) buffer += chunk.value;
  const { code } = await child.status;
  return { code, rest: buffer, err: await errors };
}

const HELLO = {
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

Deno.test("plugins serve: a client lists and calls, later installs are announced, EOF ends it", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  const { code, rest, err } = await converse(world, async (ask, next) => {
    const hello = await ask(HELLO);
    assertStringIncludes(JSON.stringify(hello), '"listChanged":true');
    await ask({ method: "notifications/initialized" });
    const listed = JSON.stringify(await ask({ id: 2, method: "tools/list" }));
    assertStringIncludes(listed, '"plugin__demo__greet"');
    const called = await ask({
      id: 3,
      method: "tools/call",
      params: { name: "plugin__demo__greet", arguments: { name: "Ada" } },
    });
    assertStringIncludes(JSON.stringify(called.result), "Hello, Ada!");
    const installing = world.add("second", "shell");
    const announced = await next();
    assertEquals(announced.method, "notifications/tools/list_changed");
    await installing;
    // The install writes the lock file and the trust store; the last announcement has both.
    let tools = "";
    for (
      let id = 4;
      id < 40 && !tools.includes("plugin__second__greet");
      id++
    ) {
      let answer = await ask({ id, method: "tools/list" });
      while (answer.id !== id) answer = await next();
      tools = JSON.stringify(answer);
      if (!tools.includes("plugin__second__greet")) await next();
    }
    assertStringIncludes(tools, "plugin__second__greet");
  });
  assertEquals(code, 0);
  for (const line of rest.split("\n").filter((text) => text !== "")) {
    assertEquals(JSON.parse(line).jsonrpc, "2.0");
  }
  assertEquals(err, "");
});

Deno.test("plugins serve: untrusted plugins are held back, said on stderr only", async () => {
  await using world = await World.make();
  await world.add("demo", "shell");
  await world.json(["untrust", "--all"]);
  const { code, err } = await converse(world, async (ask) => {
    await ask(HELLO);
    const { result } = await ask({ id: 2, method: "tools/list" });
    assertEquals(result, { tools: [] });
  });
  assertEquals(code, 0);
  assertStringIncludes(err, "demo");
});

Deno.test({
  name:
    "plugins install: SIGKILL at any moment leaves the old or the new version, and the next run is clean",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using world = await World.make();
    const home = `${world.dir}/home`;
    await world.add("demo", "shell");
    const version = async () =>
      /version = "([^"]*)"/.exec(
        await Deno.readTextFile(`${home}/plugins/demo/plugin.toml`),
      )?.[1];
    const manifest = await Deno.readTextFile(`${world.dir}/demo/plugin.toml`);
    // Many files make the moments between the steps long enough to be hit.
    for (let index = 0; index < 400; index++) {
      await Deno.writeTextFile(`${world.dir}/demo/f${index}`, `${index}`);
    }
    let landed = 0;
    for (let round = 0; round < 8; round++) {
      await Deno.writeTextFile(
        `${world.dir}/demo/plugin.toml`,
        manifest.replace('"0.1.0"', `"0.2.${round}"`),
      );
      const { hash } = await world.json(["check", "../demo"]);
      const before = await version();
      const child = new Deno.Command(Deno.execPath(), {
        args: [...ARGV, "update", "demo", "--trust-plugin", `demo=${hash}`],
        cwd: `${world.dir}/ws`,
        env: world.env,
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
      // Wait until the staging directory is there, then kill at a different moment each round.
      const began = performance.now();
      while (performance.now() - began < 5000) {
        const names = (await Array.fromAsync(Deno.readDir(home))).map((entry) =>
          entry.name
        );
        if (names.some((name) => name.startsWith(".bulkhead-install-"))) break;
      }
      const wait = performance.now() + round * 12;
      while (performance.now() < wait) await Promise.resolve();
      child.kill("SIGKILL");
      await child.status;
      await world.json(["list"]);
      const after = await version();
      assert(
        after === before || after === `0.2.${round}`,
        `${before} → ${after}`,
      );
      if (after !== before) landed++;
      const names = (await Array.fromAsync(Deno.readDir(home))).map((entry) =>
        entry.name
      );
      assertEquals(
        names.filter((name) => name.startsWith(".bulkhead-install-")),
        [],
      );
      const { plugins } = await world.json(["list"]);
      assertStringIncludes(JSON.stringify(plugins), '"modified":false');
    }
    const { hash } = await world.json(["check", "../demo"]);
    const last = await world.json([
      "update",
      "demo",
      "--trust-plugin",
      `demo=${hash}`,
    ]);
    assertEquals(last.code, 0, `landed ${landed}`);
  },
});

Deno.test("plugins install: many at once leave exactly one good install", async () => {
  await using world = await World.make();
  await world.json(["new", "../demo", "--language", "shell"]);
  const { hash } = await world.json(["check", "../demo"]);
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () =>
      installPlugin(`${world.dir}/demo`, {
        home: `${world.dir}/home`,
        pins: [{ name: "demo", hash: String(hash) }],
      })),
  );
  for (const result of results) {
    if (result.status === "rejected") {
      assert(
        result.reason instanceof InstallError && result.reason.code === "busy",
      );
    }
  }
  assertEquals(
    results.some((result) =>
      result.status === "fulfilled" && result.value.changed
    ),
    true,
  );
  const { plugins } = await world.json(["list"]);
  assertStringIncludes(JSON.stringify(plugins), '"state":"loaded"');
});

/** Runs argv on a terminal of its own, types once the text appears, and gives the exit code and what was shown. */
const TERMINAL = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[3], sys.argv[3:])
shown = b""
typed = False
while True:
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
    if not typed and sys.argv[1].encode() in shown:
        typed = True
        os.write(fd, sys.argv[2].encode().decode("unicode_escape").encode())
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
`;

Deno.test({
  name: "plugins install on a terminal: yes, enter and Ctrl-C at the question",
  ignore: Deno.build.os === "windows" || !hasTool("python3"),
  async fn(t) {
    const rows: [typed: string, code: number, installed: boolean][] = [
      ["\\x03", 130, false],
      ["\\n", 1, false],
      ["a\\n", 0, true],
    ];
    await using world = await World.make();
    await world.json(["new", "../demo", "--language", "shell"]);
    for (const [typed, code, installed] of rows) {
      await t.step(typed, async () => {
        const output = await new Deno.Command("python3", {
          args: [
            "-c",
            TERMINAL,
            "[N]o:",
            typed,
            Deno.execPath(),
            ...ARGV,
            "install",
            "../demo",
          ],
          cwd: `${world.dir}/ws`,
          env: world.env,
          stdin: "null",
        }).output();
        const shown = new TextDecoder().decode(output.stdout);
        assertEquals(output.code, code, shown);
        assertStringIncludes(shown, "./greet.sh");
        assertStringIncludes(shown, "… reading");
        const names = (await Array.fromAsync(Deno.readDir(`${world.dir}/home`)))
          .map((entry) => entry.name);
        assertEquals(
          names.filter((name) => name.startsWith(".bulkhead-install-")),
          [],
        );
        const plugins = (await Array.fromAsync(
          Deno.readDir(`${world.dir}/home/plugins`),
        )).map((entry) => entry.name);
        assertEquals(plugins, installed ? ["demo"] : []);
      });
    }
  },
});
