import { assertEquals } from "@std/assert";
import { accounts, build, canRun, command, open } from "./_abi.ts";

const ready = await canRun();

/** Fixture, tool, arguments, calls: 10 000 in all for each of the first two. */
const RUNS: [name: string, tool: string, args: unknown, calls: number][] = [
  ["01_ok", "probe_echo", { a: 1 }, 10_000],
  ["15_params", "probe_raw", { text: "x".repeat(1_000) }, 9_000],
  ["15_params", "probe_keep", { text: "y" }, 1_000],
  ["actions", "odd", {}, 500],
  ["partials", "flood", { n: 100 }, 50],
  ["reentry", "outer", {}, 300],
];

Deno.test({
  name: "abi asan: the C plugins stay clean over 10 000 calls",
  ignore: !ready,
  fn: async () => {
    const library = await Deno.realPath(
      (await command(["gcc", "-print-file-name=libasan.so"])).trim(),
    );
    for (const [name, tool, args, calls] of RUNS) {
      const lines: string[] = [];
      await using plugin = await open(name, {
        env: {
          LD_PRELOAD: library,
          ASAN_OPTIONS: "detect_leaks=0:handle_segv=0:abort_on_error=1",
        },
        startTimeoutMs: 60_000,
        restart: { maxRestarts: 0 },
        onOutput: (line) => lines.push(line),
      }, ["-fsanitize=address"]);
      const lanes = Array.from({ length: 4 }, async () => {
        for (let i = 0; i < calls / 4; i++) await plugin.callTool(tool, args);
      });
      await Promise.all(lanes);
      assertEquals((await accounts(plugin)).wrong, [], `${name} ${tool}`);
      const { liveHandles, stringsFreed, stringsReceived } = await plugin
        .stats();
      assertEquals(
        [liveHandles, stringsReceived - stringsFreed],
        [0, 0],
        `${name} ${tool}`,
      );
      assertEquals(lines, [], `${name} ${tool}`);
    }
    await build("01_ok");
  },
});
