/** Without bubblewrap a plugin is confined by Landlock: it works, and reaches no more than it may. */
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { build, canRun } from "./_abi.ts";

const CLI = fromFileUrl(new URL("../abi/cli.ts", import.meta.url));

/** A directory with every program of the system but bubblewrap. */
async function programs(dir: string): Promise<string> {
  const bin = `${dir}/bin`;
  await Deno.mkdir(bin);
  for (const from of (Deno.env.get("PATH") ?? "").split(":").toReversed()) {
    try {
      for await (const { name } of Deno.readDir(from)) {
        if (name === "bwrap") continue;
        await Deno.remove(`${bin}/${name}`).catch(() => {});
        await Deno.symlink(`${from}/${name}`, `${bin}/${name}`);
      }
    } catch {
      // A part of PATH that is not there.
    }
  }
  return bin;
}

/** What confines a program that is started with this PATH. */
async function backend(path: string): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `import { probeIsolation } from "${
        import.meta.resolve("@bulkhead/sandbox")
      }"; console.log((await probeIsolation()).backend);`,
    ],
    env: { PATH: path, NO_COLOR: "1" },
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test({
  name: "abi landlock: a plugin works, and neither reads nor writes outside",
  ignore: !await canRun(),
  fn: async () => {
    const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "bh" }));
    try {
      const PATH = await programs(dir);
      // A kernel without Landlock has nothing to test.
      if (await backend(PATH) !== "landlock") return;
      await Deno.writeTextFile(`${dir}/secret`, "secret");
      const library = await build("confine");
      const call = async (tool: string, path: string): Promise<string> => {
        const { stdout } = await new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "-A",
            CLI,
            "call",
            library,
            tool,
            "--args",
            JSON.stringify({ path }),
          ],
          env: { PATH },
          stdin: "null",
        }).output();
        return new TextDecoder().decode(stdout).trim();
      };
      assertEquals(await call("env", "NOT_SET"), "unset");
      assertEquals(await call("read", `${dir}/secret`), "refused");
      assertEquals(await call("write", `${dir}/new`), "refused");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
