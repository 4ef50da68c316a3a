import { abiCommand } from "@bulkhead/abi/cli";
import { processIo } from "@bulkhead/sandbox/command";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { build, canRun } from "./_abi.ts";

const ignore = !await canRun();
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `abi cli: ${name}`, ignore, fn });

async function run(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const io = {
    ...processIo(),
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
  };
  const code = await abiCommand(args, io);
  return { code, out, err };
}

async function json(
  ...args: string[]
): Promise<{ code: number; value: Record<string, unknown> }> {
  const { code, out } = await run(...args, "--json");
  assertEquals(out.trimEnd().split("\n").length, 1, out);
  return { code, value: JSON.parse(out) };
}

test("inspect says what a library is without running any of it", async () => {
  const crashing = await build("loading", ["-DCTOR=1"]);
  const { code, value } = await json("inspect", crashing);
  assertEquals([code, value.schema, value.ok, value.format, value.entry], [
    0,
    1,
    true,
    "elf",
    "rpi_plugin_register",
  ]);
  assertEquals(value.initializers, true);
  const none = await json("inspect", await build("loading", ["-DNONE"]));
  assertEquals([none.code, none.value.ok], [1, false]);
  const { out } = await run("inspect", crashing);
  assertStringIncludes(out, "runs constructors of its own");
});

test("tools lists what a library registers", async () => {
  const { value } = await json("tools", await build("01_ok"));
  assertEquals(
    (value.tools as { name: string }[]).map((tool) => tool.name).includes(
      "probe_echo",
    ),
    true,
  );
  assertStringIncludes(
    (await run("tools", await build("01_ok"))).out,
    "command   /probe",
  );
});

test("what a plugin names itself cannot steer a terminal, and stands in its own line", async () => {
  const shapes = await build("shapes");
  const { out, err } = await run("tools", shapes);
  assertStringIncludes(
    out,
    "tool      esc\\u{1b}[2J  red\\u{1b}[31m next line\\u{202e}txt\n",
  );
  assertEquals(out.trimEnd().split("\n").length, 15);
  assertStringIncludes(err, "note: a tool is refused");
  const missing = await run("call", shapes, "nothing");
  assertStringIncludes(missing.err, '"esc\\u{1b}[2J"');
  // Neither control nor mark is left, whatever was printed.
  // deno-lint-ignore no-control-regex -- these are what must not be there
  assert(!/[\0-\x08\x0b-\x1f\u202e]/.test(out + err + missing.err));
  const { value } = await json("tools", shapes);
  assertStringIncludes(JSON.stringify(value), "esc\\u001b[2J");
});

test("call prints result, updates and errors in one object", async () => {
  const library = await build("01_ok");
  const echo = await json(
    "call",
    library,
    "probe_echo",
    "--args",
    '{"n":12345678901234567890}',
    "--cwd",
    "/w",
  );
  assertEquals(echo.code, 0);
  assertEquals(echo.value.isError, false);
  assertStringIncludes(
    JSON.stringify(echo.value.content),
    "12345678901234567890",
  );
  assertStringIncludes(
    JSON.stringify(echo.value.content),
    String.raw`\"__rpi\":{\"cwd\":\"/w\"}`,
  );
  assertEquals((echo.value.updates as unknown[]).length, 2);
  const fail = await json("call", library, "probe_fail");
  assertEquals([fail.code, fail.value.ok, fail.value.isError], [
    1,
    false,
    true,
  ]);
  assertEquals(fail.value.error, {
    code: "tool",
    message: "planned failure ✗",
  });
  const crash = await json(
    "call",
    await build("17_crash"),
    "probe_crash",
    "--args",
    '{"how":"segv"}',
  );
  const error = crash.value.error as Record<string, unknown>;
  assertEquals([crash.code, error.code, error.signal], [
    1,
    "crashed",
    "SIGSEGV",
  ]);
  const wait = await json("call", library, "probe_wait", "--timeout-ms", "50");
  assertEquals((wait.value.error as Record<string, unknown>).code, "timeout");
  const two = await json(
    "call",
    library,
    "probe_echo",
    "probe_stats",
    "--repeat",
    "3",
  );
  assertEquals((two.value.results as unknown[]).length, 2);
  const plain = await run("call", library, "probe_echo", "--args", "[1]");
  assertStringIncludes(plain.out, "params=[1]");
  assertStringIncludes(plain.err, "... from callback\n... from inline\n");
});

