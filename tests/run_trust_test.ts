/**
 * What a session relies on is in force, or the session does not begin.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { digestPlugin } from "@bulkhead/plugins";
import {
  bulkhead,
  type Ran,
  type RunWorld,
  withRunWorld,
} from "./support/run_world.ts";

const POLICY =
  `name = "pol"\n[[hooks]]\nevent = "pre_tool"\ncommand = "./deny.sh"\nmatcher = "*"\non_error = "block"\n`;

interface PolicyWorld extends RunWorld {
  /** The plugin's directory. */
  plugin: string;
  /** Its content at first. */
  hash: string;
  /** Starts a session that writes a file. */
  run(...args: string[]): Promise<Ran>;
}

/** A world with a plugin whose hook denies every call, and a session that writes a file. */
async function withPolicy(
  fn: (world: PolicyWorld) => Promise<void>,
): Promise<void> {
  await withRunWorld(async (world) => {
    const plugin = `${world.home}/plugins/pol`;
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.writeTextFile(
      `${world.home}/config.toml`,
      '[capabilities.plugins]\nenabled = true\nsandbox = "preferred"\n[capabilities.trust]\nenabled = true\n',
    );
    await Deno.writeTextFile(`${plugin}/plugin.toml`, POLICY);
    await Deno.writeTextFile(`${plugin}/deny.sh`, "#!/bin/sh\nexit 2\n", {
      mode: 0o755,
    });
    const { hash } = await digestPlugin(plugin);
    const argv = await world.playing([{
      message: [{ tool: "Write", input: { file_path: "a", content: "x" } }],
    }]);
    const run = (...args: string[]) =>
      bulkhead([...argv, ...args, "go"], { env: world.env });
    await fn({ ...world, plugin, hash, run });
  });
}

/** The session is refused: one line on stderr, nothing done, no row left behind. */
async function assertRefused(
  world: PolicyWorld,
  args: readonly string[],
  pattern: RegExp,
  wanted = 1,
): Promise<void> {
  const before = await rows(world);
  const { code, out, err } = await world.run(...args);
  assertEquals(
    [code, err.trimEnd().split("\n").length],
    [wanted, 1],
    err + out,
  );
  assertMatch(err, pattern);
  assertEquals(await Array.fromAsync(Deno.readDir(world.ws)), []);
  assertEquals(await rows(world), before, err);
}

async function rows({ home }: PolicyWorld): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(`${home}/workers`))
    .catch(() => []);
  return entries.filter((entry) => entry.isDirectory).map(({ name }) => name)
    .sort();
}

Deno.test("run: a pin whose plugin has other content, or is not there, ends the session before it begins", async () => {
  await withPolicy(async (world) => {
    const zero = `sha256:${"0".repeat(64)}`;
    const pinned = await world.run("--trust-plugin", `pol=${world.hash}`);
    assertStringIncludes(pinned.out, "denied by plugin pol");
    await assertRefused(
      world,
      ["--trust-plugin", `pol=${zero}`],
      /--trust-plugin "pol=sha256:0+".*is sha256:[0-9a-f]{64}.*plugins check/,
    );
    await assertRefused(
      world,
      ["--trust-plugin", `typo=${zero}`],
      /"typo=sha256:0+": there is no plugin of this name/,
    );
    await assertRefused(
      world,
      ["--trust-plugin", "pol"],
      /64 hex digits/,
      2,
    );
  });
});

Deno.test("run: a trusted plugin whose blocking hook changed, broke or vanished refuses the session", async () => {
  await withPolicy(async (world) => {
    const place = ["--home", world.home];
    const pin = ["--trust-plugin", `pol=${world.hash}`];
    const trusted = await bulkhead([
      "plugins",
      "trust",
      "pol",
      ...pin,
      ...place,
    ]);
    assertEquals(trusted.code, 0, trusted.err);
    assertStringIncludes((await world.run()).out, "denied by plugin pol");
    await Deno.writeTextFile(`${world.plugin}/deny.sh`, "#!/bin/sh\nexit 0\n");
    const fix =
      /policy of plugin "pol".*not in force.*plugins trust pol.*update pol/;
    await assertRefused(world, [], fix);
    await Deno.writeTextFile(`${world.plugin}/plugin.toml`, "[[");
    await assertRefused(world, [], fix);
    await Deno.remove(world.plugin, { recursive: true });
    await assertRefused(world, [], fix);
    const forgotten = await bulkhead(["plugins", "untrust", "pol", ...place]);
    assertEquals(forgotten.code, 0, forgotten.err);
    assertEquals((await world.run()).code, 0);
    assertEquals((await Deno.stat(`${world.ws}/a`)).isFile, true);
  });
});

Deno.test("run: a trust store that cannot be read refuses a session that a blocking hook may belong to", async () => {
  await withPolicy(async (world) => {
    await Deno.writeTextFile(`${world.home}/trust.json`, "{");
    await assertRefused(
      world,
      [],
      /policy of plugin "pol" may not be in force.*trust\.json.*plugins doctor/,
    );
  });
});

Deno.test("run: a closed gate is told with the usual remedy", async () => {
  await withPolicy(async (world) => {
    const config = `${world.home}/config.toml`;
    const { out: waiting } = await world.run();
    assertMatch(
      waiting,
      /plugin "pol" is not trusted.*plugins trust pol/,
    );
    const text = await Deno.readTextFile(config);
    await Deno.writeTextFile(config, `${text}default = "never"\n`);
    const { out } = await world.run();
    assertMatch(
      out,
      /no plugin was loaded\n.*default = "ask".*plugins trust\n/,
    );
  });
});

Deno.test("run: --plugin-dir holds plugin directories; a plugin itself and nothing at all are told", async () => {
  await withPolicy(async (world) => {
    const rows: [string, RegExp][] = [
      [world.plugin, /is itself a plugin.*--plugin-dir ".*\/home\/plugins"/],
      [`${world.dir}/none`, /there is no such directory.*holds plugin dir/],
      [`${world.plugin}/deny.sh`, /it is not a directory/],
    ];
    for (const [dir, pattern] of rows) {
      await assertRefused(world, ["--plugin-dir", dir], pattern);
    }
  });
});
