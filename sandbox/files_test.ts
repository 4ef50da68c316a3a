import { assertEquals, assertRejects } from "@std/assert";
import { withDir } from "../tests/support/with_dir.ts";
import { ensurePrivateDir, writeFileAtomic } from "./files.ts";

Deno.test("writeFileAtomic() replaces a file, sets its mode and leaves nothing beside it", async () => {
  await withDir(async (dir) => {
    await writeFileAtomic(`${dir}/a`, "one");
    await writeFileAtomic(`${dir}/a`, new Uint8Array([50]), { mode: 0o644 });
    assertEquals(await Deno.readTextFile(`${dir}/a`), "2");
    assertEquals(((await Deno.stat(`${dir}/a`)).mode ?? 0) & 0o777, 0o644);
    assertEquals((await Array.fromAsync(Deno.readDir(dir))).length, 1);
  });
});

Deno.test("writeFileAtomic() keeps the old file when it cannot write the new one", async () => {
  await withDir(async (dir) => {
    await Deno.mkdir(`${dir}/a`);
    await Deno.writeTextFile(`${dir}/a/kept`, "");
    await assertRejects(() => writeFileAtomic(`${dir}/a`, "x"));
    assertEquals((await Array.fromAsync(Deno.readDir(dir))).length, 1);
  });
});

Deno.test("writeFileAtomic() replaces a link, not what it points to", async () => {
  await withDir(async (dir) => {
    await Deno.writeTextFile(`${dir}/real`, "old");
    await Deno.symlink(`${dir}/real`, `${dir}/link`);
    await writeFileAtomic(`${dir}/link`, "new");
    assertEquals(await Deno.readTextFile(`${dir}/real`), "old");
  });
});

Deno.test("ensurePrivateDir() closes a directory that was open to others", async () => {
  await withDir(async (dir) => {
    await Deno.mkdir(`${dir}/open`, { mode: 0o755 });
    await ensurePrivateDir(`${dir}/open`);
    assertEquals(((await Deno.stat(`${dir}/open`)).mode ?? 0) & 0o777, 0o700);
  });
});
