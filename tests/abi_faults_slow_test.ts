import { AbiError, loadNativePlugin, NativeHost } from "@bulkhead/abi";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { accounts, build, canRun, open, say } from "./_abi.ts";

const ignore = !await canRun();
const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: `abi faults: ${name}`, ignore, fn });

test("a death at any point of a call is told at once and the next call works", async () => {
  await using plugin = await open("lifecycle");
  await using other = await open("01_ok");
  const waiting = other.callTool("probe_wait", {}, { timeoutMs: 60_000 });
  waiting.catch(() => {});
  for (const when of ["execute", "poll", "partial", "destroy"]) {
    for (
      const [how, words] of [
        ["segv", "SIGSEGV"],
        ["exit0", "exit code 0"],
        ["exit3", "exit code 3"],
        ["_exit", "exit code 0"],
        ["term", "SIGTERM"],
        ["closefds", ""],
      ] as const
    ) {
      const error = await assertRejects(
        () => plugin.callTool("do", { how, when }),
        AbiError,
        words,
        `${how} in ${when}`,
      );
      assertEquals(error.code, "crashed", `${how} in ${when}`);
      assertStringIncludes(await say(plugin, "ok"), "pid=");
    }
  }
  const cancelled = plugin.callTool("do", { how: "segv", when: "cancel" }, {
    timeoutMs: 30,
  });
  assertEquals(
    (await assertRejects(() => cancelled, AbiError, "SIGSEGV")).code,
    "crashed",
  );
  assertEquals(
    await say(other, "probe_events"),
    JSON.stringify(Array(37).fill(0)),
  );
});

test("a death between calls is reported and mended before anybody asks", async () => {
  const crashed = Promise.withResolvers<AbiError>();
  await using plugin = await open("lifecycle", { onCrash: crashed.resolve });
  assertEquals(
    await say(plugin, "do", { how: "segv", when: "idle" }),
    "alive segv",
  );
  assertEquals((await crashed.promise).signal, "SIGSEGV");
  assertStringIncludes(await say(plugin, "ok"), "pid=");
});

test("every call in flight learns of a death", async () => {
  await using plugin = await open("lifecycle");
  const others = Array.from(
    { length: 10 },
    () =>
      plugin.callTool("do", { how: "wait", when: "poll" }).catch((error) =>
        error.code
      ),
  );
  await assertRejects(
    () => plugin.callTool("do", { how: "segv", when: "poll" }),
    AbiError,
  );
  assertEquals(new Set(await Promise.all(others)), new Set(["crashed"]));
});

for (const when of ["execute", "poll", "destroy", "partial", "cancel"]) {
  test(`a hang in ${when} costs the caller its deadline and the plugin its process`, async () => {
    const crashed = Promise.withResolvers<AbiError>();
    await using plugin = await open("lifecycle", { onCrash: crashed.resolve });
    const call = plugin.callTool("do", { how: "hang", when }, {
      timeoutMs: 50,
    });
    // A hanging destroy does not take the result away.
    if (when === "destroy") {
      assertEquals((await call).content, [{
        type: "text",
        text: "alive hang",
      }]);
    } else {assertEquals(
        (await assertRejects(() => call, AbiError)).code,
        "timeout",
      );}
    assertEquals((await crashed.promise).code, "wedged");
    assertStringIncludes(await say(plugin, "ok"), "pid=");
  });
}

test("a thread that leaves in the middle of a poll costs its caller the deadline", async () => {
  await using plugin = await open("lifecycle");
  const error = await assertRejects(
    () =>
      plugin.callTool("do", { how: "pthread_exit", when: "poll" }, {
        timeoutMs: 100,
      }),
    AbiError,
  );
  assert(["timeout", "crashed", "wedged"].includes(error.code), error.code);
  assertStringIncludes(await say(plugin, "ok"), "pid=");
});

