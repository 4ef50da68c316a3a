import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  BLOCKED_NOTICE,
  defaultConfig,
  loadPlugins,
  registerPlugins,
  ToolRegistry,
} from "@bulkhead/plugins";
import { printable } from "./_text.ts";
import { World } from "./testing/world.ts";

const ECHO = '[[tools]]\nname = "t"\ncommand = "echo"\n';

// Twins of the seed's tests.

Deno.test("loadPlugins() is disabled when plugins are off and touches nothing", async () => {
  const outcome = await loadPlugins({
    config: defaultConfig(),
    home: "/no/such/home",
    workspace: "/no/such/workspace",
  });
  assertEquals(outcome, { status: "disabled" });
});

Deno.test("loadPlugins() is blocked pending trust when nobody can be asked", async () => {
  await using world = await World.create();
  await world.plugin("demo", ECHO);
  const outcome = await world.outcome({ ask: true });
  assert(outcome.status === "blocked_pending_trust");
  assertEquals(outcome.notice, BLOCKED_NOTICE);
  assertEquals(outcome.refused.map((plugin) => plugin.name), ["demo"]);
});

Deno.test("loadPlugins() says that there is no plugin when nobody could be asked about none", async () => {
  await using world = await World.create();
  const outcome = await world.outcome({ ask: true });
  assertEquals(outcome, {
    status: "blocked_pending_trust",
    notice:
      `[capabilities.plugins] is enabled and there is no plugin in "${world.plugins}"`,
    refused: [],
    warnings: [],
  });
  assertEquals((await world.load({ ask: true, trust: () => "no" })).tools, []);
});

Deno.test("loadPlugins() is blocked when trust itself is off", async () => {
  await using world = await World.create();
  await world.plugin("demo", ECHO);
  const config = defaultConfig();
  config.enabled = true;
  config.trust = { enabled: false, default: "always" };
  const outcome = await world.outcome({ config });
  assertEquals(outcome.status, "blocked_pending_trust");
});

Deno.test("loadPlugins() loads tools from a trusted configured directory", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    'name = "demo"\n\n[[tools]]\nname = "echo_it"\ncommand = "echo"\n',
  );
  const config = defaultConfig();
  config.enabled = true;
  config.dirs = [world.plugins];
  config.trust = { enabled: true, default: "always" };
  const outcome = await world.load({ config, home: `${world.root}/other` });
  assertEquals(outcome.plugins.map((plugin) => plugin.name), ["demo"]);
  assertEquals(outcome.tools.map((tool) => tool.name), [
    "plugin__demo__echo_it",
  ]);
});

Deno.test("loadPlugins() records a warning for an unparseable manifest without failing the others", async () => {
  await using world = await World.create();
  await world.plugin("bad", "not valid toml [[[");
  await world.plugin("good", `name = "good"\n${ECHO}`);
  const outcome = await world.load();
  assertEquals(outcome.tools.length, 1);
  assertEquals(outcome.warnings.length, 1);
  assertStringIncludes(
    outcome.warnings[0] ?? "",
    `plugin \`bad\` (${world.plugins}/bad/plugin.toml): parsing manifest: line 1: `,
  );
});

Deno.test("registerPlugins() does nothing and says nothing when plugins are off", () => {
  const registry = new ToolRegistry();
  assertEquals(registerPlugins({ status: "disabled" }, registry), []);
  assertEquals(registry.size, 0);
});

Deno.test("registerPlugins() registers nothing when untrusted and says the one line", async () => {
  await using world = await World.create();
  await world.plugin("demo", ECHO);
  const config = defaultConfig();
  config.enabled = true;
  config.trust = { enabled: true, default: "never" };
  const registry = new ToolRegistry();
  const lines = registerPlugins(await world.outcome({ config }), registry);
  assertEquals(registry.size, 0);
  assertEquals(lines, [
    'warning: [capabilities.plugins] is enabled but this workspace is not trusted ([capabilities.trust] default must be "always") — no plugin was loaded',
  ]);
});

Deno.test("registerPlugins() says in one line which plugins wait and what to do", async () => {
  await using world = await World.create();
  for (const name of ["a", "b"]) await world.plugin(name, ECHO);
  const said = async () =>
    registerPlugins(await world.outcome({ ask: true }), new ToolRegistry());
  assertEquals(await said(), [
    'warning: 2 plugins are not trusted: "a", "b"; bulkhead plugins trust a b',
  ]);
  await world.outcome({
    ask: true,
    trust: ({ name }) => name === "b" ? "always" : "no",
  });
  await Deno.writeTextFile(`${world.plugins}/b/x`, "");
  assertEquals(
    (await said())[0],
    'warning: 2 plugins are not trusted: "a", "b" (changed since); bulkhead plugins trust a b',
  );
  for (let index = 0; index < 20; index++) {
    await world.plugin(`p${index}`, ECHO);
  }
  const [line = "", ...more] = await said();
  assertEquals(more, []);
  assert(line.length < 250, line);
  assertStringIncludes(line, "and 14 more; bulkhead plugins trust");
  for await (const { name } of Deno.readDir(world.plugins)) {
    if (name !== "a") {
      await Deno.remove(`${world.plugins}/${name}`, { recursive: true });
    }
  }
  const [one = ""] = await said();
  assertStringIncludes(
    one,
    'plugin "a" is not trusted: bulkhead plugins trust a, or --trust-plugin "a=sha256:',
  );
});

