import { describeFailure } from "@bulkhead/sandbox/command";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { temporaryDirectory, TemporaryDirectoryError } from "./temporary.ts";

Deno.test("temporaryDirectory() names the place where none can be made", async () => {
  const base = await Deno.makeTempDir();
  await Deno.writeTextFile(`${base}/file`, "");
  for (
    const [place, why] of [
      [`${base}/none`, "there is no such file or directory"],
      [`${base}/file`, "a part of its path is not a directory"],
    ] as const
  ) {
    const error = await assertRejects(
      () => temporaryDirectory({ prefix: "t-", dir: place }),
      TemporaryDirectoryError,
    );
    assertEquals(describeFailure(error), {
      code: "temporary_directory_error",
      message: `Cannot make a temporary directory in "${place}": ${why}`,
      fix: "set TMPDIR to a directory that can be written",
    });
  }
  await Deno.remove(base, { recursive: true });
});

Deno.test("temporaryDirectory() goes to /tmp for a path that fits into no socket or flag", async () => {
  const base = await Deno.makeTempDir();
  for (const name of ["l".repeat(100), "a,b"]) {
    await Deno.mkdir(`${base}/${name}`);
    const dir = await temporaryDirectory({
      prefix: "t-",
      dir: `${base}/${name}`,
      maxBytes: 90,
    });
    assert(dir.startsWith("/tmp/t-"), dir);
    await Deno.remove(dir);
    // Nothing is left where it did not fit.
    await Deno.remove(`${base}/${name}`);
  }
  await Deno.remove(base, { recursive: true });
});

Deno.test("temporaryDirectory() is absolute, also in a relative place", async () => {
  const base = await Deno.makeTempDir({ dir: "." });
  const dir = await temporaryDirectory({ prefix: "t-", dir: base });
  assert(dir.startsWith("/"), dir);
  await Deno.remove(base, { recursive: true });
});
