/** Each example runs as the command in its head says. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { digestPlugin } from "@bulkhead/plugins";
import { canRun } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";
import { withDir } from "./support/with_dir.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const BULKHEAD = ["run", "-A", `${ROOT}cli/main.ts`];

async function deno(
  args: readonly string[],
  cwd = ROOT,
): Promise<{ code: number; out: string; err: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test("examples: every one is run here", async () => {
  const names = (await Array.fromAsync(
    Deno.readDir(`${ROOT}examples`),
    ({ name }) => name,
  )).filter((name) => !name.startsWith("_")).toSorted();
  assertEquals(names, [
    "ai_sdk.ts",
    "guard_library.ts",
    "native_tool.ts",
    "worker_client.ts",
  ]);
});

for (const name of ["ai_sdk.ts", "native_tool.ts"]) {
  Deno.test(`examples: ${name} without arguments says which it takes`, async () => {
    const { code, out, err } = await deno(["run", "-A", `examples/${name}`]);
    assertEquals([code, out], [2, ""]);
    assertEquals(err.trimEnd().split("\n").length, 1, err);
    assertStringIncludes(err, `usage: ${name}`);
  });
}

Deno.test("examples: ai_sdk.ts hands a new plugin's tool to a model", async () => {
  await withDir(async (dir) => {
    const made = await deno([
      ...BULKHEAD,
      "plugins",
      "new",
      `${dir}/greeter`,
      "--language",
      "shell",
    ]);
    assertEquals(made.code, 0, made.err);
    const { hash } = await digestPlugin(`${dir}/greeter`);
    const { code, out, err } = await deno([
      "run",
      "-A",
      "examples/ai_sdk.ts",
      dir,
      `greeter=${hash}`,
    ]);
    assertEquals(code, 0, out + err);
    assertStringIncludes(out, "The tool said ");
    assertStringIncludes(out, "Ada");
    const wrong = await deno([
      "run",
      "-A",
      "examples/ai_sdk.ts",
      dir,
      `greeter=sha256:${"0".repeat(64)}`,
    ]);
    assertEquals(wrong.code, 1);
    assertStringIncludes(wrong.err, "blocked_pending_trust");
  });
});

Deno.test("examples: guard_library.ts judges with leave to read and nothing else", async () => {
  const { code, out, err } = await deno([
    "run",
    "--no-prompt",
    "--allow-read",
    "examples/guard_library.ts",
  ]);
  assertEquals([code, err], [0, ""]);
  const verdicts = out.split("\n").flatMap((line) =>
    /^(allow|deny) /.exec(line)?.[1] ?? []
  );
  assertEquals(verdicts, ["allow", "deny", "allow", "allow", "deny"]);
});

Deno.test("examples: worker_client.ts follows a session", async () => {
  const { code, out, err } = await deno([
    "run",
    "-A",
    "examples/worker_client.ts",
  ]);
  assertEquals([code, out, err], [0, "Hello from a session\n", ""]);
});

Deno.test({
  name:
    "examples: native_tool.ts calls a plugin that was made, built and pinned as its head says",
  ignore: !await canRun() || !hasTool("make", "apt-get install make"),
  async fn() {
    await withDir(async (dir) => {
      const made = await deno(
        [...BULKHEAD, "abi", "new", "weather", "--lang", "c"],
        dir,
      );
      assertEquals(made.code, 0, made.err);
      const { success } = await new Deno.Command("make", {
        args: ["-s", "-C", `${dir}/weather`],
      }).output();
      assertEquals(success, true);
      const { code, out, err } = await deno([
        "run",
        "-A",
        "examples/native_tool.ts",
        `${dir}/weather/dist/libweather.so`,
        "weather_count",
        '{"to":3}',
      ]);
      assertEquals(code, 0, err);
      assertStringIncludes(out, "weather_count answered: ");
      assertStringIncludes(out, "3");
    });
  },
});

Deno.test({
  name: "examples: the README shows the demo as it runs",
  ignore: !hasTool("script", "apt-get install util-linux") ||
    !hasTool("bwrap"),
  async fn() {
    const { code, err } = await deno([
      "run",
      "-A",
      "scripts/record_demo.ts",
      "--check",
    ]);
    assertEquals([code, err], [0, ""]);
  },
});

/** Follows one guide to a native plugin, and hands it to a session. */
async function nativeGuide(lang: string): Promise<void> {
  await withDir(async (dir) => {
    const env = { BULKHEAD_HOME: `${dir}/home`, FNO_CLAIMS_ROOT: dir };
    const bulkhead = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await new Deno.Command(
        Deno.execPath(),
        { args: [...BULKHEAD, ...args], cwd: dir, env, stdin: "null" },
      ).output();
      const out = new TextDecoder().decode(stdout);
      assertEquals(code, 0, out + new TextDecoder().decode(stderr));
      return out;
    };
    await bulkhead("abi", "new", "weather", "--lang", lang);
    const make = await new Deno.Command("make", {
      args: ["-s", "-C", "weather"],
      cwd: dir,
    }).output();
    assertEquals(make.success, true, new TextDecoder().decode(make.stderr));
    const library = "weather/dist/libweather.so";
    await bulkhead("abi", "inspect", library);
    assertStringIncludes(
      await bulkhead("abi", "verify", library),
      "it keeps the ABI",
    );
    const { hash } = await digestPlugin(`${dir}/weather/dist`);
    await bulkhead(
      "plugins",
      "install",
      "./weather/dist",
      "--trust-plugin",
      `weather=${hash}`,
    );
    await Deno.writeTextFile(
      `${dir}/home/config.toml`,
      "[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\n",
    );
    await Deno.writeTextFile(
      `${dir}/script.json`,
      JSON.stringify({
        schema: 1,
        turns: [{
          steps: [{
            message: [{
              tool: "mcp__bulkhead__plugin__weather__weather_count",
              input: { to: 3 },
            }],
          }],
        }],
      }),
    );
    assertStringIncludes(
      await bulkhead("run", "--script", "script.json", "count"),
      "counted to 3",
    );
  });
}

for (const [lang, tool] of [["c", "gcc"], ["rust", "cargo"]] as const) {
  Deno.test({
    name: `guides: a native plugin in ${lang}, from nothing to a session`,
    ignore: !await canRun() || !hasTool(tool) ||
      !hasTool("make", "apt-get install make"),
    fn: () => nativeGuide(lang),
  });
}
