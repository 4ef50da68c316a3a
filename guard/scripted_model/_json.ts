/**
 * Narrowing of parsed JSON.
 *
 * @module
 */

/** A JSON object whose values are not yet known. */
export type JsonObject = { readonly [key: string]: unknown };

/** Whether a parsed value is an object, not an array and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A parsed value as an array; anything else is an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A parsed value as an array of objects; everything that is no object is left out. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOf(value).filter(isObject);
}

/** A parsed value as text; anything else is empty. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The text of a message body that is a string or a list of blocks with `text`. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsOf(content).map((block) => textOf(block.text)).filter((text) =>
    text !== ""
  ).join("\n");
}
