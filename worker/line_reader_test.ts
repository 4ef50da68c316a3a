import { assertEquals } from "@std/assert";
import { LineReader } from "./line_reader.ts";

function stream(
  chunks: Uint8Array[],
  hang = false,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (!hang) controller.close();
    },
  });
}

async function texts(reader: LineReader): Promise<string[]> {
  const all: string[] = [];
  for await (const batch of reader.batches()) {
    all.push(...batch.map((line) => line.text));
  }
  return all;
}

Deno.test("LineReader puts characters together that are cut at any border", async () => {
  const text = '{"a":"é漢😀\u2028\u2029"}\n\ufeff{"b":1}\r\n\n{"c":2}';
  const bytes = new TextEncoder().encode(text);
  const expected = text.split("\n");
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new LineReader(
      stream([bytes.slice(0, cut), bytes.slice(cut)]),
      1000,
    );
    assertEquals(await texts(reader), expected, `cut at ${cut}`);
  }
  const single = new LineReader(
    stream([...bytes].map((byte) => new Uint8Array([byte]))),
    1000,
  );
  assertEquals(await texts(single), expected);
});

Deno.test("LineReader cuts a line that is too long, tells its size, and goes on", async () => {
  const reader = new LineReader(
    stream([new TextEncoder().encode(`${"x".repeat(50)}\nok\n`)]),
    10,
  );
  const lines = [];
  for await (const batch of reader.batches()) {
    lines.push(...batch.map(({ text, size, cut }) => ({ text, size, cut })));
  }
  assertEquals(lines, [
    { text: "xxxxxxxxxx", size: 50, cut: true },
    { text: "ok", size: 2, cut: false },
  ]);
});

Deno.test("LineReader reads bytes that are no UTF-8", async () => {
  const reader = new LineReader(
    stream([new Uint8Array([0xff, 0xc3, 0x0a, 0x61])]),
    10,
  );
  assertEquals(await texts(reader), ["\ufffd\ufffd", "a"]);
});

Deno.test("LineReader.drain() gives up a stream that somebody else holds open", async () => {
  const reader = new LineReader(
    stream([new TextEncoder().encode("one\n")], true),
    10,
  );
  const read = texts(reader);
  await reader.drain(20);
  assertEquals(await read, ["one"]);
  await reader.ended;
});
