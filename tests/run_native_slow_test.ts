import { assertEquals, assertStringIncludes } from "@std/assert";
import { digestPlugin } from "@bulkhead/plugins";
import { build, canRun } from "./_abi.ts";
import { allEnded } from "./support/processes.ts";
import { bulkhead, type Ran, withRunWorld } from "./support/run_world.ts";

const ignore = !await canRun();

interface World {
  dir: string;
  plugin: string;
  run(steps: unknown[], ...args: string[]): Promise<Ran>;
}

/** A plugin directory with one native library, trusted by its content. */
async function withNative(
  library: string,
  fn: (world: World) => Promise<void>,
): Promise<void> {
  await withRunWorld(async ({ dir, env, playing }) => {
    const plugin = `${dir}/plugins/probe`;
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.copyFile(await build(library), `${plugin}/libprobe.so`);
    await Deno.writeTextFile(
      `${plugin}/plugin.toml`,
      `name = "probe"\n\n[native]\nlibrary = "libprobe.so"\n`,
    );
    const { hash } = await digestPlugin(plugin);
    await fn({
      dir,
      plugin,
      run: async (steps, ...args) =>
        await bulkhead([
          ...await playing(steps),
          "--plugin-dir",
          `${dir}/plugins`,
          ...args.length > 0 ? args : ["--trust-plugin", `probe=${hash}`],
          "go",
        ], { env }),
    });
    await allEnded(dir);
  });
}

const call = (tool: string, input: unknown) => ({
  message: [{ tool: `mcp__bulkhead__plugin__probe__${tool}`, input }],
});

Deno.test({
  name:
    "run: a trusted plugin's library answers the agent, beside what it fails at",
  ignore,
  async fn() {
    await withNative("01_ok", async ({ run }) => {
      const { code, out, err } = await run([
        call("probe_echo", { city: "Rome" }),
        { say: "heard: ${last}" },
        call("probe_fail", {}),
        { say: "then: ${last}" },
      ]);
      assertEquals(code, 0, out + err);
      assertStringIncludes(out, "probe__probe_echo");
      assertStringIncludes(out, 'params={"city":"Rome",');
      assertStringIncludes(out, "then: planned failure ✗");
    });
  },
});

Deno.test({
  name: "run: a library that nobody trusted is not opened",
  ignore,
  async fn() {
    await withNative("01_ok", async ({ run }) => {
      const { code, out, err } = await run(
        [call("probe_echo", {}), { say: "heard: ${last}" }],
        "--trust-plugin",
        `probe=sha256:${"0".repeat(64)}`,
      );
      assertEquals([code, out], [1, ""], err);
      assertStringIncludes(err, '"probe=sha256:');
    });
  },
});

Deno.test({
  name: "run: one changed byte of the plugin refuses the library's next call",
  ignore,
  async fn() {
    await withNative("01_ok", async ({ plugin, run }) => {
      // The agent's own shell stands for whoever changes it.
      const { code, out } = await run(
        [
          call("probe_echo", { n: 1 }),
          { say: "first: ${last}" },
          {
            message: [{
              tool: "Bash",
              input: { command: `printf x >> ${plugin}/libprobe.so` },
            }],
          },
          call("probe_echo", { n: 2 }),
          { say: "second: ${last}" },
        ],
        "--trust-plugin",
        `probe=${(await digestPlugin(plugin)).hash}`,
        "--no-guard",
        "--approve",
      );
      assertEquals(code, 0, out);
      assertStringIncludes(out, 'params={"n":1,');
      assertEquals(out.includes('params={"n":2,'), false);
      assertStringIncludes(out.slice(out.indexOf("second: ")), "changed");
    });
  },
});

Deno.test({
  name:
    "run: a library that crashes fails its call and not the session; the next call has a new process",
  ignore,
  async fn() {
    await withNative("17_crash", async ({ run }) => {
      const { code, out, err } = await run([
        call("probe_crash", { how: "segv" }),
        { say: "first: ${last}" },
        call("probe_ok", {}),
        { say: "second: ${last}" },
      ]);
      assertEquals(code, 0, out + err);
      assertStringIncludes(out, "first: ");
      assertStringIncludes(out, "SIGSEGV");
      assertStringIncludes(out, "second: alive pid=");
      assertStringIncludes(out, "outcome       completed");
    });
  },
});

Deno.test({
  name: "run: a library that is none is one line, and the session goes on",
  ignore,
  async fn() {
    await withNative("01_ok", async ({ plugin, run }) => {
      await Deno.writeTextFile(`${plugin}/libprobe.so`, "not a library");
      const { hash } = await digestPlugin(plugin);
      const { code, out } = await run(
        [{ say: "went on" }],
        "--trust-plugin",
        `probe=${hash}`,
      );
      assertEquals(code, 0, out);
      assertStringIncludes(out, 'native plugin "probe": ');
      assertStringIncludes(out, "went on");
    });
  },
});