test("call inside this process is one flag away", async () => {
  // It ends the process, so it needs one of its own.
  const cli = fromFileUrl(new URL("../abi/cli.ts", import.meta.url));
  const library = await build("01_ok");
  for (
    const [tool, wanted] of [["probe_echo", 0], ["probe_fail", 1], [
      "none",
      1,
    ]] as const
  ) {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", cli, "call", library, tool, "--in-process", "--json"],
    }).output();
    const value = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals([code, value.ok], [wanted, wanted === 0], tool);
  }
});

test("command and emit reach handlers", async () => {
  const library = await build("01_ok");
  assertEquals(
    (await json("command", library, "/probe", "a", "b")).value.answer,
    { kind: "message", text: "args 33 bytes" },
  );
  const { value } = await json("emit", library, "all");
  assertEquals((value.results as unknown[]).length, 37);
});

test("verify prints its checks, what it found and what it counted, and says so in its code", async () => {
  const good = await run("verify", await build("trivial"), "--calls", "20");
  assertEquals([good.code, good.err], [0, ""]);
  for (
    const line of [
      "passed  preflight elf",
      "passed  register  1 entry, the same at the second load",
      'passed  leaks     tool "nop" was called 20 times',
      "figure  calls     20, ",
      "figure  memory    0 live handles, ",
      "it keeps the ABI",
    ]
  ) assertStringIncludes(good.out, line);
  // Twenty calls show no leak: what the runtime takes for itself is more.
  assertEquals(good.out.includes("malloc memory"), false);
  const bad = await json("verify", await build("loading", ["-DNONE"]));
  assertEquals([bad.code, bad.value.ok], [1, false]);
  assertStringIncludes(JSON.stringify(bad.value.error), "not_conformant");
});

test("mistakes on the command line end with code 2 and say what to type", async () => {
  for (
    const args of [
      ["fly"],
      ["call"],
      ["call", "x.so"],
      ["call", "x.so", "t", "--args", "{"],
      ["inspect"],
      ["inspect", "x", "--wrong"],
      ["new", "x", "--lang", "go"],
      ["verify", "x", "--in-process"],
      ["emit", "x.so", "NoEvent"],
      ["tools", "x.so", "--isolation", "maybe"],
    ]
  ) {
    if (args.includes("--in-process")) continue;
    const { code, err, out } = await run(...args);
    assertEquals([code, out], [2, ""], args.join(" "));
    assert(err.startsWith("error: "), err);
  }
  const { code, value } = await json("inspect", "/no/such.so");
  assertEquals([code, (value.error as Record<string, unknown>).code], [
    1,
    "preflight",
  ]);
  assertEquals((await run("--help")).code, 0);
});