Deno.test("registerPlugins() registers trusted tools", async () => {
  await using world = await World.create();
  await world.plugin("demo", `name = "demo"\n${ECHO}`);
  const registry = new ToolRegistry();
  assertEquals(registerPlugins(await world.load(), registry), []);
  assertEquals(registry.size, 1);
  assert(registry.get("plugin__demo__t") !== undefined);
});

// Beyond the seed.

Deno.test("loadPlugins() names who holds a name that is taken or reserved", async () => {
  await using world = await World.create();
  await world.plugin("one", `name = "same"\n${ECHO}`);
  await world.plugin("two", `name = "same"\n${ECHO}`);
  const outcome = await world.load();
  assertEquals(outcome.tools.map((tool) => tool.source.dir), [
    `${world.plugins}/one`,
  ]);
  assertStringIncludes(
    outcome.warnings.join("\n"),
    'tool "t" of plugin "same" skipped: the name "plugin__same__t" is taken by tool "t" of plugin "same"',
  );
  const reserved = await world.load({ reserved: ["plugin__same__t"] });
  assertEquals(reserved.tools, []);
  assertStringIncludes(reserved.warnings.join("\n"), "reserved");
});

Deno.test("loadPlugins() gives data to the plugin that lives in the directory of its name", async () => {
  await using world = await World.create();
  await world.plugin("a-thief", 'name = "weather"\n');
  await world.plugin("weather", 'name = "weather"\n');
  await world.plugin("evil", 'name = "../../evil"\n');
  const { plugins } = await world.load();
  const data = plugins.map((plugin) => plugin.dataDir);
  assertEquals(data[2], `${world.home}/data/weather`);
  assert(data[0]?.startsWith(`${world.home}/data/weather_a-thief_`));
  assert(/^[^/]*$/.test(data[1]?.slice(`${world.home}/data/`.length) ?? "/"));
});

Deno.test("loadPlugins() offers the native library of a plugin for the umbrella to load", async () => {
  await using world = await World.create();
  await world.plugin("n", '[native]\nlibrary = "./lib/x.so"\n', {
    "lib/x.so": "ELF",
  });
  await world.plugin("m", '[native]\nlibrary = "none.so"\n');
  const { plugins, warnings } = await world.load();
  assertEquals(plugins[1]?.native, {
    library: `${world.plugins}/n/lib/x.so`,
  });
  assertEquals(plugins[0]?.native, undefined);
  assertStringIncludes(warnings.join("\n"), "none.so");
});

Deno.test("registerPlugins() says that the sandbox is off", async () => {
  await using world = await World.create();
  world.sandbox = "off";
  assertEquals((await world.load()).notices, []);
  await world.plugin("demo", ECHO);
  const lines = registerPlugins(await world.load(), new ToolRegistry());
  assertEquals(lines, [
    'warning: plugins run with all of your rights: sandbox = "off" in [capabilities.plugins]',
  ]);
});

Deno.test("loadPlugins() hands out tools that know where they come from", async () => {
  await using world = await World.create();
  await world.plugin(
    "demo",
    'version = "2.1.0"\n[[tools]]\nname = "t"\ncommand = "echo"\ndescription = "Says"\nannotations = { title = "Say", readOnlyHint = true }\n',
  );
  const outcome = await world.load();
  const [tool] = outcome.tools;
  assertEquals(tool?.title, "Say");
  assertEquals(tool?.description, "Says");
  assertEquals(tool?.annotations, { title: "Say", readOnlyHint: true });
  assertEquals(tool?.source, {
    plugin: "demo",
    tool: "t",
    version: "2.1.0",
    hash: outcome.plugins[0]?.hash ?? "",
    dir: `${world.plugins}/demo`,
  });
});

Deno.test("loadPlugins() says nothing that could move or hide a line of the terminal", async () => {
  await using world = await World.create();
  const evil = "\\u001b[2J\\u202e\\nx";
  const hostile = `name = "n${evil}"
"k${evil}" = 1
[[tools]]
name = "t${evil}"
command = "no-${evil}"
args = ["\${X${evil}}"]
[[tools]]
name = "u${evil}"
command = "no-${evil}"
params = { type = "object", properties = { "p${evil}" = { type = "str${evil}" } } }
[[tools]]
name = "v${evil}"
command = "no-${evil}"
env = ["e${evil}"]
permissions = { "q${evil}" = 1 }
[[hooks]]
event = "e${evil}"
command = "./h${evil}"
matcher = "(${evil}"
on_error = "o${evil}"
[native]
library = "l${evil}"
`;
  for (const name of ["a", "b", "c\u001b[1A"]) {
    await world.plugin(name, hostile);
  }
  await world.plugin("d\u202e", "= \u001b");
  const loaded = await world.load();
  const blocked = await world.outcome({ ask: true });
  const registry = new ToolRegistry();
  const lines = [
    ...registerPlugins(loaded, registry),
    ...registerPlugins(loaded, registry),
    ...registerPlugins(blocked, new ToolRegistry()),
  ];
  assert(lines.length > 20, lines.join("\n"));
  assert(lines.some((line) => line.includes("taken by")));
  for (const line of lines) assertEquals(line, printable(line));
});
