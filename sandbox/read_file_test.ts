import { assertEquals, assertRejects } from "@std/assert";
import { withDir } from "../tests/support/with_dir.ts";
import { readJsonFile, readTextCapped } from "./read_file.ts";

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
