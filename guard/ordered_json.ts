/**
 * JSON that keeps what a plain object loses: the order of every key (number-like ones too) and
 * the spelling of every number. Settings files that people own go through here.
 *
 * @module
 */

/** A number, as it was written. */
export interface JsonNumber {
  /** The digits of the source text. */
  readonly number: string;
}

/** A JSON value whose objects are maps in source order. */
export type OrderedJson =
  | null
  | boolean
  | string
  | JsonNumber
  | OrderedJson[]
  | OrderedObject;

/** A JSON object in source order; a key given twice keeps its first place and its last value. */
export type OrderedObject = Map<string, OrderedJson>;

/** The deepest nesting that is read. */
const MAX_DEPTH = 256;

/** Reads strict JSON text. Throws `SyntaxError` for anything else. */
export function parseOrdered(text: string): OrderedJson {
  JSON.parse(text); // proves the grammar, so that the reader below need not
  let at = 0;

  function skip(): void {
    while (at < text.length && " \t\n\r".includes(text.charAt(at))) at++;
  }
  function string(): string {
    const from = at++;
    while (text.charAt(at) !== '"') at += text.charAt(at) === "\\" ? 2 : 1;
    const value: unknown = JSON.parse(text.slice(from, ++at));
    return typeof value === "string" ? value : "";
  }
  function value(depth: number): OrderedJson {
    if (depth > MAX_DEPTH) {
      throw new SyntaxError(`JSON is nested deeper than ${MAX_DEPTH} levels`);
    }
    skip();
    const first = text.charAt(at);
    if (first === '"') return string();
    if (first === "{") return object(depth);
    if (first === "[") return array(depth);
    const from = at;
    while (at < text.length && !" \t\n\r,]}".includes(text.charAt(at))) at++;
    const word = text.slice(from, at);
    if (word === "null") return null;
    if (word === "true" || word === "false") return word === "true";
    return { number: word };
  }
  function object(depth: number): OrderedObject {
    const map: OrderedObject = new Map();
    at++;
    for (skip(); text.charAt(at) !== "}"; skip()) {
      if (text.charAt(at) === ",") at++;
      skip();
      const key = string();
      skip();
      at++; // the colon
      map.set(key, value(depth + 1));
    }
    at++;
    return map;
  }
  function array(depth: number): OrderedJson[] {
    const list: OrderedJson[] = [];
    at++;
    for (skip(); text.charAt(at) !== "]"; skip()) {
      if (text.charAt(at) === ",") at++;
      list.push(value(depth + 1));
    }
    at++;
    return list;
  }
  return value(0);
}

/** Writes a value; with `indent` spaces a level, or on one line without. */
export function printOrdered(value: OrderedJson, indent = 0): string {
  return print(value, indent, "");
}

/** Writes one level. */
function print(value: OrderedJson, indent: number, margin: string): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (!Array.isArray(value) && !(value instanceof Map)) return value.number;
  const inner = margin + " ".repeat(indent);
  const items = Array.isArray(value)
    ? value.map((item) => print(item, indent, inner))
    : [...value].map(([key, item]) =>
      `${JSON.stringify(key)}:${indent > 0 ? " " : ""}${
        print(item, indent, inner)
      }`
    );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  if (indent === 0) return open + items.join(",") + close;
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`;
}

/** Turns `{name}` into its value in every string value, in place; keys are left alone. */
export function substituteStrings(
  value: OrderedJson,
  variables: ReadonlyMap<string, string>,
): OrderedJson {
  if (typeof value === "string") return substitute(value, variables);
  if (Array.isArray(value)) {
    return value.map((item) => substituteStrings(item, variables));
  }
  if (value instanceof Map) {
    for (const [key, item] of value) {
      value.set(key, substituteStrings(item, variables));
    }
  }
  return value;
}

/** Turns `{name}` into its value, in one pass: a value that holds braces is not read again. */
export function substitute(
  text: string,
  variables: ReadonlyMap<string, string>,
): string {
  return text.replace(
    /\{([A-Za-z_]+)\}/g,
    (whole, name) => variables.get(name) ?? whole,
  );
}

/** Says whether any string value (not a key) holds `token`. */
export function anyStringValueContains(
  value: OrderedJson,
  token: string,
): boolean {
  if (typeof value === "string") return value.includes(token);
  if (Array.isArray(value)) {
    return value.some((item) => anyStringValueContains(item, token));
  }
  if (value instanceof Map) {
    return [...value.values()].some((item) =>
      anyStringValueContains(item, token)
    );
  }
  return false;
}