test("forks and daemons neither confuse the host nor survive the plugin", async () => {
  const before = await count();
  {
    await using plugin = await open("lifecycle");
    for (const how of ["fork", "forkexit", "daemon"]) {
      assertEquals(
        await say(plugin, "do", { how, when: "poll" }),
        `alive ${how}`,
      );
    }
    await assertRejects(
      () => plugin.callTool("do", { how: "segv", when: "poll" }),
      AbiError,
      "SIGSEGV",
    );
    assertStringIncludes(await say(plugin, "ok"), "pid=");
    await say(plugin, "do", { how: "daemon", when: "poll" });
    assert(await count() > before);
  }
  assertEquals(await count(), before);

  /** Processes that hold the library, whoever started them. */
  async function count(): Promise<number> {
    const { stdout } = await new Deno.Command("sh", {
      args: [
        "-c",
        "cat /proc/[0-9]*/maps 2>/dev/null | grep -c 'r-xp.*/lifecycle.so' || true",
      ],
    }).output();
    return Number(new TextDecoder().decode(stdout));
  }
});

test("what a plugin prints is labelled, limited and never taken for an answer; it reads nothing", async () => {
  const lines: string[] = [];
  await using plugin = await open("lifecycle", {
    onOutput: (line) => lines.push(line),
  });
  assertEquals(
    await say(plugin, "do", { how: "print", when: "poll" }),
    "alive print",
  );
  assertEquals(
    await say(plugin, "do", { how: "stdin", when: "poll" }),
    "alive stdin",
  );
  await plugin.close();
  assertEquals(lines[0], '[lifecycle] {"schema":1,"ok":true,"line":0}');
  assert(lines.length < 1_000, `${lines.length}`);
  assert(lines.some((line) => /more lines dropped/.test(line)));
});

test("a host that throws in its own callbacks is told, and the plugin goes on", async () => {
  const told: string[] = [];
  const listen = (event: ErrorEvent) => {
    event.preventDefault();
    told.push(event.error.message);
  };
  addEventListener("error", listen);
  const fail = (what: string) => () => {
    throw new Error(what);
  };
  try {
    await using plugin = await open("lifecycle", {
      onOutput: fail("output"),
      onCrash: fail("crash"),
    });
    // More than a pipe holds: somebody must go on reading.
    const print = { how: "print", when: "poll" };
    assertEquals(await say(plugin, "do", print), "alive print");
    await plugin.callTool("do", { how: "x", when: "partial" }, {
      onUpdate: fail("update"),
    });
    await assertRejects(
      () => plugin.callTool("do", { how: "segv", when: "poll" }),
      AbiError,
    );
    assertStringIncludes(await say(plugin, "ok"), "pid=");
  } finally {
    removeEventListener("error", listen);
  }
  assertEquals([...new Set(told)].sort(), ["crash", "output", "update"]);
});

test("handlers that crash or hang are errors of their caller only", async () => {
  await using host = new NativeHost();
  host.add(await open("lifecycle"));
  host.add(await open("01_ok", {}));
  const [plugin, other] = host.plugins;
  assert(plugin && other);
  const crash = await host.dispatch({
    type: "SessionStart",
    data: { do: "segv" },
  });
  assertEquals(crash.problems.length, 1);
  assertStringIncludes(crash.problems[0] ?? "", "crashed (SIGSEGV)");
  assertEquals(JSON.parse(await say(other, "probe_events"))[2], 1);
  assertEquals(
    (await assertRejects(() => plugin.runCommand("do", "segv"), AbiError)).code,
    "crashed",
  );
  const hang = await assertRejects(
    () => plugin.runCommand("do", "hang", { timeoutMs: 50 }),
    AbiError,
  );
  assertEquals(hang.code, "timeout");
  assertEquals((await accounts(other)).wrong, []);
});

const LOADS: [name: string, flags: string[], code: string, words: string][] = [
  ["a constructor that crashes", ["-DCTOR=1"], "crashed", "SIGSEGV"],
  ["a constructor that exits", ["-DCTOR=2"], "crashed", "exit code 0"],
  [
    "a constructor that hangs",
    ["-DCTOR=3"],
    "start",
    "within 2000 ms",
  ],
  ["a constructor that aborts", ["-DCTOR=4"], "crashed", "SIGABRT"],
  ["a register function that crashes", ["-DREG=1"], "crashed", "SIGSEGV"],
  ["a register function that exits", ["-DREG=2"], "crashed", "exit code 0"],
  [
    "a register function that hangs",
    ["-DREG=3"],
    "start",
    "within 2000 ms",
  ],
  ["a register function that leaves", ["-DREG=5"], "crashed", "exit code 9"],
  [
    "an unresolved symbol",
    ["-DUNRESOLVED"],
    "open",
    "no_such_function_anywhere",
  ],
  [
    "data instead of a function",
    ["-DDATA"],
    "preflight",
    "is data, not a function",
  ],
  [
    "a retired entry point",
    ["-DRETIRED"],
    "preflight",
    '"rpi_plugin_register_v3"',
  ],
  ["the first version's signature", ["-DV1"], "register", "code 17"],
  ["no entry point", ["-DNONE"], "preflight", "does not export"],
];

