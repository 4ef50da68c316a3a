/**
 * The shell parser behind one function, with the bounds under which it is trusted.
 *
 * @module
 */
import { parse, type Script } from "unbash";

/** Largest command text that is parsed, in UTF-16 units. */
export const MAX_TEXT = 262_144;
/** Most here-document operators in one text; the parser's time grows with their square. */
const MAX_HEREDOCS = 800;
/** Most words and operators of a text, as far as blanks and marks tell. */
const MAX_MARKS = 30_000;
/** Deepest nesting of brackets, quotes and substitutions that is handed to the parser. */
const MAX_NESTING = 250;

/** A parsed text. */
export interface Parsed {
  /** The tree, possibly partial; absent when a bound was passed. */
  script?: Script;
  /** False when the text was not understood in full. */
  complete: boolean;
}

/**
 * Parses Bash text, if it keeps within the bounds.
 *
 * @param text Command text.
 * @returns The tree and whether it is complete.
 */
export function parseShell(text: string): Parsed {
  if (
    text.length > MAX_TEXT || tooManyHeredocs(text) || tooManyMarks(text) ||
    tooDeep(text)
  ) {
    return { complete: false };
  }
  const script = parse(text);
  return {
    script,
    complete: script.errors === undefined || script.errors.length === 0,
  };
}

function tooManyHeredocs(text: string): boolean {
  let count = 0;
  for (
    let at = text.indexOf("<<");
    at !== -1;
    at = text.indexOf("<<", at + 2)
  ) {
    if (++count > MAX_HEREDOCS) return true;
  }
  return false;
}

/** Blanks, separators, quotes and substitutions: what makes parsing slow. */
function tooManyMarks(text: string): boolean {
  if (text.length < MAX_MARKS) return false;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Everything up to the slash but letters of paths and prose, and `;<>\\^` and friends.
    const isMark = code <= 0x2b && code !== 0x25 || code === 0x3b ||
      code === 0x3c ||
      code === 0x3e || code === 0x5b || code === 0x5c || code === 0x60 ||
      code >= 0x7b && code <= 0x7e;
    if (isMark && ++count > MAX_MARKS) return true;
  }
  return false;
}

/** A cheap upper bound: openings minus closings, quotes ignored. */
function tooDeep(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x28 || code === 0x7b) { // ( {
      if (++depth > MAX_NESTING) return true;
    } else if ((code === 0x29 || code === 0x7d) && depth > 0) depth--; // ) }
  }
  return false;
}
