import { reasonOf } from "@bulkhead/sandbox";

/** Every character that could hide, move or recolour text in a terminal, and every blank that is not a space. */
const DECEPTIVE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0\ufe00-\ufe0f\u034f\u180b-\u180d]|[\u{e0100}-\u{e01ef}]/gu;

/** The text with control, bidi, zero-width and other invisible characters written as escapes. */
export function printable(text: string): string {
  return text.replace(DECEPTIVE, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\r") return "\\r";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`;
  });
}

/** What a terminal acts on, or what reorders or hides text: control, bidi and zero-width characters, not those that join emoji. */
const ACTING =
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  /\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text of several lines for a terminal: line breaks and tabs stay, what a terminal would act on is escaped. */
export function terminalText(text: string): string {
  return text.replace(ACTING, printable);
}

/** The first `max` units of a text, never half a character at the end. */
export function clip(text: string, max: number): string {
  return /[\ud800-\udbff]$/.test(text.slice(0, max)) && text.length > max
    ? text.slice(0, max - 1)
    : text.slice(0, max);
}

/** The text in double quotes, printable, and cut when it is longer than `max` characters. */
export function quote(text: string, max = 200): string {
  const safe = printable(text).replaceAll('"', '\\"');
  return safe.length <= max
    ? `"${safe}"`
    : `"${clip(safe, max)}…" (${safe.length} characters)`;
}

/** The text in double quotes, for what a person copies out of a message: a path, a source, a pin. */
export function quoteWhole(text: string): string {
  return quote(text, 1000);
}

/** A value as JSON, printable, and cut when it is longer than `max` characters. */
export function jsonText(value: unknown, max = 200): string {
  const text = printable(JSON.stringify(value) ?? "undefined");
  return text.length <= max ? text : `${clip(text, max)}…`;
}

/** One argument as people would type it: bare when plain, in single quotes otherwise. Nothing is cut. */
export function shown(argument: string): string {
  const safe = printable(argument);
  if (/^[\w@%+=:,./${}-]+$/.test(safe)) return safe;
  return `'${safe.replaceAll("'", "'\\''")}'`;
}

/** Orders texts by code point, as bytes of UTF-8 would be. */
export function compareText(a: string, b: string): number {
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  for (;;) {
    const x = left.next();
    const y = right.next();
    if (x.done || y.done) return x.done ? (y.done ? 0 : -1) : 1;
    const difference = (x.value.codePointAt(0) ?? 0) -
      (y.value.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
}

/** The message of whatever was thrown, on one printable line. */
export function messageOf(error: unknown): string {
  return printable(reasonOf(error));
}

/** True for a plain table: an object that is no array, date or other class. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
