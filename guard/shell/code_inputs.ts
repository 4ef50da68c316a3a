/**
 * What scripting code is handed: its arguments, its environment, the directories it asks for.
 *
 * @module
 */
import { isArgumentList } from "./code_given.ts";
import { type CodeSurroundings, temporaryPlace } from "./code_surroundings.ts";
import type { CodeTokens } from "./code_tokens.ts";
import type { Valued } from "./code_values.ts";
import type { Lexicon, Token } from "./tokens.ts";

/** Tokens whose expressions can be read. */
interface Readable extends CodeTokens {
  value(i: number): Valued | undefined;
}

/** Reads what the code is handed off a list of tokens. */
export class CodeInputs {
  /** What the code itself puts into its environment. */
  readonly environment: Map<string, string> = new Map();
  readonly #tokens: readonly Token[];
  readonly #code: Readable;
  readonly #language: Lexicon;
  readonly #around: CodeSurroundings;
  readonly #parsesOptions: boolean;

  /**
   * Prepares reading.
   *
   * @param tokens The code.
   * @param code The same, with its values.
   * @param language Its language.
   * @param around What is known around it.
   */
  constructor(
    tokens: readonly Token[],
    code: Readable,
    language: Lexicon,
    around: CodeSurroundings,
  ) {
    this.#tokens = tokens;
    this.#code = code;
    this.#language = language;
    this.#around = around;
    this.#parsesOptions = tokens.some(({ value }) =>
      value === "parse_args" || value === "parseArgs"
    );
  }

  /** `shift` in Perl, `ARGV.shift` in Ruby: the next argument that was not taken before. */
  #shifted(i: number, name: string): Valued | undefined {
    if (
      !(this.#language === "perl" && name === "shift") &&
      !(this.#language === "ruby" && /^ARGV\.(?:shift|first)$/.test(name))
    ) return undefined;
    const taken =
      this.#tokens.slice(0, i).filter((token) => token.value === "shift")
        .length;
    const text = this.#around.argv[taken];
    const words = name.split(".").length * 2 - 1;
    return text === undefined ? undefined : { text, end: i + words };
  }

  /**
   * Every argument of the program, where the code names the whole list.
   *
   * @param i Index of the list's first token.
   * @returns The arguments; none for another name.
   */
  listed(i: number): readonly string[] {
    const { words } = this.#code.qualified(i);
    return isArgumentList(words.slice(0, 2).join("."), this.#language) ||
        isArgumentList(words[0] ?? "", this.#language)
      ? this.#around.argv
      : [];
  }

  /**
   * Arguments and environment: `sys.argv[1]`, `process.env.HOME`, `ENV["HOME"]`.
   *
   * @param i Index of the first token.
   * @returns The value, or `undefined` for anything else.
   */
  given(i: number): Valued | undefined {
    const { words, end } = this.#code.qualified(i);
    const name = words.join(".");
    const ofR = this.#language === "r" ? this.#argumentOfR(i) : undefined;
    if (ofR !== undefined) return ofR;
    if (
      name === "sys.argv" || name === "process.argv" || name === "ARGV" ||
      name === "argv" && this.#language === "python" ||
      name === "arg" && this.#language === "lua" ||
      name === "$ARGV" || name === "Deno.args" || name === "$argv"
    ) {
      if (!this.#code.isMark(end, "[")) return undefined;
      const index = Number(this.#tokens[end + 1]?.value);
      const base = /^(?:(?:sys\.|process\.|\$)?argv|arg)$/.test(name) ? 1 : 0;
      const text = this.#around.argv[index - base];
      return text === undefined ? undefined : { text, end: end + 3 };
    }
    const option = words.length === 2 && this.#parsesOptions
      ? this.#option(words[1] ?? "")
      : undefined;
    if (option !== undefined) return { text: option, end };
    const shifted = this.#shifted(i, name);
    if (shifted !== undefined) return shifted;
    if (
      /^(?:process\.env|os\.environ|ENV|\$ENV)$/.test(name) &&
      /^[[{]$/.test(this.#tokens[end]?.value ?? "")
    ) {
      return this.#variable(this.#tokens[end + 1]?.value ?? "", end + 3);
    }
    const dotted = /^process\.env\.(\w+)$/.exec(name)?.[1];
    if (dotted !== undefined) return this.#variable(dotted, end);
    if (
      /^(?:os\.environ\.get|os\.getenv|Deno\.env\.get|getenv|ENV\.fetch)$/.test(
        name,
      ) && this.#code.isMark(end, "(")
    ) {
      const known = this.#variable(
        this.#tokens[end + 1]?.value ?? "",
        this.#code.closing(end) + 1,
      );
      // In a fresh shell it is the default that counts.
      const given = this.#code.isMark(end + 2, ",")
        ? this.#code.value(end + 3)
        : undefined;
      return known ??
        (given === undefined
          ? undefined
          : { text: given.text, end: this.#code.closing(end) + 1 });
    }
    if (/(?:^|\.)(?:homedir|Path\.home|Dir\.home)$/.test(name)) {
      const called = this.#code.isMark(end, "(") ? end + 2 : end;
      const { home } = this.#around;
      return home === undefined
        ? undefined
        : { text: home, end: called, isPath: name.endsWith("Path.home") };
    }
    if (/(?:^|\.)(?:tmpdir|gettempdir)$/.test(name)) {
      const called = this.#code.isMark(end, "(") ? end + 2 : end;
      return { text: temporaryPlace(this.#around), end: called };
    }
    if (/^(?:os\.path|path|os)\.sep$/.test(name)) return { text: "/", end };
    if (name === "sys.executable") return { text: "python3", end };
    if (name === "process.execPath") return { text: "node", end };
    if (/^(?:__dirname|import\.meta\.dirname)$/.test(name)) {
      return { text: ".", end };
    }
    if (
      /^(?:(?:os\.)?getcwd|process\.cwd|Deno\.cwd|(?:pathlib\.)?Path\.cwd|Dir\.pwd)$/
        .test(name)
    ) {
      const called = this.#code.isMark(end, "(") ? end + 2 : end;
      return { text: ".", end: called, isPath: name.endsWith("Path.cwd") };
    }
    return undefined;
  }

  /** `commandArgs(TRUE)[1]`, or `a[1]` behind `a <- commandArgs(TRUE)`. */
  #argumentOfR(i: number): Valued | undefined {
    const name = this.#tokens[i]?.value ?? "";
    const asked = name === "commandArgs" && this.#code.isMark(i + 1, "(");
    const open = asked ? this.#code.closing(i + 1) + 1 : i + 1;
    if (!this.#code.isMark(open, "[")) return undefined;
    const given = asked ||
      this.#tokens.some((token, k) =>
        token.value === "commandArgs" && this.#code.isMark(k - 1, "-") &&
        this.#tokens[k - 3]?.value === name
      );
    const text = this.#around.argv[Number(this.#tokens[open + 1]?.value) - 1];
    return given && text !== undefined ? { text, end: open + 3 } : undefined;
  }

  /** `args.out` of a program that was given `--out x`. */
  #option(name: string): string | undefined {
    const long = `--${name.replaceAll("_", "-")}`;
    const { argv } = this.#around;
    const at = argv.findIndex((arg) => arg === long);
    return at === -1
      ? argv.find((arg) => arg.startsWith(`${long}=`))?.slice(long.length + 1)
      : argv[at + 1];
  }

  #variable(name: string, end: number): Valued | undefined {
    const text = this.environment.get(name) ?? this.#around.variable(name);
    return text === undefined ? undefined : { text, end };
  }
}
