import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { resultText, type ToolResult } from "@bulkhead/plugins";
import { exists, script, World } from "./testing/world.ts";

const MANIFEST = `
name = "demo"
[[tools]]
name = "say"
command = "echo"
args = ["hello-plugin"]
[[tools]]
name = "cat"
command = "cat"
[[tools]]
name = "hang"
command = "sh"
args = ["-c", "echo partial; sleep 3600"]
timeout_ms = 5000
[[tools]]
name = "flood"
command = "sh"
args = ["-c", "head -c 2097152 /dev/zero | tr '\\\\0' a"]
`;

// Twins of the seed's tests.

Deno.test("execute() runs the command and answers with its output", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__say");
  const result = await tool.execute({});
  assertEquals(resultText(result), "hello-plugin\n");
  assertEquals(result.isError, undefined);
  assertEquals(result.details?.exitCode, 0);
});

Deno.test("execute() never splices arguments into a shell line", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__cat", {
    workspaceAccess: "write",
  });
  const marker = `${world.workspace}/PWNED`;
  const result = await tool.execute({ payload: `$(touch ${marker})` });
  assertStringIncludes(resultText(result), "touch");
  assertEquals(await exists(marker), false);
});

Deno.test("execute() bounds the output and marks it as truncated", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__flood");
  const result = await tool.execute({});
  assert(
    resultText(result).endsWith(
      "a\n[plugin output truncated at 1048576 bytes]",
    ),
  );
  assert(resultText(result).length < 1_100_000);
  assertEquals(result.details?.truncated, { stdout: true, stderr: false });
});

Deno.test("execute() ends at the deadline, says so and keeps what came before", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__hang");
  const result = await tool.execute({});
  assertEquals(result.isError, true);
  assertEquals(
    resultText(result),
    "partial\n\nplugin tool `plugin__demo__hang` timed out after 5s",
  );
  assertEquals(result.details?.timedOut, true);
});

Deno.test("execute() leaves no grandchild behind", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    '[[tools]]\nname = "spawns"\ncommand = "./spawn_worker.sh"\ntimeout_ms = 5000\n',
    {
      "spawn_worker.sh": script(
        'sleep 3600 &\necho $! > "$WORKSPACE_DIR/worker.pid"\nwait',
      ),
    },
  );
  world.sandbox = "off";
  const tool = await world.tool("plugin__demo__spawns", {
    workspaceAccess: "write",
  });
  await tool.execute({});
  const pid = Number(
    await Deno.readTextFile(`${world.workspace}/worker.pid`),
  );
  assert(pid > 1);
  // Gone, or a zombie where nobody collects orphans.
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => ") Z");
  assertEquals(stat.slice(stat.lastIndexOf(")") + 2)[0], "Z");
});

// Beyond the seed.

Deno.test("execute() is bounded by the tighter of two deadlines", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__hang");
  const result = await tool.execute({}, { timeoutMs: 150 });
  assertStringIncludes(resultText(result), "timed out after 150ms");
});

Deno.test("execute() is cancelled by a signal, before and during the run", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST.replace("5000", "60000"));
  const tool = await world.tool("plugin__demo__hang");
  const before = await tool.execute({}, { signal: AbortSignal.abort() });
  assertEquals(before.details?.aborted, true);
  assertEquals(before.isError, true);
  const controller = new AbortController();
  const during = await tool.execute({}, {
    signal: controller.signal,
    onUpdate: () => controller.abort(),
  });
  assertEquals(
    resultText(during),
    "partial\n\nplugin tool `plugin__demo__hang` was cancelled",
  );
});

Deno.test("execute() reports progress", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    '[[tools]]\nname = "t"\ncommand = "sh"\nargs = ["-c", "echo one; sleep 0.3; echo two"]\n',
  );
  const tool = await world.tool("plugin__demo__t");
  const updates: ToolResult[] = [];
  await tool.execute({}, { onUpdate: (partial) => updates.push(partial) });
  assertEquals(updates.map(resultText), ["one\n", "one\ntwo\n"]);
});

Deno.test("execute() answers with an error for arguments of any kind, and throws for none", async () => {
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  const tool = await world.tool("plugin__demo__cat");
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  for (const args of ["text", 5, [1], true, circular, { n: 1n }]) {
    const result = await tool.execute(args);
    assertEquals(result.isError, true);
    assertStringIncludes(resultText(result), "invalid arguments for");
  }
  for (const args of [undefined, null, {}, new Date(0) && {}]) {
    assertEquals(resultText(await tool.execute(args)), "{}");
  }
});

Deno.test("execute() refuses to run when the sandbox is required and there is none", async () => {
  // Whether there is one depends on the system, so only the words are checked, where the refusal can be had.
  await using world = await World.create();
  await world.plugin("demo", MANIFEST);
  world.sandbox = "required";
  const tool = await world.tool("plugin__demo__say");
  const result = await tool.execute({});
  if (result.details === undefined) {
    assertStringIncludes(resultText(result), "Cannot confine");
  } else assert(result.details.isolation !== "none");
});

