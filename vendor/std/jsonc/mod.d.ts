/** A value that JSON can hold. */
export type JsonValue =
  | { [key: string]: JsonValue | undefined }
  | JsonValue[]
  | string
  | number
  | boolean
  | null;
/** Parses JSON with comments and trailing commas. Throws a `SyntaxError` on bad text. */
export function parse(text: string): JsonValue;
