import { assertEquals, assertRejects } from "@std/assert";
import {
  ensurePrivateDir,
  readJsonFile,
  readTextCapped,
  withFileLock,
  writeFileAtomic,
} from "./files.ts";

async function withDir(fn: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await fn(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

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

Deno.test("withFileLock() keeps others out, also in this process", async () => {
  await withDir(async (dir) => {
    const order: string[] = [];
    const lock = `${dir}/x.lock`;
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<void>();
    const first = withFileLock(lock, async () => {
      order.push("first in");
      entered.resolve();
      await leave.promise;
      order.push("first out");
    });
    await entered.promise;
    const second = withFileLock(lock, () => {
      order.push("second");
      return Promise.resolve();
    });
    await assertRejects(
      () => withFileLock(lock, () => Promise.resolve(), { timeoutMs: 20 }),
      Deno.errors.TimedOut,
      "another process has held it",
    );
    leave.resolve();
    await Promise.all([first, second]);
    assertEquals(order, ["first in", "first out", "second"]);
  });
});

Deno.test("withFileLock() lets readers in together", async () => {
  await withDir(async (dir) => {
    const lock = `${dir}/x.lock`;
    const shared = { shared: true };
    const both = withFileLock(
      lock,
      () => withFileLock(lock, () => Promise.resolve("both"), shared),
      shared,
    );
    assertEquals(await both, "both");
  });
});

Deno.test("readTextCapped() refuses a FIFO without opening it", async () => {
  await withDir(async (dir) => {
    await new Deno.Command("mkfifo", { args: [`${dir}/fifo`] }).output();
    await assertRejects(
      () => readTextCapped(`${dir}/fifo`, 10),
      TypeError,
      "not a regular file",
    );
  });
});

Deno.test("readTextCapped() refuses what is too large or not text", async () => {
  await withDir(async (dir) => {
    await Deno.writeFile(`${dir}/bin`, new Uint8Array([0xff, 0xfe]));
    await assertRejects(
      () => readTextCapped(`${dir}/bin`, 10),
      TypeError,
      "not UTF-8",
    );
    await assertRejects(
      () => readTextCapped(`${dir}/bin`, 1),
      RangeError,
      "has 2 bytes, at most 1",
    );
    // A device says it is empty and never ends.
    await assertRejects(() => readTextCapped("/dev/zero", 10), TypeError);
  });
});

Deno.test("readJsonFile() names the file in its errors", async () => {
  await withDir(async (dir) => {
    await Deno.writeTextFile(`${dir}/x.json`, "{");
    await assertRejects(
      () => readJsonFile(`${dir}/x.json`),
      SyntaxError,
      `${dir}/x.json`,
    );
  });
});

Deno.test("ensurePrivateDir() closes a directory that was open to others", async () => {
  await withDir(async (dir) => {
    await Deno.mkdir(`${dir}/open`, { mode: 0o755 });
    await ensurePrivateDir(`${dir}/open`);
    assertEquals(((await Deno.stat(`${dir}/open`)).mode ?? 0) & 0o777, 0o700);
  });
});

Deno.test("readJsonFile() names the line that JSON breaks on", async () => {
  const path = await Deno.makeTempFile();
  const rows: [string, string][] = [
    ['{\n"a": oops\n}', "line 2: Unexpected token 'o'"],
    ['{"a":1\n"b":2}', "line 2: Expected ',' or '}' after property value"],
    ['{"a":1}\n\n}', "line 3: Unexpected non-whitespace character after JSON"],
    ['{\n"a": [1,\n', "line 3: Unexpected end of JSON input"],
    ['{\n"a":"x\ny"}', "line 2: Bad control character in string literal"],
    ["", "line 1: Unexpected end of JSON input"],
  ];
  for (const [text, problem] of rows) {
    await Deno.writeTextFile(path, text);
    const error = await assertRejects(() => readJsonFile(path), SyntaxError);
    assertEquals(error.message, `Cannot parse "${path}" as JSON: ${problem}`);
  }
  await Deno.remove(path);
});
