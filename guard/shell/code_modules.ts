/**
 * Whether a call in scripting code is one of a module that works on files or starts programs, and
 * not of something else by the same name.
 *
 * @module
 */
import { MODULES, NEEDS_MODULE } from "./code_names.ts";
import type { CodeValues } from "./code_values.ts";
import type { Lexicon, Token } from "./tokens.ts";

/** Tells whose function a call is. */
export class CodeModules {
  readonly #tokens: readonly Token[];
  readonly #language: Lexicon;
  readonly #values: CodeValues;

  /**
   * Prepares looking.
   *
   * @param tokens The code.
   * @param language Its language.
   * @param values Knows what modules were renamed to.
   */
  constructor(
    tokens: readonly Token[],
    language: Lexicon,
    values: CodeValues,
  ) {
    this.#tokens = tokens;
    this.#language = language;
    this.#values = values;
  }

  /** Whether a call of this name may be one of a file module. */
  trusted(i: number, name: string): boolean {
    if (name === "open" && this.#values.isMark(i - 1, ".")) {
      return this.follows(
        i,
        /^(?:os|io|codecs|gzip|bz2|lzma|fs|fsp|promises|File|Deno|Pathname|aiofiles|tarfile|zipfile|ZipFile|shelve|dbm|builtins|CSV|GzipWriter|Zip|Zlib)$/,
      );
    }
    if (name === "exec") {
      return !this.#values.isMark(i - 1, ".") || this.follows(i, MODULES);
    }
    if (!NEEDS_MODULE.test(name)) return true;
    if (this.#values.isMark(i - 1, ".") || this.#values.isMark(i - 1, ":")) {
      return this.follows(i, MODULES);
    }
    // A bare call: a builtin of Perl or Ruby, or a name that was imported.
    return this.#language !== "javascript" && this.#language !== "python"
      ? true
      : this.#tokens.some((token, j) =>
        (token.value === name ||
          token.value === "*" &&
            this.#tokens[j - 1]?.value === "import") &&
        j !== i && j < i && !this.#isFunction(j) &&
        this.#tokens.slice(Math.max(0, j - 12), j).some((before) =>
          /^(?:import|from|require|const)$/.test(before.value)
        )
      );
  }

  /** `const rm = (p) => …` and `function rm(…)` of the code's own. */
  #isFunction(i: number): boolean {
    if (this.#tokens[i - 1]?.value === "function") return true;
    if (!this.#values.isMark(i + 1, "=")) return false;
    for (let k = i + 2; k < i + 12; k++) {
      if (this.#tokens[k]?.value === "function") return true;
      if (this.#values.isMark(k, "=") && this.#values.isMark(k + 1, ">")) {
        return true;
      }
      if (this.#values.isMark(k, ";")) return false;
    }
    return false;
  }

  /** The word before the dot is one of some. */
  follows(i: number, owner: RegExp): boolean {
    let j = i - 1;
    while (this.#values.isMark(j, ".") || this.#values.isMark(j, ":")) j--;
    const token = this.#tokens[j];
    if (token?.kind === "name") {
      return owner.test(token.value) ||
        owner.test(this.#values.modules.get(token.value) ?? "-");
    }
    // require("fs").x and require("node:fs/promises").x
    if (this.#values.isMark(j, ")")) {
      const inner = this.#tokens[j - 1];
      return inner?.kind === "text" &&
        inner.value.replace(/^node:/, "").split("/").some((part) =>
          owner.test(part) || owner.test(part.replace("-extra", ""))
        );
    }
    return false;
  }
}
