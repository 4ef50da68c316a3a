import { assert, assertEquals } from "@std/assert";
import {
  clip,
  compareText,
  printable,
  quote,
  shown,
  terminalText,
} from "./_text.ts";

Deno.test("clip() and quote() never end in half a character", () => {
  assertEquals(clip("ab👋", 3), "ab");
  assertEquals(clip("ab👋", 4), "ab👋");
  assertEquals(clip("abc", 3), "abc");
  for (let max = 0; max < 9; max++) {
    assert(quote("a👋👋👋", max).isWellFormed());
  }
});

Deno.test("printable() escapes what hides, moves or recolours text, and nothing else", () => {
  assertEquals(printable("Grüße 世界 👋 é"), "Grüße 世界 👋 é");
  assertEquals(printable("a\n\t\r"), "a\\n\\t\\r");
  for (
    const bad of ["\u001b", "\u009b", "\u202e", "\u2066", "\u200b", "\ufeff"]
  ) {
    assertEquals(
      printable(bad),
      `\\u{${bad.codePointAt(0)?.toString(16)}}`,
    );
  }
  assertEquals(printable("\ud800"), "\\u{d800}");
});

Deno.test("shown() is what a person would type", () => {
  assertEquals(shown("--flag=a/b.c"), "--flag=a/b.c");
  assertEquals(shown("it's $HOME"), `'it'\\''s $HOME'`);
  assertEquals(shown(""), "''");
});

Deno.test("compareText() orders as bytes of UTF-8 do", () => {
  const texts = ["\u{10000}", "\uffff", "b", "", "a", "ab"];
  const bytes = (text: string) => [...new TextEncoder().encode(text)].join();
  const sorted = [...texts].sort(compareText);
  assertEquals(sorted, ["", "a", "ab", "b", "\uffff", "\u{10000}"]);
  assert(bytes(sorted[4] ?? "") < bytes(sorted[5] ?? ""));
});

Deno.test("terminalText() keeps line breaks and escapes what a terminal acts on", () => {
  assertEquals(
    terminalText("a\tb\r\nc\x1b]0;t\x07\x1b[2J\rd\n\u202e👨‍👩‍👧 ❤️\u00a0é"),
    "a\tb\r\nc\\u{1b}]0;t\\u{7}\\u{1b}[2J\\rd\n\\u{202e}👨‍👩‍👧 ❤️\u00a0é",
  );
});
