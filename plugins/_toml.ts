import { parse, TomlError } from "smol-toml";

/** Why a text is not TOML. */
export interface TomlProblem {
  /** The line, counted from one. */
  line: number;
  /** The column, counted from one; `0` when it is not known. */
  column: number;
  /** What is wrong there, without any of the text, which may be a file that was linked in. */
  reason: string;
}

/** Reads TOML strictly and in linear time; whole numbers that are too long for a number become bigints. */
export function readToml(
  text: string,
): { table: Record<string, unknown> } | { problem: TomlProblem } {
  try {
    return { table: parse(text, { integersAsBigInt: "asNeeded" }) };
  } catch (error) {
    if (error instanceof TomlError) {
      // Only the first line: the others show the text.
      const reason = (error.message.split("\n", 1)[0] ?? "")
        .replace(/^Invalid TOML document: /, "not TOML: ")
        .replace(
          "control characters are not allowed in strings",
          "a string holds a control character, or its closing quote is missing",
        );
      return { problem: { line: error.line, column: error.column, reason } };
    }
    return {
      problem: { line: 1, column: 0, reason: "not TOML: nested too deep" },
    };
  }
}

/** A problem in one line. */
export function tomlProblemText({ line, column, reason }: TomlProblem): string {
  return `line ${line}${column === 0 ? "" : `, column ${column}`}: ${reason}`;
}
