/**
 * JSON that keeps every number as it was written. `JSON.parse` alone turns 12345678901234567890 into …7000.
 *
 * @module
 */

interface RawJson {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}

function hasRawJson(json: object): json is RawJson {
  return "rawJSON" in json && "isRawJSON" in json;
}

const maybeRaw: object = JSON;
const raw: RawJson | undefined = hasRawJson(maybeRaw) ? maybeRaw : undefined;

/**
 * Wraps JSON text so that `JSON.stringify` writes it as it stands.
 *
 * @param text The text of a JSON primitive.
 * @returns The wrapped text.
 */
function rawJson(text: string): unknown {
  return raw === undefined ? JSON.parse(text) : raw.rawJSON(text);
}

/**
 * Parses JSON; numbers that a JavaScript number would change stay as raw text and are written back as they were.
 *
 * @param text The JSON text.
 * @returns The value; throws a `SyntaxError` for text that is no JSON, or that is nested too deeply to keep its numbers.
 */
export function parseJson(text: string): unknown {
  if (raw === undefined || !/\d/.test(text)) return JSON.parse(text);
  const plain: unknown = JSON.parse(text);
  // The reviver costs ten times the plain parse: only texts with a number that may change need it.
  if (!/\d{16}|\d\.\d*0(?!\d)|[\d.][eE]|-0(?!\.)|\d\.\d{15}/.test(text)) {
    return plain;
  }
  try {
    return JSON.parse(text, keepNumber);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SyntaxError("the JSON is nested too deeply", { cause: error });
  }
}

/**
 * Parses JSON that may be none.
 *
 * @param text The text.
 * @returns The value, `undefined` for text that is no JSON.
 */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function keepNumber(
  _key: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source;
  if (source === undefined || source === String(value)) return value;
  return rawJson(source);
}

/**
 * Writes JSON: bigints as digits, raw numbers as they were, `undefined` as `null`.
 *
 * @param value The value.
 * @returns The JSON text.
 */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // A bigint needs the replacer, which costs time and depth.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, bigints) ?? "null";
  }
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJson(value.toString()) : value;
}

/**
 * Says whether a value is a plain object: neither an array nor a raw number.
 *
 * @param value The value.
 * @returns True for a plain object.
 */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(raw?.isRawJSON(value) ?? false);
}

/**
 * Says whether JSON can be embedded in other JSON, whatever numbers are in there: no deeper than so many levels.
 *
 * @param value The value.
 * @param levels How deep objects and arrays may be nested.
 * @returns True when it is not nested deeper.
 */
export function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 &&
    Object.values(value).every((each) => isNestedWithin(each, levels - 1));
}
