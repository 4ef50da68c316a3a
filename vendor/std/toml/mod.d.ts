/** Parses TOML text. Throws a `SyntaxError` on bad text. */
export function parse(text: string): Record<string, unknown>;
/** Options of {@linkcode stringify}. */
export interface StringifyOptions {
  /** Aligns the `=` signs. */
  keyAlignment?: boolean;
}
/** Writes an object as TOML text. */
export function stringify(
  object: Record<string, unknown>,
  options?: StringifyOptions,
): string;
