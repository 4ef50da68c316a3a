/**
 * JSON whose whole numbers stay as they were written: `JSON.parse` alone turns 12345678901234567890 into …7000.
 *
 * @module
 */
import { isRecord } from "./_text.ts";

/** Whole numbers of fewer digits are safe. */
const LONG = /\d{16}/;

/**
 * Parses JSON; whole numbers beyond 2^53 become raw JSON, which `JSON.stringify` writes as it stands.
 *
 * @param text The JSON text.
 * @returns The value.
 */
export function parseExact(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  const raw: unknown = Reflect.get(JSON, "rawJSON");
  if (!LONG.test(text) || typeof raw !== "function") return plain;
  const keep = (
    _key: string,
    value: unknown,
    context?: { source?: string },
  ): unknown =>
    typeof value === "number" && !Number.isSafeInteger(value) &&
      /^-?\d+$/.test(context?.source ?? "")
      ? Reflect.apply(raw, JSON, [context?.source])
      : value;
  const exact: unknown = JSON.parse(text, keep);
  return exact;
}

/**
 * Whether a JSON text may hold a whole number that only {@linkcode parseExact} keeps.
 *
 * @param text The JSON text.
 * @returns True when it may.
 */
export function mayHoldLongNumbers(text: string): boolean {
  return LONG.test(text);
}

/**
 * Parses a JSON-RPC message; long whole numbers are kept in the arguments of a call and nowhere else: an id is compared.
 *
 * @param text The JSON text.
 * @returns The message.
 */
export function parseMessage(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!LONG.test(text) || !isRecord(plain) || !isRecord(plain.params)) {
    return plain;
  }
  const exact = parseExact(text);
  if (!isRecord(exact) || !isRecord(exact.params)) return plain;
  if (!isRecord(exact.params.arguments)) return plain;
  const { arguments: args } = exact.params;
  return { ...plain, params: { ...plain.params, arguments: args } };
}
