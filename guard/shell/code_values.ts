/**
 * The literal values of expressions in scripting code: strings, names they were given to,
 * concatenations, joined paths, path objects, and what comes from arguments and environment.
 *
 * @module
 */
import { ANY, isKnown, SEG, SUB } from "../holes.ts";
import {
  type CodeSurroundings,
  expandHome,
  interpolatedSurrounding,
  temporaryPlace,
} from "./code_surroundings.ts";
import { argumentNames, isArgumentList, mostTelling } from "./code_given.ts";
import type { Lexicon, Token } from "./tokens.ts";
import { joinPath } from "./places.ts";

/** A value and the token after it. */
export interface Valued {
  /** The text. */
  text: string;
  /** Index of the first token behind the expression. */
  end: number;
  /** The expression is a path object, whose methods write. */
  isPath?: boolean;
}

/** Deepest nesting of an expression that is read. */
const MAX_NESTING = 10;

/** Words that make a path object. */
const MAKERS = /^(?:Path|PosixPath|PurePath|Pathname)$/;

/** Reads values off a list of tokens. */
export class CodeValues {
  /** What modules were renamed to. */
  readonly modules: Map<string, string> = new Map();
  readonly #tokens: readonly Token[];
  readonly #language: Lexicon;
  readonly #around: CodeSurroundings;
  readonly #known = new Map<string, Valued>();
  readonly #importsPaths: boolean;
  #nesting = 0;
  #partial = false;