Deno.test("execute() grants declared paths and nothing else", async () => {
  await using world = await World.create();
  await Deno.writeTextFile(`${world.temp}/open`, "OPEN");
  await Deno.writeTextFile(`${world.temp}/secret`, "SECRET");
  await Deno.writeTextFile(`${world.workspace}/file`, "WORKSPACE");
  await world.plugin(
    "demo",
    `[[tools]]
name = "t"
command = "sh"
args = ["-c", "cat ${world.temp}/open ${world.temp}/secret file; echo x > own; echo y > $PLUGIN_DATA_DIR/data && cat $PLUGIN_DATA_DIR/data; cat $PLUGIN_DIR/plugin.toml | head -1"]
permissions = { read = ["${world.temp}/open"] }
`,
  );
  const tool = await world.tool("plugin__demo__t");
  const result = await tool.execute({});
  if (result.details?.isolation === "none") return;
  const text = resultText(result);
  assertStringIncludes(text, "OPEN");
  assertStringIncludes(text, "y\n[[tools]]");
  assert(!text.includes("SECRET"));
  assert(!text.includes("WORKSPACE"));
  assertEquals(await exists(`${world.workspace}/own`), false);
});

Deno.test("execute() of a Deno tool works when deno lies under the home, as from npx", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    '[[tools]]\nname = "t"\nruntime = "deno"\nmodule = "t.ts"\n',
    { "t.ts": 'console.log("ran", Deno.execPath());' },
  );
  const home = `${world.temp}/me`;
  const bin = `${home}/.npm/_npx/0123/node_modules/deno/bin`;
  await Deno.mkdir(bin, { recursive: true });
  try {
    await Deno.link(Deno.execPath(), `${bin}/deno`);
  } catch {
    await Deno.copyFile(Deno.execPath(), `${bin}/deno`);
  }
  const program = `
    import { defaultConfig, loadPlugins, resultText } from "@bulkhead/plugins";
    const config = defaultConfig();
    config.enabled = true;
    config.sandbox = "preferred";
    config.trust = { enabled: true, default: "always" };
    const outcome = await loadPlugins({
      config, home: "${world.home}", workspace: "${world.workspace}",
    });
    console.log(resultText(await outcome.tools[0].execute({})));`;
  const file = `${world.temp}/main.ts`;
  await Deno.writeTextFile(file, program);
  const config = fromFileUrl(new URL("../deno.json", import.meta.url));
  const output = await new Deno.Command(`${bin}/deno`, {
    args: ["run", "-A", "--no-lock", `--config=${config}`, file],
    env: { HOME: home, DENO_DIR: await denoDir() },
  }).output();
  const text = new TextDecoder().decode(output.stdout);
  assertStringIncludes(
    text,
    `ran ${bin}/deno`,
    new TextDecoder().decode(output.stderr),
  );
});

Deno.test("execute() finds what changed since the plugin was loaded, however small", async () => {
  await using world = await World.create();
  const dir = await world.plugin("demo", MANIFEST, { "x.sh": "A" });
  const tool = await world.tool("plugin__demo__say");
  assertEquals((await tool.execute({})).isError, undefined);
  // Same size, and the time put back.
  const { mtime } = await Deno.stat(`${dir}/x.sh`);
  await Deno.writeTextFile(`${dir}/x.sh`, "B");
  await Deno.utime(`${dir}/x.sh`, mtime ?? 0, mtime ?? 0);
  const result = await tool.execute({});
  assertEquals(result.isError, true);
  assertStringIncludes(resultText(result), "is not the one that was trusted");
  await Deno.writeTextFile(`${dir}/x.sh`, "A");
  assertEquals((await tool.execute({})).isError, undefined);
});

async function denoDir(): Promise<string> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
  }).output();
  const info: { denoDir: string } = JSON.parse(
    new TextDecoder().decode(output.stdout),
  );
  return info.denoDir;
}

Deno.test("execute() withholds the answer when the content was swapped and put back while it ran", async () => {
  await using world = await World.create();
  const dir = await world.plugin(
    "demo",
    '[[tools]]\nname = "t"\ncommand = "./t.sh"\n',
    { "t.sh": script("echo started; sleep 0.2; echo SECOND"), "x": "A" },
  );
  const tool = await world.tool("plugin__demo__t");
  const result = await tool.execute({}, {
    onUpdate: () => {
      Deno.renameSync(`${dir}/x`, `${dir}/y`);
      Deno.writeTextFileSync(`${dir}/x`, "A");
      Deno.removeSync(`${dir}/y`);
    },
  });
  assertEquals(result.isError, true);
  assertStringIncludes(resultText(result), "changed while it ran");
  assert(!resultText(result).includes("SECOND"));
});

Deno.test("execute() of a Deno tool works whatever stands in its path", async () => {
  await using world = await World.create();
  await world.plugin(
    "100% # ? ü",
    'name = "p"\n[[tools]]\nname = "t"\nruntime = "deno"\nmodule = "50%25 a#b?.ts"\n',
    {
      "50%25 a#b?.ts": 'import { word } from "./lib.ts";\nconsole.log(word);\n',
      "lib.ts": 'export const word = "found";\n',
    },
  );
  const tool = await world.tool("plugin__p__t");
  assertEquals(resultText(await tool.execute({})), "found\n");
});
