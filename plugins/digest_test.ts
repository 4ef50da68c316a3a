import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { digestPlugin, fingerprints } from "./digest.ts";
import { World, writeFiles } from "./testing/world.ts";

Deno.test("digestPlugin() covers names, kinds, contents and the executable bit, not times", async () => {
  await using world = await World.create();
  const dir = `${world.root}/p`;
  await writeFiles(dir, { "plugin.toml": "", "lib/a.py": "1" });
  const hashes = new Set<string>();
  const step = async (change: () => Promise<unknown>): Promise<void> => {
    await change();
    const { hash } = await digestPlugin(dir);
    assert(!hashes.has(hash), `${change}`);
    hashes.add(hash);
  };
  await step(() => Promise.resolve());
  await step(() => Deno.writeTextFile(`${dir}/lib/a.py`, "2"));
  await step(() => Deno.chmod(`${dir}/lib/a.py`, 0o755));
  await step(() => Deno.rename(`${dir}/lib/a.py`, `${dir}/lib/b.py`));
  await step(() => Deno.mkdir(`${dir}/empty`));
  await step(() => Deno.symlink("lib/b.py", `${dir}/link`));
  await step(async () => {
    await Deno.remove(`${dir}/link`);
    await Deno.symlink("plugin.toml", `${dir}/link`);
  });
  await step(async () => {
    await Deno.remove(`${dir}/link`);
    await Deno.writeTextFile(`${dir}/link`, "plugin.toml");
  });
  const { hash } = await digestPlugin(dir);
  await Deno.utime(`${dir}/lib/b.py`, 1, 1);
  await Deno.chmod(`${dir}/lib/b.py`, 0o700);
  assertEquals((await digestPlugin(dir)).hash, hash);
});

Deno.test("digestPlugin() is the same for a copy and through a link to the directory", async () => {
  await using world = await World.create();
  const files = { "plugin.toml": "x", "a/b": "1", "a-b": "2", "a.b": "3" };
  await writeFiles(`${world.root}/one`, files);
  await writeFiles(`${world.root}/two`, files);
  await Deno.symlink("one", `${world.root}/link`);
  const one = await digestPlugin(`${world.root}/one`);
  assertEquals((await digestPlugin(`${world.root}/two`)).hash, one.hash);
  const linked = await digestPlugin(`${world.root}/link`);
  assertEquals(linked.hash, one.hash);
  assertEquals(linked.dir, `${world.root}/one`);
  assertEquals(Object.keys(fingerprints(one)), [
    "a",
    "a-b",
    "a.b",
    "a/b",
    "plugin.toml",
  ]);
});

Deno.test("digestPlugin() refuses links that leave, in whatever way, and special files", async () => {
  await using world = await World.create();
  const outside = `${world.root}/outside`;
  await writeFiles(outside, { x: "" });
  const targets = [
    "/etc/passwd",
    "../outside/x",
    "a/../../outside",
    "../p/../outside",
    "dir-link/../../../etc/passwd",
    `${world.root}/p/../outside/x`,
    "../nothing",
    "link",
  ];
  for (const target of targets) {
    const dir = `${world.root}/p`;
    await writeFiles(dir, { "plugin.toml": "", "a/x": "" });
    await Deno.symlink("a", `${dir}/dir-link`);
    await Deno.symlink(target, `${dir}/link`);
    const error = await assertRejects(() => digestPlugin(dir));
    assert(error instanceof TypeError || error instanceof RangeError, target);
    await Deno.remove(dir, { recursive: true });
  }
  const dir = `${world.root}/q`;
  await writeFiles(dir, { "plugin.toml": "" });
  await new Deno.Command("mkfifo", { args: [`${dir}/pipe`] }).output();
  await assertRejects(() => digestPlugin(dir), TypeError, '"pipe"');
});

Deno.test("digestPlugin() follows links that stay inside, directories included", async () => {
  await using world = await World.create();
  const dir = `${world.root}/p`;
  await writeFiles(dir, { "plugin.toml": "", "v1/run": "" });
  await Deno.symlink("v1", `${dir}/current`);
  await Deno.symlink("current/run", `${dir}/run`);
  await Deno.symlink("missing", `${dir}/dangling-inside`);
  const { files } = await digestPlugin(dir);
  assertEquals(files.filter((file) => file.kind === "link").length, 3);
});

Deno.test("digestPlugin() hashes large files in a stream, to the same value", async () => {
  await using world = await World.create();
  const dir = `${world.root}/p`;
  const large = "x".repeat(3_000_001);
  await writeFiles(dir, { large });
  const { files } = await digestPlugin(dir);
  const bytes = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(large),
  );
  assertEquals(files[0]?.sha256, new Uint8Array(bytes).toHex());
});

Deno.test("digestPlugin() bounds the depth", async () => {
  await using world = await World.create();
  const dir = `${world.root}/p`;
  await Deno.mkdir(`${dir}${"/d".repeat(70)}`, { recursive: true });
  await assertRejects(() => digestPlugin(dir), RangeError, "levels");
});

Deno.test("isUnchanged() never says yes while a change could hide behind the clock", async () => {
  await using world = await World.create();
  const dir = `${world.root}/p`;
  await writeFiles(dir, { "plugin.toml": "A" });
  const fresh = await digestPlugin(dir);
  assertEquals(await fresh.isUnchanged(), false);
  await Deno.writeTextFile(`${dir}/plugin.toml`, "B");
  assertNotEquals((await digestPlugin(dir)).hash, fresh.hash);
});

Deno.test({
  name: "digestPlugin() names the file that cannot be read",
  // Root reads everything.
  ignore: Deno.uid() === 0,
  async fn() {
    await using world = await World.create();
    const dir = await world.plugin("p", "", { "x": "1" });
    await Deno.chmod(`${dir}/x`, 0);
    const error = await assertRejects(() => digestPlugin(dir), TypeError);
    assertEquals(
      error.message,
      `Cannot hash "${dir}/x": Permission denied (os error 13)`,
    );
  },
});