for (
  const [name, flags, code, words] of LOADS
) {
  test(`${name} is an error of code ${code}`, async () => {
    const path = await build("loading", flags);
    const error = await assertRejects(
      () =>
        loadNativePlugin(path, {
          startTimeoutMs: code === "start" ? 2_000 : 20_000,
        }),
      AbiError,
      words,
    );
    assertEquals(error.code, code);
  });
}

for (
  const [name, flags] of [["crashes", ["-DDTOR=1"]], ["hangs", ["-DDTOR=3"]], [
    "exits",
    ["-DDTOR=2"],
  ]] as const
) {
  test(`a destructor that ${name} is nobody's problem`, async () => {
    const plugin = await open("loading", {}, flags);
    assertEquals(await say(plugin, "ok"), "loaded");
    await plugin.close();
  });
}

test("output of constructors is labelled too", async () => {
  const lines: string[] = [];
  await using _plugin = await open("loading", {
    onOutput: (line) => lines.push(line),
  }, ["-DCTOR=6"]);
  await _plugin.close();
  assertEquals(lines, ["[loading] printed while loading"]);
});

test("a library that was cut is refused before it is opened", async () => {
  const bytes = await Deno.readFile(await build("01_ok"));
  const dir = await Deno.makeTempDir();
  try {
    for (const part of [0, 0.0005, 0.05, 0.3, 0.6, 0.9, 0.999]) {
      const file = `${dir}/cut.so`;
      await Deno.writeFile(
        file,
        bytes.subarray(0, Math.floor(bytes.length * part)),
      );
      const error = await assertRejects(
        () => loadNativePlugin(file),
        AbiError,
        "Cannot load",
      );
      assertEquals(error.code, "preflight", `${part}`);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

test("a library that changed under a crash is not started again", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const file = `${dir}/lib.so`;
    await Deno.copyFile(await build("17_crash"), file);
    await using plugin = await loadNativePlugin(file, {
      restart: { backoffMs: [200] },
    });
    await assertRejects(
      () => plugin.callTool("probe_crash", { how: "segv" }),
      AbiError,
      "SIGSEGV",
    );
    await Deno.remove(file);
    await Deno.copyFile(await build("01_ok"), file);
    await assertRejects(
      () => plugin.callTool("probe_ok"),
      AbiError,
      "pinned is",
    );
    assertEquals(
      (await assertRejects(() => plugin.callTool("probe_ok"), AbiError)).code,
      "disabled",
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

test("calls after the end are refused, calls in flight are told", async () => {
  const plugin = await open("01_ok");
  const waiting = plugin.callTool("probe_wait");
  const told = assertRejects(() => waiting, AbiError, "it was closed");
  // The call is on its way once an answer to a later one came.
  await say(plugin, "probe_events");
  await plugin.close();
  await plugin.close();
  assertEquals((await told).code, "closed");
  assertEquals(
    (await assertRejects(() => plugin.callTool("probe_echo"), AbiError)).code,
    "closed",
  );
});

test("a plugin touches what it was given and nothing else", async () => {
  const dir = await Deno.makeTempDir();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await Deno.writeTextFile(`${dir}/secret`, "secret");
    await Deno.mkdir(`${dir}/given`);
    await Deno.writeTextFile(`${dir}/given/file`, "given");
    await using plugin = await open("confine", {
      permissions: { read: [`${dir}/given`] },
    });
    const touch = (tool: string, path: string) => say(plugin, tool, { path });
    assertEquals(await touch("read", `${dir}/given/file`), "given");
    assertEquals(await touch("read", `${dir}/secret`), "refused");
    assertEquals(await touch("write", `${dir}/given/new`), "refused");
    // Beside it there is only a private, empty directory.
    await touch("write", `${dir}/new`);
    await assertRejects(() => Deno.stat(`${dir}/new`), Deno.errors.NotFound);
    assertEquals(
      await touch(
        "read",
        fromFileUrl(new URL("../deno.json", import.meta.url)),
      ),
      "refused",
    );
    assertEquals(
      await say(plugin, "connect", { path: `${listener.addr.port}` }),
      "refused",
    );
    await using open_ = await open("confine", { isolation: "off" });
    assertEquals(
      await say(open_, "connect", { path: `${listener.addr.port}` }),
      "connected",
    );
    assertEquals(await say(open_, "read", { path: `${dir}/secret` }), "secret");
  } finally {
    listener.close();
    await Deno.remove(dir, { recursive: true });
  }
});

test("a plugin that dies while it is started again gets its further chances", async () => {
  const dir = await Deno.makeTempDir();
  try {
    // Dies in its constructor once, when the file is there.
    await using plugin = await open("confine", {
      permissions: { write: [dir] },
      env: { CONFINE_ONCE: `${dir}/once` },
    });
    await Deno.writeTextFile(`${dir}/once`, "");
    assertEquals(
      (await assertRejects(() => plugin.callTool("die"), AbiError)).code,
      "crashed",
    );
    await assertRejects(() => plugin.callTool("read", { path: "/" }), AbiError);
    let answer = "";
    while (answer === "") {
      answer = await say(plugin, "read", { path: "/nowhere" }).catch(() => "");
    }
    assertEquals(answer, "refused");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

/** What a plugin does to its process, and how its call ends. */
const DEEDS: [how: string, end: RegExp][] = [
  // Nothing of the plugin is lost, and closing it works all the same.
  ["nofile", /^alive/],
  ["chdir", /^alive/],
  ["mask", /^alive/],
  ["setsid", /^alive/],
  ["malloc", /^alive/],
  ["ignore_term", /^alive/],
  ["close_std", /^alive/],
  ["fork_return", /^alive/],
  ["flood", /^alive/],
  ["atexit_crash", /^alive/],
  ["atexit_hang", /^alive/],
  // A second registration is not heard, and the first process of the namespace cannot be killed from inside.
  ["forge", /^alive/],
  ["kill_parent", /^alive/],
  // The process is lost.
  ["garbage", /^protocol/],
  ["shutdown", /^crashed/],
  ["null_socket", /^crashed/],
  ["exec", /^crashed undefined 5/],
  ["kill9", /^crashed SIGKILL/],
  ["kill_group", /^crashed SIGKILL/],
  ["ill", /^crashed SIGILL/],
  ["usr1", /^crashed SIGUSR1/],
  ["mprotect", /^crashed SIGSEGV/],
  ["stop", /^wedged/],
  ["segv_handler", /^timeout/],
];

test("what a plugin does to its own process costs that process at most", async () => {
  await using other = await open("01_ok");
  const before = await say(other, "probe_stats");
  for (const [how, end] of DEEDS) {
    await using plugin = await open("process");
    const patient = !/wedged|timeout/.test(end.source);
    const said = await plugin.callTool("do", { how }, {
      timeoutMs: patient ? 30_000 : 100,
    }).then(
      ({ content: [part] }) => part?.type === "text" ? part.text : "",
      (error) => `${error.code} ${error.signal} ${error.exitCode}`,
    );
    assertMatch(said, end, how);
    // What hangs is stopped a moment later, which may meet the first of these.
    const next = await say(plugin, "ok").catch(() => say(plugin, "ok"));
    assertStringIncludes(next, "pid=", how);
    assertEquals(plugin.registration.tools.length, 3, how);
  }
  const after = JSON.parse(await say(other, "probe_stats"));
  assertEquals(after.total_handles, JSON.parse(before).total_handles + 1);
});

test("a plugin that eats all memory is the first to go", async () => {
  await using plugin = await open("process");
  const said = await say(plugin, "do", { how: "oom" });
  // Landlock lets it write nowhere, there neither.
  if (plugin.isolation === "bubblewrap") assertEquals(said, "alive oom 1000");
});

test("a death that comes of itself, long after the call that caused it, is told", async () => {
  const death = Promise.withResolvers<AbiError>();
  await using plugin = await open("process", { onCrash: death.resolve });
  assertMatch(await say(plugin, "do", { how: "alarm_later" }), /^alive/);
  assertEquals((await death.promise).signal, "SIGALRM");
  assertStringIncludes(await say(plugin, "ok"), "pid=");
});