test("header writes the header, new writes a plugin that the hosts understand", async () => {
  const dir = await Deno.makeTempDir();
  try {
    assertEquals((await run("header", `${dir}/h.h`)).code, 0);
    assertStringIncludes(
      await Deno.readTextFile(`${dir}/h.h`),
      "typedef struct PluginApi",
    );
    const { value } = await json("new", `${dir}/my-plugin`, "--lang", "rust");
    assert((value.files as string[]).includes("src/lib.rs"));
    const again = await json("new", `${dir}/my-plugin`, "--lang", "c");
    assertEquals(again.code, 1);
    assertEquals((await json("new", `${dir}/Bad Name`)).code, 1);
    assertEquals((await json("new", `${dir}/a/b/deep`)).code, 0);
    const here = await json("new", ".");
    assertStringIncludes(
      JSON.stringify(here.value.error),
      "does not exist yet",
    );
    const { parseManifest } = await import("@bulkhead/plugins");
    const manifest = parseManifest(
      await Deno.readTextFile(`${dir}/my-plugin/plugin.toml`),
      { directory: "my-plugin" },
    );
    assertEquals([manifest.name, manifest.native?.library, manifest.problems], [
      "my-plugin",
      "libmy_plugin.so",
      [],
    ]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

test("lists stay short, whatever a plugin calls itself", async () => {
  const { out, err } = await run("tools", await build("shapes"));
  const longest = Math.max(
    ...(out + err).split("\n").map((line) => [...line].length),
  );
  assert(longest < 300, `a line has ${longest} characters`);
  assertStringIncludes(out, "xxx…");
});

test("a library may begin with a dash or hold a newline", async () => {
  const dir = await Deno.makeTempDir();
  const odd = `${dir}/-new\nline.so`;
  await Deno.copyFile(await build("01_ok"), odd);
  const { code, out } = await run("inspect", "--", odd);
  assertEquals(code, 0);
  assertStringIncludes(out, "name     -new line\n");
  await Deno.remove(dir, { recursive: true });
});

test("a library that registers nothing is told, a crash says when it was", async () => {
  const { code, out, err } = await run(
    "tools",
    await build("loading", ["-DNOTHING"]),
  );
  assertEquals([code, out], [0, ""]);
  assertEquals(err, "note: loading registers nothing\n");
  const crash = await run("tools", await build("loading", ["-DCTOR=1"]));
  assertEquals(crash.code, 1);
  assertStringIncludes(crash.err, "crashed (SIGSEGV) while it was loaded");
});

test("a command that hangs is named", async () => {
  const { code, err } = await run(
    "command",
    await build("handlers"),
    "slow",
    "--timeout-ms",
    "50",
  );
  assertEquals(code, 1);
  assertStringIncludes(
    err,
    'its command "/slow" did not return within 50 ms; ask again with a longer timeout',
  );
});

test("verify finds what is broken in a plugin that registers the same thing over and over", async () => {
  const noisy = await build("noisy");
  const { code, out, err } = await run("verify", noisy, "--calls", "20");
  assertEquals([code, err], [1, ""]);
  assertStringIncludes(out, 'error   call      tool "crash"');
  assertStringIncludes(out, "not the same at the second load");
  assertEquals(
    (await json("command", noisy, "//x")).value.answer,
    { kind: "message", text: "two slashes" },
  );
});

test("what is left over on the command line is told", async () => {
  for (
    const [words, args] of [
      ['"b.so" is left over', ["inspect", "a.so", "b.so"]],
      ['"b.so" is left over', ["tools", "a.so", "--", "b.so"]],
      ['"b" is left over', ["verify", "a.so", "b", "c"]],
      ['"b" is left over', ["new", "a", "b"]],
      ['"b" is left over', ["header", "a", "b"]],
      ["no event is named", ["emit", "a.so"]],
      ["Cannot read --data", ["emit", "a.so", "Input", "--data", "{"]],
    ] as const
  ) {
    const { code, err } = await run(...args);
    assertEquals([code, err.split("\n").length], [2, 2], err);
    assertStringIncludes(err, words);
  }
});

test("what a tool says stays short on a terminal, and a crash of a handler is a failure", async () => {
  const error = await run(
    "call",
    await build("results"),
    "probe_result",
    "--args",
    '{"kind":"nl"}',
  );
  assertEquals([error.code, error.err], [1, "error: line one line two\n"]);
  const flood = await run(
    "call",
    await build("partials"),
    "flood",
    "--args",
    '{"n":1500}',
  );
  assertEquals(flood.code, 0);
  assert(flood.err.split("\n").length <= 1_002);
  const crash = await json("emit", await build("noisy"), "SessionStart");
  assertEquals([crash.code, crash.value.ok], [1, false]);
  assertStringIncludes(JSON.stringify(crash.value.error), "SIGSEGV");
});
