/**
 * Shell patterns against known names: linear in the pattern for each name, whatever its stars.
 *
 * @module
 */

/**
 * Whether a name matches a pattern of `*`, `?` and `[…]`, as `find -name` and git read it: a star
 * matches any text, a leading dot and slashes included.
 *
 * @param pattern The pattern.
 * @param name The name.
 * @returns `true` when all of the name matches.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    const one = p < pattern.length ? matchOne(pattern, p, name[n] ?? "") : -1;
    if (pattern[p] === "*") {
      star = p++;
      resume = n;
    } else if (one !== -1) {
      p = one;
      n++;
    } else if (star !== -1) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** Where the pattern goes on when its part at `p` matches one character; -1 when it does not. */
function matchOne(pattern: string, p: number, char: string): number {
  switch (pattern[p]) {
    case "?":
      return p + 1;
    case "\\":
      return pattern[p + 1] === char ? p + 2 : -1;
    case "[": {
      const end = pattern.indexOf("]", p + 2);
      if (end === -1) return char === "[" ? p + 1 : -1;
      let set = pattern.slice(p + 1, end);
      const inverted = /^[!^]/.test(set);
      if (inverted) set = set.slice(1);
      return inSet(set, char) === inverted ? -1 : end + 1;
    }
    default:
      return pattern[p] === char ? p + 1 : -1;
  }
}

function inSet(set: string, char: string): boolean {
  for (let i = 0; i < set.length; i++) {
    const from = set[i] ?? "";
    if (set[i + 1] === "-" && i + 2 < set.length) {
      if (char >= from && char <= (set[i + 2] ?? "")) return true;
      i += 2;
    } else if (from === char) return true;
  }
  return false;
}
