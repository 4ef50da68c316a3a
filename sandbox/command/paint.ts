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
 * @param color Whether to use any, as `CommandIo.color` says.
 * @returns Functions that wrap a text.
 *
 * @example Usage
 * ```ts
 * import { paint } from "@bulkhead/sandbox/command";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(paint(true).red("no"), "\x1b[31mno\x1b[39m");
 * assertEquals(paint(false).red("no"), "no");
 * ```
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
