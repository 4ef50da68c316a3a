/**
 * Finds its way about the tokens of scripting code: punctuation, brackets, dotted names.
 *
 * @module
 */
import type { Token } from "./tokens.ts";

/** A list of tokens. */
export class CodeTokens {
  /** The tokens. */
  protected readonly tokens: readonly Token[];

  /**
   * Takes the tokens.
   *
   * @param tokens The code.
   */
  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  /**
   * Whether a token is some punctuation.
   *
   * @param i The token's index.
   * @param value The character.
   * @returns `true` when it is.
   */
  isMark(i: number, value: string): boolean {
    const token = this.tokens[i];
    return token?.kind === "mark" && token.value === value;
  }

  /**
   * The bracket that closes one.
   *
   * @param open Index of the one that opens.
   * @returns The index of the other; the end when there is none.
   */
  closing(open: number): number {
    let depth = 0;
    for (let k = open; k < this.tokens.length && k < open + 200; k++) {
      const token = this.tokens[k];
      if (token?.kind !== "mark") continue;
      if (/^[([{]$/.test(token.value)) depth++;
      else if (/^[)\]}]$/.test(token.value) && --depth === 0) return k;
    }
    return this.tokens.length;
  }

  /**
   * The words of `a.b.c` or `require("a").b.c`, and the token behind them.
   *
   * @param i Index of the first word.
   * @returns The words, and the index behind them.
   */
  qualified(i: number): { words: string[]; end: number } {
    const words = this.#dotted(i);
    const end = i + words.length * 2 - 1;
    if (
      words[0] === "require" && words.length === 1 && this.isMark(end, "(") &&
      this.isMark(end + 3, ".")
    ) {
      const inner = this.#dotted(i + 5);
      return {
        words: [moduleName(this.tokens[i + 2]?.value), ...inner],
        end: i + 5 + inner.length * 2 - 1,
      };
    }
    return { words, end };
  }

  /** The words of `a.b.c` from a name on. */
  #dotted(i: number): string[] {
    const words: string[] = [];
    for (let j = i; this.tokens[j]?.kind === "name"; j += 2) {
      words.push(this.tokens[j]?.value ?? "");
      if (!this.isMark(j + 1, ".") || words.length > 6) break;
    }
    return words;
  }
}

/**
 * The name of a module, without its scheme and what stands behind a slash.
 *
 * @param text What the code imports.
 * @returns The name.
 */
export function moduleName(text: string | undefined): string {
  return (text ?? "").replace(/^node:/, "").split("/").at(0)?.replace(
    "fs-extra",
    "fs",
  ) ?? "";
}
