/** Every command of the guide to native plugins is typed to the letter. */
import { digestPlugin } from "@bulkhead/plugins";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { canRun } from "./_abi.ts";
import { hasTool } from "./support/require_tool.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** The command lines of a guide's shell blocks, without their comments. */
async function commands(page: string): Promise<string[]> {
  const text = await Deno.readTextFile(`${ROOT}${page}`);
  return [...text.matchAll(/^```sh\n([^]*?)^```/gm)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter(Boolean);
}

Deno.test({
  name: "abi guide: docs/native-plugin.md works as it stands",
  ignore: !await canRun() || !hasTool("make") || !hasTool("cargo"),
  fn: async () => {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
    const home = `${dir}/home`;
    try {
      await Deno.mkdir(`${dir}/bin`);
      await Deno.mkdir(home);
      await Deno.writeTextFile(
        `${home}/config.toml`,
        "[capabilities.plugins]\nenabled = true\n[capabilities.trust]\nenabled = true\n",
      );
      await Deno.writeTextFile(
        `${dir}/bin/bulkhead`,
        `#!/bin/sh\nexec "${Deno.execPath()}" run -A "${ROOT}mod.ts" "$@"\n`,
        { mode: 0o755 },
      );
      let printed = "";
      for (const line of await commands("docs/native-plugin.md")) {
        let typed = line;
        // A person answers the question of trust; here the content is named instead.
        if (/plugins install/.test(line)) {
          const { hash } = await digestPlugin(`${dir}/counter/dist`);
          typed += ` --trust-plugin counter=${hash}`;
        }
        // No model is asked in a test.
        if (/^bulkhead run /.test(line)) {
          typed = "bulkhead run --agent scripted --example greeting";
        }
        const { code, stdout, stderr } = await new Deno.Command("sh", {
          args: ["-c", typed],
          cwd: dir,
          env: {
            PATH: `${dir}/bin:${Deno.env.get("PATH") ?? ""}`,
            BULKHEAD_HOME: home,
            FNO_CLAIMS_ROOT: dir,
          },
          stdin: "null",
        }).output();
        const out = new TextDecoder().decode(stdout);
        assertEquals(
          code,
          0,
          `${line}\n${out}${new TextDecoder().decode(stderr)}`,
        );
        printed += out;
      }
      assertStringIncludes(printed, "it keeps the ABI");
      assertEquals(printed.split("counted to 3").length, 4);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
