/**
 * Text whose parts are not all known. A value is an ordinary string in which one of three
 * private-use characters stands for a part that cannot be read off the command, so values
 * concatenate, split and resolve like any other string.
 *
 * @module
 */

/** Any text: may be empty, absolute, hold `/` or climb with `..`. */
export const ANY = "\uE000";
/** A relative path that does not climb, such as what `find` prints below its start. */
export const SUB = "\uE001";
/** Part of one path component, without `/` and never `..`: a date, a number, a glob match. */
export const SEG = "\uE002";

const HOLES = /[\uE000-\uE002]/g;

/**
 * Takes the three characters out of text that comes from outside, so that nobody can pass one in.
 *
 * @param text Untrusted text.
 * @returns The text with each of them replaced.
 */
export function withoutHoles(text: string): string {
  return text.replace(HOLES, "\uFFFD");
}

/**
 * True when nothing about the value is unknown.
 *
 * @param value A value.
 * @returns Whether it holds no unknown part.
 */
export function isKnown(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code >= 0xe000 && code <= 0xe002) return false;
  }
  return true;
}

/**
 * The value for a person's eyes.
 *
 * @param value A value.
 * @returns The text with `…` for each unknown part.
 */
export function showValue(value: string): string {
  return value.replace(HOLES, "…");
}
