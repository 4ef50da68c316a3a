/** Colours for a terminal; each returns its text unchanged where colour is off. */
export interface Paint {
  /** What matters less. */
  dim(text: string): string;
  /** What matters more. */
  bold(text: string): string;
  /** What went well. */
  green(text: string): string;
  /** What was refused or failed. */
  red(text: string): string;
  /** What wants attention. */
  yellow(text: string): string;
}

/**
 * The colours of one output.
 *
 * @param color Whether to use any.
 * @returns Functions that wrap a text.
 */
export function paint(color: boolean): Paint {
  const wrap = (on: number, off: number) => (text: string): string =>
    color && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return {
    dim: wrap(2, 22),
    bold: wrap(1, 22),
    green: wrap(32, 39),
    red: wrap(31, 39),
    yellow: wrap(33, 39),
  };
}

/**
 * A text that cannot move the cursor, change colours or reorder what is read:
 * control, zero-width and bidirectional characters are shown as their numbers.
 *
 * @param text Any text.
 * @returns The text on one line.
 */
export function visible(text: string): string {
  return text.replace(
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) =>
      character === "\n"
        ? "⏎"
        : `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );
}

/**
 * Text of a model as it streams: line breaks and tabs stay, what else would act on
 * the terminal is shown.
 *
 * @param text A piece of the text.
 * @returns The piece, safe to print.
 */
export function streamable(text: string): string {
  return text.split(/(\n|\t)/).map((part) =>
    part === "\n" || part === "\t" ? part : visible(part)
  ).join("");
}

/**
 * One line of at most a number of characters.
 *
 * @param text Any text.
 * @param length The most characters.
 * @returns The text, its end replaced by an ellipsis when it was cut.
 */
export function shorten(text: string, length: number): string {
  const line = visible(text);
  const characters = [...line];
  return characters.length > length
    ? `${characters.slice(0, length - 1).join("")}…`
    : line;
}
