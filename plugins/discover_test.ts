import { assertEquals } from "@std/assert";
import { discoverPlugins } from "./discover.ts";

async function tempDir(): Promise<string> {
  return await Deno.realPath(await Deno.makeTempDir());
}

async function writePlugin(
  parent: string,
  name: string,
  text = "",
): Promise<void> {
  await Deno.mkdir(`${parent}/${name}`, { recursive: true });
  await Deno.writeTextFile(`${parent}/${name}/plugin.toml`, text);
}

Deno.test("discoverPlugins() finds plugin.toml under immediate subdirectories, sorted", async () => {
  const dir = await tempDir();
  await writePlugin(dir, "beta");
  await writePlugin(dir, "alpha");
  await writePlugin(dir, ".hidden");
  await writePlugin(dir, "outer/inner");
  await Deno.mkdir(`${dir}/not-a-plugin`);
  await Deno.writeTextFile(`${dir}/plugin.toml`, "");
  await Deno.mkdir(`${dir}/manifest-is-a-directory/plugin.toml`, {
    recursive: true,
  });
  const found = await discoverPlugins([dir]);
  assertEquals(found.map((plugin) => plugin.name), [
    ".hidden",
    "alpha",
    "beta",
  ]);
  assertEquals(found[1]?.dir, `${dir}/alpha`);
  await Deno.remove(dir, { recursive: true });
});

Deno.test("discoverPlugins() skips a missing directory silently", async () => {
  assertEquals(await discoverPlugins(["/no/such/dir"]), []);
});

Deno.test("discoverPlugins() lets the later directory win on a name collision", async () => {
  const a = await tempDir();
  const b = await tempDir();
  await writePlugin(a, "dup");
  await writePlugin(b, "dup");
  const found = await discoverPlugins([a, `${b}/`]);
  assertEquals(found, [{ name: "dup", dir: `${b}/dup` }]);
  await Deno.remove(a, { recursive: true });
  await Deno.remove(b, { recursive: true });
});

Deno.test("discoverPlugins() finds symlinked plugin directories and skips broken links", async () => {
  const dir = await tempDir();
  const other = await tempDir();
  await writePlugin(other, "real");
  await Deno.symlink(`${other}/real`, `${dir}/linked`);
  await Deno.symlink(`${other}/nothing`, `${dir}/broken`);
  await Deno.symlink("loop", `${dir}/loop`);
  assertEquals(
    (await discoverPlugins([dir])).map((plugin) => plugin.name),
    ["linked"],
  );
  await Deno.remove(dir, { recursive: true });
  await Deno.remove(other, { recursive: true });
});
