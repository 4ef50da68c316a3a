import { closest } from "@bulkhead/sandbox/command";

/** A word that is long is no slip of a known one. */
const MAX_WORD = 40;

/** The end of a message about a word that is none of the known ones: which of them is likely meant. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = word.length <= MAX_WORD ? closest(word, known) : undefined;
  return near === undefined ? "" : `; did you mean "${near}"?`;
}
