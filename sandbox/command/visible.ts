/** Controls and what formats text unseen, line and paragraph separators. */
const ACTING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** What joins and colours emoji: it hides nothing. */
const JOINERS: readonly string[] = ["\u200d", "\ufe0f"];

/**
 * A text on one line that cannot act on a terminal: characters that would move the
 * cursor, change colours, hide or reorder what is read are shown as their numbers.
 *
 * @param text Any text.
 * @returns The text, safe to print.
 *
 * @example Usage
 * ```ts
 * import { visible } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(visible("rm\x1b[2J \u202efdp.exe\n"), "rm\\u{1b}[2J \\u{202e}fdp.exe⏎");
 * ```
 */
export function visible(text: string): string {
  return text.replace(
    ACTING,
    (character) => character === "\n" ? "⏎" : shown(character),
  );
}

/**
 * The same for a text of several lines: line breaks and tabs stay.
 *
 * @param text Any text, or a piece of one that streams.
 * @returns The text, safe to print.
 *
 * @example Usage
 * ```ts
 * import { visibleLines } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(visibleLines("a\tb\nc\rd"), "a\tb\nc\\u{d}d");
 * ```
 */
export function visibleLines(text: string): string {
  return text.replace(
    ACTING,
    (character) =>
      character === "\n" || character === "\t" ? character : shown(character),
  );
}

function shown(character: string): string {
  return JOINERS.includes(character)
    ? character
    : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
