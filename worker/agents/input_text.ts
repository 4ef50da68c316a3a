/**
 * The arguments of an ask as they stand in its line. They go back with an allow, and what was parsed in between would
 * not be the same: long numbers lose digits, and JSON is not written as deep as it is read.
 *
 * @module
 */

const SPACE = /[\t\n\r ]*/y;
const PLAIN = /[^\s,\]}]+/y;
const MARK = /["[\]{}]/g;

/**
 * Finds the arguments in the line of a control request.
 *
 * @param line A line that is a JSON object.
 * @returns `request.input` as it is written there, `null` when there is none.
 */
export function inputText(line: string): string {
  const request = member(line, line.indexOf("{"), "request");
  if (request === undefined || line[request.start] !== "{") return "null";
  const input = member(line, request.start, "input");
  return input === undefined
    ? "null"
    // Between values a return is blank, but some readers of lines end one at it.
    : line.slice(input.start, input.end).replaceAll("\r", " ");
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The value of a key of the object that starts there; of a key that comes twice, the last one, as JSON has it. */
function member(line: string, start: number, wanted: string): Span | undefined {
  let found: Span | undefined;
  let at = skipSpace(line, start + 1);
  while (line[at] === '"') {
    const keyEnd = stringEnd(line, at);
    const key: unknown = JSON.parse(line.slice(at, keyEnd));
    // Behind the key stands a colon, in a line that is JSON.
    const from = skipSpace(line, skipSpace(line, keyEnd) + 1);
    const end = valueEnd(line, from);
    if (key === wanted) found = { start: from, end };
    at = skipSpace(line, end);
    if (line[at] !== ",") break;
    at = skipSpace(line, at + 1);
  }
  return found;
}

function skipSpace(line: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(line);
  return SPACE.lastIndex;
}

function valueEnd(line: string, start: number): number {
  const first = line[start];
  if (first === '"') return stringEnd(line, start);
  if (first !== "{" && first !== "[") {
    PLAIN.lastIndex = start;
    return PLAIN.test(line) ? PLAIN.lastIndex : line.length;
  }
  let depth = 0;
  MARK.lastIndex = start;
  for (
    let mark = MARK.exec(line);
    mark !== null;
    mark = MARK.exec(line)
  ) {
    if (mark[0] === '"') MARK.lastIndex = stringEnd(line, mark.index);
    else depth += mark[0] === "{" || mark[0] === "[" ? 1 : -1;
    if (depth === 0) return MARK.lastIndex;
  }
  return line.length;
}

/** Behind the closing quote: one that an even number of backslashes precedes. */
function stringEnd(line: string, start: number): number {
  for (
    let quote = line.indexOf('"', start + 1);
    quote >= 0;
    quote = line.indexOf('"', quote + 1)
  ) {
    let backslashes = 0;
    while (line[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return line.length;
}
