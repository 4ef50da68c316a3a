import { assertEquals } from "@std/assert";
import { Tail } from "./tail.ts";

Deno.test("Tail keeps the end and never cuts a character", () => {
  for (const text of ["é", "漢", "😀", "a"]) {
    for (let cut = 0; cut < 5; cut++) {
      const tail = new Tail(64);
      tail.push(new TextEncoder().encode("x".repeat(cut) + text.repeat(100)));
      assertEquals(
        tail.text.replaceAll(text, ""),
        "",
        `${text} shifted by ${cut}`,
      );
    }
  }
});

Deno.test("Tail joins characters that arrive byte by byte", () => {
  const tail = new Tail(1000);
  for (const byte of new TextEncoder().encode("日本 😀 ok")) {
    tail.push(new Uint8Array([byte]));
  }
  assertEquals(tail.text, "日本 😀 ok");
});

Deno.test("Tail keeps what is larger than itself and what is no UTF-8", () => {
  const tail = new Tail(4);
  tail.push(new TextEncoder().encode("abcdefgh"));
  assertEquals(tail.text, "efgh");
  tail.push(new TextEncoder().encode("i"));
  assertEquals(tail.text, "fghi");
  tail.push(new Uint8Array([0xff, 0xfe]));
  assertEquals(tail.text, "hi\ufffd\ufffd");
  const empty = new Tail(4);
  assertEquals(empty.text, "");
});