  /**
   * Starts with nothing known.
   *
   * @param tokens The code.
   * @param language Its language.
   * @param around What is known around it.
   */
  constructor(
    tokens: readonly Token[],
    language: Lexicon,
    around: CodeSurroundings,
  ) {
    this.#tokens = tokens;
    this.#language = language;
    this.#around = around;
    // `const { join } = require("path")`, `from os.path import join`.
    this.#importsPaths = tokens.some((token, i) =>
      token.kind === "text"
        ? /^(?:node:)?path$/.test(token.value)
        : token.value === "path" && tokens[i + 1]?.value === "import"
    );
  }

  /**
   * Whether a token is some punctuation.
   *
   * @param i The token's index.
   * @param value The character.
   * @returns `true` when it is.
   */
  isMark(i: number, value: string): boolean {
    const token = this.#tokens[i];
    return token?.kind === "mark" && token.value === value;
  }

  /**
   * Whether anything is known of a name.
   *
   * @param name The name.
   * @returns `true` when it was given a literal.
   */
  knows(name: string): boolean {
    return this.#known.has(name);
  }

  /**
   * Carries out `name = value` and the renaming of modules.
   *
   * @param i Index of the name.
   */
  assign(i: number): void {
    const name = this.#tokens[i]?.value ?? "";
    // import x as y
    if (name === "as" && this.#tokens[i + 1]?.kind === "name") {
      const module = this.#tokens[i - 1]?.value ?? "";
      this.modules.set(this.#tokens[i + 1]?.value ?? "", module);
      return;
    }
    // import * as fs from "fs"; import fs from "node:fs"
    if (
      name === "from" && this.#language === "javascript" &&
      this.#tokens[i + 1]?.kind === "text"
    ) {
      const local = this.#tokens[i - 1];
      if (local?.kind === "name") {
        this.modules.set(local.value, moduleName(this.#tokens[i + 1]?.value));
      }
      return;
    }
    if (
      !this.isMark(i + 1, "=") || this.isMark(i + 2, "=") ||
      this.isMark(i + 2, ">")
    ) return;
    const required = this.#tokens[i + 2]?.value === "require" ||
      this.#tokens[i + 2]?.value === "__import__";
    if (required && this.#tokens[i + 4]?.kind === "text") {
      this.modules.set(name, moduleName(this.#tokens[i + 4]?.value));
      return;
    }
    const value = this.value(i + 2) ?? this.partial(i + 2);
    // What a method gives is something else than the path it is called on.
    const called = value?.isPath === true && this.isMark(value.end, ".");
    if (value === undefined || called) this.#known.delete(name);
    else this.#known.set(name, value);
  }

  /**
   * Carries out `for name in …` and `for (const name of …)`.
   *
   * @param i Index of the word between name and list.
   */
  walks(i: number): void {
    const given = this.#tokens[i]?.kind === "name"
      ? mostTelling(this.listed(i))
      : undefined;
    if (given !== undefined) {
      const names = argumentNames(this.#tokens, i, this.#language);
      for (const [n, name] of names.entries()) {
        const text = names.length > 1 ? this.#around.argv[n] : given;
        if (text !== undefined) this.#known.set(name, { text, end: i });
      }
    }
    const word = this.#tokens[i];
    if (word?.kind !== "name" || !/^(?:in|of)$/.test(word.value)) return;
    const name = this.#tokens[i - 1];
    if (name?.kind !== "name") return;
    const one = this.#member(i + 1);
    if (one !== undefined) this.#known.set(name.value, one);
  }

  /** What one of a list may be: literals, matches of a pattern, entries of a directory. */
  #member(i: number): Valued | undefined {
    if (this.isMark(i, "[") || this.isMark(i, "(")) {
      const found: Valued[] = [];
      for (let k = i + 1; k < this.#tokens.length && found.length < 50;) {
        const value = this.value(k);
        if (value === undefined) break;
        found.push(value);
        if (!this.isMark(value.end, ",")) break;
        k = value.end + 1;
      }
      // One that leaves the directory says more than the others.
      return found.find(({ text }) => /^[/~]|^\.\./.test(text)) ?? found[0];
    }
    const { words, end } = this.#qualified(i);
    if (/^i?glob(?:Sync)?$/.test(words.at(-1) ?? "") && this.isMark(end, "(")) {
      const pattern = this.value(end + 1);
      return pattern === undefined
        ? undefined
        : { ...pattern, text: pattern.text.replace(/[*?]+/g, SEG) };
    }
    const value = this.value(i);
    return value?.isPath === true && !isKnown(value.text) ? value : undefined;
  }

  /**
   * The value of an expression of which some parts are computed.
   *
   * @param i Index of its first token.
   * @returns The value with holes in it, or `undefined` when all of it is computed.
   */
  partial(i: number): Valued | undefined {
    this.#partial = true;
    try {
      const value = this.value(i);
      return value === undefined || value.text.startsWith(ANY)
        ? undefined
        : value;
    } finally {
      this.#partial = false;
    }
  }

  /**
   * The value of an expression.
   *
   * @param i Index of its first token.
   * @returns The value, or `undefined` when it is computed.
   */
  value(i: number): Valued | undefined {
    if (this.#nesting >= MAX_NESTING) return undefined;
    this.#nesting++;
    try {
      return this.#sum(i);
    } finally {
      this.#nesting--;
    }
  }

  #sum(i: number): Valued | undefined {
    let left = this.#single(i);
    for (let k = 0; left !== undefined && k < 50; k++) {
      const operator = this.#tokens[left.end];
      const joins = operator?.kind === "mark" &&
        (operator.value === "+" || operator.value === "/" ||
          (operator.value === "." &&
            (this.#language === "perl" || this.#language === "php" ||
              this.isMark(left.end + 1, "."))));
      if (!joins) return left;
      const isLua = operator.value === "." && this.isMark(left.end + 1, ".");
      const right = this.#single(left.end + (isLua ? 2 : 1));
      if (right === undefined) {
        if (!this.#partial) return undefined;
        const slash = operator.value === "/" ? "/" : "";
        return { ...left, text: left.text + slash + ANY };
      }
      left = {
        text: operator.value === "/"
          ? joinPath(left.text, right.text)
          : left.text + right.text,
        end: right.end,
        ...left.isPath ? { isPath: true } : {},
      };
    }
    return left;
  }

  #single(i: number): Valued | undefined {
    const token = this.#tokens[i];
    if (token === undefined) return undefined;
    if (token.kind === "text") {
      const text = token.open ? this.#interpolated(token.value) : token.value;
      return text === undefined ? undefined : this.#chain({ text, end: i + 1 });
    }
    if (token.value === "(" && token.kind === "mark") {
      const inner = this.value(i + 1);
      if (inner === undefined || !this.isMark(inner.end, ")")) return undefined;
      return this.#chain({ ...inner, end: inner.end + 1 });
    }
    if (token.kind !== "name") return undefined;
    if (
      /^(?:my|const|let|var|await|new|local|our|str|String)$/.test(token.value)
    ) {
      if (token.value === "str" || token.value === "String") {
        return this.isMark(i + 1, "(") ? this.value(i + 1) : undefined;
      }
      return this.value(i + 1);
    }
    const special = this.#given(i) ?? this.#called(i);
    if (special !== undefined) return this.#chain(special);
    const known = this.#known.get(token.value);
    if (known === undefined || this.isMark(i + 1, "(")) return undefined;
    if (!this.#partial && known.text.includes(ANY)) return undefined;
    return this.#chain({ ...known, end: i + 1 });
  }

  /** Methods that keep a path object literal: `.joinpath("x")`, `.expanduser()`, `.parent`. */
  #chain(start: Valued): Valued | undefined {
    let value = start;
    for (
      let k = 0;
      k < 20 && this.isMark(value.end, ".") && !this.isMark(value.end + 1, ".");
      k++
    ) {
      if (this.#language === "perl" || this.#language === "php") return value;
      const name = this.#tokens[value.end + 1]?.value ?? "";
      const opens = this.isMark(value.end + 2, "(");
      if (name === "parent" && !opens) {
        value = {
          ...value,
          text: joinPath(value.text, ".."),
          end: value.end + 2,
        };
      } else if (
        /^(?:resolve|absolute|expanduser|strip|rstrip|trim|toString|to_s)$/
          .test(name) && opens && this.isMark(value.end + 3, ")")
      ) {
        value = {
          ...value,
          text: name === "expanduser"
            ? expandHome(value.text, this.#around)
            : value.text,
          end: value.end + 4,
        };
      } else if (
        value.isPath && opens && /^(?:r?glob|iterdir)$/.test(name)
      ) {
        const close = this.#closing(value.end + 2);
        value = {
          ...value,
          text: joinPath(value.text, name === "rglob" ? SUB : SEG),
          end: close + 1,
        };
      } else if (
        /^(?:joinpath|join|with_name|concat)$/.test(name) && opens &&
        (value.isPath || name === "concat")
      ) {
        const next = this.value(value.end + 3);
        if (next === undefined || !this.isMark(next.end, ")")) return undefined;
        const text = name === "with_name"
          ? joinPath(value.text, "../" + next.text)
          : name === "concat"
          ? value.text + next.text
          : joinPath(value.text, next.text);
        value = { ...value, text, end: next.end + 1 };
      } else return value.isPath ? value : opens ? undefined : value;
    }
    return value;
  }

  /** The bracket that closes one. */
  #closing(open: number): number {
    let depth = 0;
    for (let k = open; k < this.#tokens.length && k < open + 200; k++) {
      if (this.isMark(k, "(")) depth++;
      else if (this.isMark(k, ")") && --depth === 0) return k;
    }
    return this.#tokens.length;
  }

  /** f"{base}/x", `${base}/x`, "#{base}/x", "$base/x": when every part is known. */
  #interpolated(text: string): string | undefined {
    let complete = true;
    const pattern = this.#language === "python"
      ? /\{\{|\}\}|\{([^{}]*)\}/g
      : this.#language === "ruby"
      ? /#\{([^{}]*)\}/g
      : this.#language === "perl" || this.#language === "php"
      ? /(\$ENV\{\w+\}|\$ARGV\[\d+\]|\$\w+)|\$\{(\w+)\}/g
      : /\$\{([^{}]*)\}/g;
    const result = text.replace(
      pattern,
      (whole, name?: string, other?: string) => {
        if (whole === "{{" || whole === "}}") return whole.charAt(0);
        const key = (name ?? (other === undefined ? "" : "$" + other)).trim();
        const known = this.#known.get(key)?.text ??
          interpolatedSurrounding(key, this.#around);
        if (known === undefined) complete = false;
        return known ?? ANY;
      },
    );
    return complete || this.#partial ? result : undefined;
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
    const { words } = this.#qualified(i);
    return isArgumentList(words.slice(0, 2).join("."), this.#language) ||
        isArgumentList(words[0] ?? "", this.#language)
      ? this.#around.argv
      : [];
  }

  /** Arguments and environment: `sys.argv[1]`, `process.env.HOME`, `ENV["HOME"]`. */
  #given(i: number): Valued | undefined {
    const { words, end } = this.#qualified(i);
    const name = words.join(".");
    if (
      name === "sys.argv" || name === "process.argv" || name === "ARGV" ||
      name === "argv" && this.#language === "python" ||
      name === "arg" && this.#language === "lua" ||
      name === "$ARGV" || name === "Deno.args" || name === "$argv"
    ) {
      if (!this.isMark(end, "[")) return undefined;
      const index = Number(this.#tokens[end + 1]?.value);
      const base = /^(?:(?:sys\.|process\.|\$)?argv|arg)$/.test(name) ? 1 : 0;
      const text = this.#around.argv[index - base];
      return text === undefined ? undefined : { text, end: end + 3 };
    }
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
      ) && this.isMark(end, "(")
    ) {
      const close = this.isMark(end + 2, ")") ? end + 3 : undefined;
      return close === undefined
        ? undefined
        : this.#variable(this.#tokens[end + 1]?.value ?? "", close);
    }
    if (/(?:^|\.)(?:homedir|Path\.home|Dir\.home)$/.test(name)) {
      const called = this.isMark(end, "(") ? end + 2 : end;
      const { home } = this.#around;
      return home === undefined
        ? undefined
        : { text: home, end: called, isPath: name.endsWith("Path.home") };
    }
    if (/(?:^|\.)(?:tmpdir|gettempdir)$/.test(name)) {
      const called = this.isMark(end, "(") ? end + 2 : end;
      return { text: temporaryPlace(this.#around), end: called };
    }
    if (/^(?:__dirname|import\.meta\.dirname)$/.test(name)) {
      return { text: ".", end };
    }
    if (
      /^(?:(?:os\.)?getcwd|process\.cwd|Deno\.cwd|(?:pathlib\.)?Path\.cwd|Dir\.pwd)$/
        .test(name)
    ) {
      const called = this.isMark(end, "(") ? end + 2 : end;
      return { text: ".", end: called, isPath: name.endsWith("Path.cwd") };
    }
    return undefined;
  }

  #variable(name: string, end: number): Valued | undefined {
    const text = this.#around.variable(name);
    return text === undefined ? undefined : { text, end };
  }

  /** `os.path.join("a", "b")`, `require("path").join(…)`, `Path("a")`, `Pathname.new("a")`. */
  #called(i: number): Valued | undefined {
    const { words, end } = this.#qualified(i);
    if (!this.isMark(end, "(")) return undefined;
    const last = words.at(-1) ?? "";
    const isPath = MAKERS.test(this.modules.get(last) ?? last) ||
      (last === "new" && MAKERS.test(words.at(-2) ?? ""));
    const joins = isPath ||
      (/^(?:join|resolve)$/.test(last) &&
        (words.length > 1 || this.#importsPaths)) ||
      /^(?:expanduser|abspath|realpath|normpath|fspath)$/.test(last);
    if (!joins) return undefined;
    const parts: string[] = [];
    for (let k = end + 1; k < this.#tokens.length;) {
      if (this.isMark(k, ")")) {
        const text = parts.reduce(
          (base, next) => joinPath(base, next),
          parts.shift() ?? ".",
        );
        return {
          text: last === "expanduser" ? expandHome(text, this.#around) : text,
          end: k + 1,
          isPath,
        };
      }
      const value = this.value(k);
      if (value === undefined) {
        if (!this.#partial || parts.length === 0) return undefined;
        const text = `${parts.reduce((base, next) => joinPath(base, next))}/`;
        return { text: text + ANY, end: this.#tokens.length, isPath };
      }
      parts.push(value.text);
      k = this.isMark(value.end, ",") ? value.end + 1 : value.end;
    }
    return undefined;
  }

  /** The words of `a.b.c` or `require("a").b.c`, and the token behind them. */
  #qualified(i: number): { words: string[]; end: number } {
    const words = this.#dotted(i);
    const end = i + words.length * 2 - 1;
    if (
      words[0] === "require" && words.length === 1 && this.isMark(end, "(") &&
      this.isMark(end + 3, ".")
    ) {
      const inner = this.#dotted(i + 5);
      return {
        words: [moduleName(this.#tokens[i + 2]?.value), ...inner],
        end: i + 5 + inner.length * 2 - 1,
      };
    }
    return { words, end };
  }

  /** The words of `a.b.c` from a name on. */
  #dotted(i: number): string[] {
    const words: string[] = [];
    for (let j = i; this.#tokens[j]?.kind === "name"; j += 2) {
      words.push(this.#tokens[j]?.value ?? "");
      if (!this.isMark(j + 1, ".") || words.length > 6) break;
    }
    return words;
  }
}

function moduleName(text: string | undefined): string {
  return (text ?? "").replace(/^node:/, "").split("/").at(0)?.replace(
    "fs-extra",
    "fs",
  ) ?? "";
}
