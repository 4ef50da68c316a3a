/**
 * The host is killed while a tool runs: nothing of the tool may be left (row 27 of the log of symptoms).
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { World } from "../plugins/testing/world.ts";
import { livingProcesses } from "../scripts/_plugin_processes.ts";
import { eventually } from "./support/eventually.ts";
import { pathWithout } from "./support/plugin_cases.ts";
import { hasTool } from "./support/require_tool.ts";

const config = fromFileUrl(new URL("../deno.json", import.meta.url));

/** Waits until the tool has said that it runs. */
async function toolRuns(home: string): Promise<void> {
  await eventually("the tool runs", async () => {
    const on = await Deno.readTextFile(`${home}/data/p/on`).catch(() => "");
    return on !== "";
  });
}

/** Starts a host that calls a tool which never ends, and kills it when the tool runs. */
async function killHost(waits: string, path?: string): Promise<void> {
  await using world = await World.create();
  await world.plugin(
    "p",
    `[[tools]]
name = "t"
command = "sh"
args = ["-c", "echo running > $PLUGIN_DATA_DIR/on; ${waits}"]
`,
  );
  const program = `${world.temp}/host.ts`;
  await Deno.writeTextFile(
    program,
    `import { defaultConfig, loadPlugins } from "@bulkhead/plugins";
const config = defaultConfig();
config.enabled = true;
config.sandbox = "preferred";
config.trust = { enabled: true, default: "always" };
const outcome = await loadPlugins({
  config, home: "${world.home}", workspace: "${world.workspace}",
});
if (outcome.status === "loaded") await outcome.tools[0]?.execute({});
`,
  );
  const host = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", `--config=${config}`, program],
    ...(path === undefined ? {} : { env: { PATH: path } }),
    stdout: "null",
    stderr: "null",
  }).spawn();
  await toolRuns(world.home);
  host.kill("SIGKILL");
  await host.status;
  assertEquals(await livingProcesses(world.workspace), []);
}

Deno.test("no tool is orphaned when the host is killed, with bubblewrap (27)", async () => {
  if (hasTool("bwrap")) await killHost("sleep 3600 & wait");
});

Deno.test({
  name: "no tool is orphaned when the host is killed, with Landlock (27)",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const shadow = await pathWithout("bwrap");
    // Without a PID namespace the tool itself ends; what it has started by itself is found by nobody then.
    await killHost("exec sleep 3600", shadow);
    await Deno.remove(shadow, { recursive: true });
  },
});

Deno.test({
  name: "a closed terminal ends the tool of plugins call, what it started too",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using world = await World.create();
    await world.plugin(
      "p",
      `[[tools]]
name = "t"
command = "sh"
args = ["-c", "echo running > $PLUGIN_DATA_DIR/on; sleep 3600 & wait"]
`,
    );
    await Deno.writeTextFile(
      `${world.home}/config.toml`,
      `[capabilities.plugins]
enabled = true
sandbox = "off"
[capabilities.trust]
enabled = true
default = "always"
`,
    );
    const cli = fromFileUrl(new URL("../plugins/cli.ts", import.meta.url));
    const places = ["--home", world.home, "--workspace", world.workspace];
    const call = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-lock", cli, "call", "p/t", ...places],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await toolRuns(world.home);
    call.kill("SIGHUP");
    assertEquals((await call.status).code, 129);
    assertEquals(await livingProcesses(world.workspace), []);
  },
});
