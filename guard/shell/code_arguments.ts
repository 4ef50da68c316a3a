/**
 * The arguments of a call in scripting code: by place, by name.
 *
 * @module
 */
import { ANY, SEG } from "../holes.ts";
import { R_FIRST, R_NAMED, R_SECOND } from "./code_names.ts";
import type { CodeBindings } from "./code_bindings.ts";
import type { CodeValues, Valued } from "./code_values.ts";
import type { Token } from "./tokens.ts";

/** Reads the arguments of calls off a list of tokens. */
export class CodeArguments {
  readonly #tokens: readonly Token[];
  readonly #values: CodeValues;
  readonly #bindings: CodeBindings;

  /**
   * Prepares reading.
   *
   * @param tokens The code.
   * @param values Reads the value of each argument.
   * @param bindings Knows the lists that names stand for.
   */
  constructor(
    tokens: readonly Token[],
    values: CodeValues,
    bindings: CodeBindings,
  ) {
    this.#bindings = bindings;
    this.#tokens = tokens;
    this.#values = values;
  }

  /**
   * The n-th argument of a call.
   *
   * @param start Index of the first token behind the bracket.
   * @param n Which one, from 0.
   * @returns Its value, or `undefined` when it is computed.
   */
  at(start: number, n: number): string | undefined {
    if (n === 0) return this.#values.value(start)?.text;
    let depth = 0;
    let count = 0;
    for (let j = start; j < this.#tokens.length && j < start + 400; j++) {
      const token = this.#tokens[j];
      if (token?.kind !== "mark") continue;
      if (/[([{]/.test(token.value)) depth++;
      else if (/[)\]}]/.test(token.value)) {
        if (depth-- === 0) return undefined;
      } else if (token.value === ";" && depth === 0) return undefined;
      else if (token.value === "," && depth === 0 && ++count === n) {
        return (this.#values.value(j + 1) ?? this.#values.partial(j + 1))
          ?.text;
      }
    }
    return undefined;
  }

  /**
   * All literal texts among a call's arguments, for functions that take a list.
   *
   * @param start Index of the first token behind the bracket.
   * @returns The texts.
   */
  texts(start: number): string[] {
    const texts: string[] = [];
    let depth = 0;
    for (let j = start; j < this.#tokens.length && j < start + 200; j++) {
      const token = this.#tokens[j];
      if (token?.kind === "mark") {
        if (/[([{]/.test(token.value)) depth++;
        else if (/[)\]}]/.test(token.value) && depth-- === 0) break;
        else if (token.value === ";") break;
      } else if (token?.kind === "text") {
        const text = this.#values.value(j)?.text;
        const globs = this.#tokens[j - 2]?.value === "glob";
        if (text !== undefined) {
          texts.push(globs ? text.replace(/[*?]+/g, SEG) : text);
        }
      } else if (token?.kind === "name" && !this.#values.isMark(j - 1, ".")) {
        const whole = this.#values.inputs.listed(j);
        const one = /^(?:\$|shift$)/.test(token.value) ||
            token.value === "ARGV" || this.#values.knows(token.value)
          ? this.#values.value(j)?.text
          : undefined;
        texts.push(...one === undefined ? whole : [one]);
      }
    }
    return texts;
  }

  /**
   * Whether a `chmod` among scripting code takes the owner's way into a directory.
   *
   * @param start Index of the first token behind the bracket.
   * @returns `true` when its mode says so.
   */
  blinds(start: number): boolean {
    for (let j = start; j < this.#tokens.length && j < start + 12; j++) {
      const token = this.#tokens[j];
      if (token === undefined || this.#values.isMark(j, ")")) break;
      const octal = /^(?:0o?)?([0-7]{1,4})$/.exec(token.value)?.[1];
      if (octal !== undefined) return (parseInt(octal, 8) & 0o100) === 0;
    }
    return false;
  }

  /**
   * The first argument, when it is given by name.
   *
   * @param start Index of the first token behind the bracket.
   * @param name The name.
   * @returns Its value.
   */
  leading(start: number, name: string): Valued | undefined {
    return this.#tokens[start]?.value === name &&
        this.#values.isMark(start + 1, "=")
      ? this.#values.value(start + 2)
      : undefined;
  }

  /**
   * An argument that is given by name, or a key of an options object.
   *
   * @param start Index of the first token behind the bracket.
   * @param name The name.
   * @returns Its value.
   */
  named(start: number, name: string): string | undefined {
    for (let j = start; j < this.#tokens.length && j < start + 60; j++) {
      if (this.#values.isMark(j, ")")) return undefined;
      if (
        this.#tokens[j]?.value === name &&
        (this.#values.isMark(j + 1, "=") || this.#values.isMark(j + 1, ":"))
      ) {
        return this.#values.value(j + 2)?.text;
      }
    }
    return undefined;
  }

  /**
   * Whether an argument is given by name, known or not.
   *
   * @param start Index of the first token behind the bracket.
   * @param name The name.
   * @returns `true` when it is.
   */
  given(start: number, name: string): boolean {
    for (let j = start; j < this.#tokens.length && j < start + 60; j++) {
      if (this.#values.isMark(j, ")")) return false;
      if (
        this.#tokens[j]?.value === name && this.#values.isMark(j + 1, "=")
      ) return true;
    }
    return false;
  }

  /**
   * The words of a call behind its first argument, for flags that are no literals.
   *
   * @param start Index of the first token behind the bracket.
   * @returns The words.
   */
  words(start: number): string {
    const words: string[] = [];
    for (
      let j = start;
      j < this.#tokens.length && j < start + 40 &&
      !this.#values.isMark(j, ")");
      j++
    ) {
      words.push(this.#tokens[j]?.value ?? "");
    }
    return words.slice(1).join(" ");
  }

  /**
   * The command line of a call that starts a program: text for a shell, or words.
   *
   * @param start Index of the first token behind the bracket.
   * @param first The first argument, when it is a literal.
   * @returns The command, or `undefined` when it is computed.
   */
  command(
    start: number,
    first: Valued | undefined,
  ): string | string[] | undefined {
    if (first === undefined) {
      // `shlex.split("a b")`, and a name of a list
      const { words, end } = this.#values.qualified(start);
      if (/^(?:shlex\.)?split$/.test(words.join("."))) {
        return this.#values.value(end + 1)?.text;
      }
      const list = this.#bindings.listOf(this.#tokens[start]?.value ?? "");
      if (
        list !== undefined &&
        /^[,)]$/.test(this.#tokens[start + 1]?.value ?? "")
      ) {
        const words = this.#list(
          list + 1,
          this.#values.isMark(list, "[") ? "]" : ")",
        );
        return words.length === 0 ? undefined : words;
      }
      const close = this.#values.isMark(start, "[")
        ? "]"
        : this.#values.isMark(start, "(")
        ? ")"
        : undefined;
      if (close === undefined) return undefined;
      const argv = this.#list(start + 1, close);
      return argv.length === 0 ? undefined : argv;
    }
    // spawn("rm", ["-rf", "/srv"]) and system("rm", "-rf", "/srv")
    const rest = this.#following(first.end);
    return rest.length === 0 || /\s/.test(first.text)
      ? first.text
      : [first.text, ...rest];
  }

  /** The words of a list; what is computed may be any. */
  #list(from: number, close: string): string[] {
    const words: string[] = [];
    for (
      let j = from;
      j < this.#tokens.length && !this.#values.isMark(j, close);
      j++
    ) {
      const token = this.#tokens[j];
      if (token?.kind === "text") words.push(token.value);
      else if (token?.kind === "name") {
        words.push(this.#values.value(j)?.text ?? ANY);
      }
    }
    return words;
  }

  /** The literal words behind a first argument, up to an option or the call's end. */
  #following(from: number): string[] {
    const words: string[] = [];
    let depth = 0;
    for (let j = from; j < this.#tokens.length && j < from + 80; j++) {
      const token = this.#tokens[j];
      if (
        token === undefined ||
        (token.kind === "mark" && /[);{]/.test(token.value) && depth === 0)
      ) break;
      if (token.kind === "mark" && token.value === "[") depth++;
      else if (token.kind === "mark" && token.value === "]") depth--;
      else if (token.kind === "text") words.push(token.value);
      else if (
        token.kind === "name" && depth === 0 &&
        !/^(?:shell|True|true|check|cwd)$/.test(token.value) &&
        !this.#values.knows(token.value)
      ) break;
    }
    return words;
  }

  /**
   * What Perl's `open(my $f, ">", "x")` or `open(F, ">x")` writes or runs.
   *
   * @param start Index of the first token behind the bracket.
   * @returns The file or the command; `undefined` when it only reads.
   */
  openedByPerl(start: number): { target: string; runs: boolean } | undefined {
    const literals: string[] = [];
    for (let j = start; j < start + 14 && j < this.#tokens.length; j++) {
      const token = this.#tokens[j];
      if (
        token?.kind === "mark" && (token.value === ";" || token.value === ")")
      ) break;
      const named = token?.kind === "name" &&
        (this.#values.knows(token.value) ||
          /^(?:\$ARGV|shift)$/.test(token.value));
      if (token?.kind === "text" || named) {
        literals.push(
          (this.#values.value(j) ?? this.#values.partial(j))?.text ?? "",
        );
      }
    }
    const [mode = "", path] = literals;
    const [, operator, attached] =
      /^\s*(\+?[>]{1,2}|\+<|\|)\s*(.*)$/.exec(mode) ?? [];
    const target = attached || path;
    if (operator === undefined || target === undefined) return undefined;
    const runs = operator === "|";
    return !runs && target.startsWith("&") ? undefined : { target, runs };
  }

  /**
   * What one of R's own functions writes; their names hold dots.
   *
   * @param i Index of the last word of the name.
   * @param start Index of the first token behind the bracket.
   * @returns The target.
   */
  writtenByR(i: number, start: number): string | undefined {
    const last = this.#tokens[i]?.value ?? "";
    const name = this.#values.isMark(i - 1, ".")
      ? `${this.#tokens[i - 2]?.value}.${last}`
      : last;
    const named = this.named(start, "file") ?? this.named(start, "path") ??
      this.named(start, "filename");
    if (R_FIRST.test(name)) return named ?? this.at(start, 0);
    if (R_SECOND.test(name)) return named ?? this.at(start, 1);
    if (!R_NAMED.test(name)) return undefined;
    return named ?? this.named(start, "output_file") ??
      this.named(start, "output_dir") ?? this.named(start, "output") ??
      this.named(start, "exdir");
  }
}
