import { assertEquals } from "@std/assert";
import { LineSplitter, readLines } from "./lines.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

Deno.test("LineSplitter gives the same lines for every cut", () => {
  const text = "aé\n\n😀\u2028x\r\nlast";
  const bytes = encode(text);
  const expected = text.split("\n");
  for (let cut = 0; cut <= bytes.length; cut++) {
    const splitter = new LineSplitter();
    const lines = [
      ...splitter.push(bytes.slice(0, cut)),
      ...splitter.push(bytes.slice(cut)),
      ...splitter.end(),
    ];
    assertEquals(lines.map((line) => decode(line.bytes)), expected);
    assertEquals(lines.map((line) => line.unfinished), [
      false,
      false,
      false,
      true,
    ]);
  }
});

Deno.test("LineSplitter keeps the head of an oversize line and goes on", () => {
  const splitter = new LineSplitter({ maxLineBytes: 4 });
  const lines = [
    ...splitter.push(encode("abcdef")),
    ...splitter.push(encode("ghi\nok\nabcd\nabcde\n")),
  ];
  assertEquals(
    lines.map(({ bytes, truncated, size }) => [decode(bytes), truncated, size]),
    [["abcd", true, 9], ["ok", false, 2], ["abcd", false, 4], [
      "abcd",
      true,
      5,
    ]],
  );
});

Deno.test("LineSplitter copies what it holds, since a chunk may be used again", () => {
  const splitter = new LineSplitter();
  const chunk = encode("ab");
  splitter.push(chunk);
  chunk.fill(0x2e);
  const [line] = splitter.push(encode("c\n"));
  assertEquals(line && decode(line.bytes), "abc");
});

Deno.test("readLines() reads a stream to its unfinished end", async () => {
  const lines = await Array.fromAsync(
    readLines(new Blob(["one\ntwo"]).stream()),
    (line) => decode(line.bytes),
  );
  assertEquals(lines, ["one", "two"]);
});
