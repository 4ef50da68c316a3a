import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { diffText, diffTexts } from "./_text_diff.ts";
import { digestPlugin } from "./digest.ts";

Deno.test("diffText() tells what is gone and what is new", () => {
  const rows: [string, string, string[]][] = [
    ["", "", []],
    ["a\n", "a", []],
    ["", "a\n", ["+ a"]],
    ["a\nb\nc\n", "a\nc\n", ["- b"]],
    ["a\nb\nc\n", "a\nx\nc\ny\n", ["- b", "+ x", "+ y"]],
    ["a\nb\nc\nd\n", "b\nx\nd\ne\n", ["- a", "- c", "+ x", "+ e"]],
    ["a\nb\n", "b\na\n", ["- a", "+ a"]],
  ];
  for (const [before, after, lines] of rows) {
    assertEquals(
      diffText(before, after),
      lines,
      JSON.stringify([before, after]),
    );
  }
});

Deno.test("diffTexts() is bounded and printable, and names what it does not show", async () => {
  const dir = await Deno.makeTempDir();
  try {
    for (const side of ["a", "b"]) {
      await Deno.mkdir(`${dir}/${side}`);
      const write = (name: string, text: string | Uint8Array) =>
        typeof text === "string"
          ? Deno.writeTextFile(`${dir}/${side}/${name}`, text)
          : Deno.writeFile(`${dir}/${side}/${name}`, text);
      await write("1same", "same");
      await write("2esc", `echo ${side}\x1b[2J`);
      await write(
        "3long",
        Array(2000).fill(side).map((x, i) => x + i).join("\n"),
      );
      await write("4binary", new Uint8Array([0, side.charCodeAt(0)]));
      for (let index = 0; index < 9; index++) await write(`9${index}`, side);
    }
    const lines = await diffTexts(
      await digestPlugin(`${dir}/a`),
      await digestPlugin(`${dir}/b`),
    );
    const text = lines.join("\n");
    assert(lines.length < 70, text);
    assert(!text.includes("\x1b") && !text.includes("1same"), text);
    assertStringIncludes(
      text,
      '"2esc":\n  - echo a\\u{1b}[2J\n  + echo b\\u{1b}[2J\n',
    );
    assertStringIncludes(text, "  and 3970 more lines\n");
    assertStringIncludes(text, '"4binary":\n  is not a text');
    assertStringIncludes(text, "and 4 more files");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
