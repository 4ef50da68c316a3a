/** The tools of a native library on the command line of plugins: called and served like any other. */
import { digestPlugin } from "@bulkhead/plugins";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { bulkheadCommand } from "../cli/main.ts";
import { build, canRun } from "./_abi.ts";

const ignore = !await canRun();

interface World {
  home: string;
  pin: string;
}

async function withPlugin(fn: (world: World) => Promise<void>): Promise<void> {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
  const plugin = `${home}/plugins/probe`;
  try {
    await Deno.mkdir(plugin, { recursive: true });
    await Deno.copyFile(await build("01_ok"), `${plugin}/libprobe.so`);
    await Deno.writeTextFile(
      `${plugin}/plugin.toml`,
      '[native]\nlibrary = "libprobe.so"\n',
    );
    await Deno.writeTextFile(
      `${home}/config.toml`,
      "[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\n",
    );
    await fn({ home, pin: `probe=${(await digestPlugin(plugin)).hash}` });
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Runs `plugins`; its input stays open until `until` was printed. */
async function plugins(
  { home, pin }: World,
  verb: string[],
  input = "",
  until = "",
): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const enough = Promise.withResolvers<void>();
  const say = (text: string) => {
    out += text;
    if (out.includes(until)) enough.resolve();
  };
  if (until === "") enough.resolve();
  const stdin = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(input));
      await enough.promise;
      controller.close();
    },
  });
  const decoder = new TextDecoder();
  const io = {
    stdin,
    stdout: new WritableStream<Uint8Array>({
      write: (bytes) => say(decoder.decode(bytes, { stream: true })),
    }),
    out: say,
    err: (text: string) => void (err += text),
    isTerminal: false,
    canAsk: false,
    color: false,
  };
  const code = await bulkheadCommand(
    ["plugins", ...verb, "--home", home, "--trust-plugin", pin],
    io,
  );
  return { code, out, err };
}

Deno.test({
  name:
    "abi served: plugins list names the library, plugins call reaches its tools by both names",
  ignore,
  fn: () =>
    withPlugin(async (world) => {
      const listed = await plugins(world, ["list"]);
      assertStringIncludes(listed.out, "native library: libprobe.so");
      for (const name of ["probe/probe_echo", "plugin__probe__probe_echo"]) {
        const { code, out, err } = await plugins(world, [
          "call",
          name,
          "--args",
          '{"a":12345678901234567890}',
        ]);
        assertEquals([code, err.includes("error")], [0, false], err);
        assertStringIncludes(out, 'params={"a":12345678901234567890,');
      }
      const failed = await plugins(world, ["call", "probe/probe_fail"]);
      assertEquals([failed.code, failed.err.includes("planned failure ✗")], [
        1,
        true,
      ]);
    }),
});

Deno.test({
  name: "abi served: plugins serve offers them over MCP",
  ignore,
  fn: () =>
    withPlugin(async (world) => {
      const requests = [
        {
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-06-18",
            capabilities: {},
            clientInfo: { name: "test", version: "1" },
          },
        },
        { method: "notifications/initialized" },
        { id: 2, method: "tools/list" },
        {
          id: 3,
          method: "tools/call",
          params: { name: "plugin__probe__probe_echo", arguments: { a: "N" } },
        },
      ];
      const lines = requests.map((request) =>
        JSON.stringify({ jsonrpc: "2.0", ...request })
          .replace('"N"', "12345678901234567890") + "\n"
      );
      const { code, out, err } = await plugins(
        world,
        ["serve"],
        lines.join(""),
        '"id":3',
      );
      assertEquals(code, 0, err);
      const answers = out.trim().split("\n").map((line) => JSON.parse(line));
      const names = answers.find(({ id }) => id === 2)?.result.tools.map((
        { name }: { name: string },
      ) => name);
      assertEquals(names?.length, 5);
      const { content } = answers.find(({ id }) => id === 3)?.result ?? {};
      assertStringIncludes(
        content?.[0]?.text,
        'params={"a":12345678901234567890,',
      );
    }),
});
