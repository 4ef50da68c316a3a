import { visible } from "@bulkhead/sandbox/command";

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
