import { assertEquals } from "@std/assert";
import { visible, visibleLines } from "./visible.ts";

Deno.test("visible() shows what would act on a terminal, hide or reorder text", () => {
  for (
    const [text, shown] of [
      ["\x1b[2J", "\\u{1b}[2J"],
      ["a\u202eb", "a\\u{202e}b"],
      ["pass\u200bword", "pass\\u{200b}word"],
      ["soft\u00adhyphen", "soft\\u{ad}hyphen"],
      ["one\ntwo\tthree", "one⏎two\\u{9}three"],
      ["\u2028", "\\u{2028}"],
    ] as const
  ) assertEquals(visible(text), shown);
});

Deno.test("visible() leaves letters of every script and joined emoji as they are", () => {
  const text =
    "Grüße, 世界, \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f";
  assertEquals(visible(text), text);
});

Deno.test("visibleLines() keeps line breaks and tabs, and no carriage return", () => {
  assertEquals(visibleLines("a\tb\nc\r\x07"), "a\tb\nc\\u{d}\\u{7}");
});
