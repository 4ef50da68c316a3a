/**
 * Brace expansion over the text of a word, quotes kept as they are.
 *
 * @module
 */
import { SEG } from "../holes.ts";

/** Most words one word expands to. */
const MAX_WORDS = 200;

/**
 * Expands the first brace group of a word and, one after the other, all others.
 *
 * @param word The word's source text.
 * @returns The texts it stands for, or `undefined` when there are too many.
 */
export function expandBraces(word: string): string[] | undefined {
  const done: string[] = [];
  const pending = [word];
  while (pending.length > 0) {
    const text = pending.pop() ?? "";
    const group = findGroup(text);
    if (group === undefined) done.push(text);
    else {
      const head = text.slice(0, group.start);
      const tail = text.slice(group.end);
      for (const item of group.items.toReversed()) {
        pending.push(head + item + tail);
      }
    }
    if (done.length + pending.length > MAX_WORDS) return undefined;
  }
  return done;
}

interface Group {
  start: number;
  end: number;
  items: string[];
}

function findGroup(text: string): Group | undefined {
  for (let i = 0; i < text.length; i++) {
    const next = skipQuoted(text, i);
    if (next > i) {
      i = next - 1;
      continue;
    }
    if (text[i] !== "{") continue;
    const items: string[] = [];
    let depth = 0;
    let from = i + 1;
    for (let j = i + 1; j < text.length; j++) {
      const past = skipQuoted(text, j);
      if (past > j) {
        j = past - 1;
        continue;
      }
      const char = text[j];
      if (char === "{") depth++;
      else if (char === "}" && depth > 0) depth--;
      else if (char === "," && depth === 0) {
        items.push(text.slice(from, j));
        from = j + 1;
      } else if (char === "}") {
        const last = text.slice(from, j);
        if (items.length > 0) {
          return { start: i, end: j + 1, items: [...items, last] };
        }
        const range = expandRange(last);
        if (range !== undefined) return { start: i, end: j + 1, items: range };
        break;
      }
    }
  }
  return undefined;
}

/** Where a quoted or substituted part that starts here ends; the same place when none does. */
function skipQuoted(text: string, at: number): number {
  const char = text[at];
  if (char === "\\") return at + 2;
  if (char === "'" || char === "`") {
    const end = text.indexOf(char, at + 1);
    return end === -1 ? text.length : end + 1;
  }
  if (char === '"') {
    for (let i = at + 1; i < text.length; i++) {
      if (text[i] === "\\") i++;
      else if (text[i] === '"') return i + 1;
    }
    return text.length;
  }
  if (char === "$" && (text[at + 1] === "{" || text[at + 1] === "(")) {
    let depth = 0;
    for (let i = at + 1; i < text.length; i++) {
      if (text[i] === "\\") i++;
      else if (text[i] === "{" || text[i] === "(") depth++;
      else if ((text[i] === "}" || text[i] === ")") && --depth === 0) {
        return i + 1;
      }
    }
    return text.length;
  }
  return at;
}

function expandRange(text: string): string[] | undefined {
  const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(
    text,
  );
  if (range === null) return undefined;
  const [, from = "", to = "", by] = range;
  const start = Number(from);
  const end = Number(to);
  if (Number.isNaN(start) || Number.isNaN(end)) {
    return from.length === 1 && to.length === 1 ? [SEG] : undefined;
  }
  const step = Math.abs(Number(by ?? 1)) || 1;
  if (Math.abs(end - start) / step > 12) return [SEG];
  const items: string[] = [];
  for (let i = 0; i <= Math.abs(end - start); i += step) {
    items.push(String(start <= end ? start + i : start - i));
  }
  return items;
}
