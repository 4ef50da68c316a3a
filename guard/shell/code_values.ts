/**
 * The literal values of expressions in scripting code: strings, names they were given to,
 * concatenations, joined paths, path objects.
 *
 * @module
 */
import { ANY, SEG, SUB } from "../holes.ts";
import {
  type CodeSurroundings,
  expandHome,
  interpolatedSurrounding,
} from "./code_surroundings.ts";
import { CodeInputs } from "./code_inputs.ts";
import { CodeTokens } from "./code_tokens.ts";
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
export class CodeValues extends CodeTokens {
  /** What modules were renamed to. */
  readonly modules: Map<string, string> = new Map();
  readonly #language: Lexicon;
  readonly #around: CodeSurroundings;
  readonly #known = new Map<string, Valued>();
  /** What the code is handed. */
  readonly inputs: CodeInputs;
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
    super(tokens);
    this.#language = language;
    this.#around = around;
    this.inputs = new CodeInputs(tokens, this, language, around);
    // `const { join } = require("path")`, `from os.path import join`.
    this.#importsPaths = tokens.some((token, i) =>
      token.kind === "text"
        ? /^(?:node:)?path$/.test(token.value)
        : token.value === "path" && tokens[i + 1]?.value === "import"
    );
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
   * Gives a name its value from here on.
   *
   * @param name The name.
   * @param value The value; `undefined` when nothing is known of it any more.
   */
  bind(name: string, value: Valued | undefined): void {
    if (value === undefined) this.#known.delete(name);
    else this.#known.set(name, value);
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
      return this.#chosen(i, this.#sum(i));
    } finally {
      this.#nesting--;
    }
  }

  /** `x or "/y"`, `x ?? "/y"`, `"a" if b else "/y"`: a computed side leaves the other to say. */
  #chosen(i: number, left: Valued | undefined): Valued | undefined {
    const python = this.#language === "python";
    if (left !== undefined) {
      if (!python || this.tokens[left.end]?.value !== "if") return left;
      const other = this.#behind(left.end + 1, "else");
      return other !== undefined && /^[/~]|^\.\./.test(other.text)
        ? other
        : left;
    }
    if (this.tokens[i]?.kind !== "name") return undefined;
    return this.#behind(i, "or") ?? this.#behind(i, "else");
  }

  /** The value behind a word or doubled mark that ends an expression which is not known. */
  #behind(i: number, word: "or" | "else"): Valued | undefined {
    for (let k = i; k < this.tokens.length && k < i + 24; k++) {
      const token = this.tokens[k];
      if (token?.kind === "mark") {
        if (/^[([{]$/.test(token.value)) k = this.closing(k);
        else if (
          word === "or" && /^[|?]$/.test(token.value) &&
          this.isMark(k + 1, token.value)
        ) return this.#sum(k + 2);
        else if (/^[,;=)\]}:]$/.test(token.value)) return undefined;
      } else if (
        token?.value === word && this.#language === "python" && k > i
      ) return this.#sum(k + 1);
    }
    return undefined;
  }

  #sum(i: number): Valued | undefined {
    let left = this.#single(i);
    for (let k = 0; left !== undefined && k < 50; k++) {
      if (
        this.#language === "python" &&
        this.tokens[left.end]?.value === "%" &&
        left.text.includes("%")
      ) {
        left = this.#formatted(left, left.end + 1, /%[-\d.]*[sdrif]/g);
        continue;
      }
      const operator = this.tokens[left.end];
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

  /** `"/srv/%s" % x`, `"/srv/{}".format(x)`: what is not known may be anything. */
  #formatted(left: Valued, i: number, holes: RegExp): Valued | undefined {
    const list = this.isMark(i, "(");
    const given: string[] = [];
    let end = i;
    let complete = true;
    const close = list ? this.closing(i) : this.tokens.length;
    for (let k = list ? i + 1 : i; k < close && given.length < 20;) {
      const value = list ? this.value(k) : this.#single(k);
      if (value === undefined) {
        complete = false;
        break;
      }
      given.push(value.text);
      end = value.end;
      if (!list || !this.isMark(value.end, ",")) break;
      k = value.end + 1;
    }
    if (list) end = close + 1;
    if (!complete && !this.#partial) return undefined;
    let n = 0;
    const text = left.text.replace(holes, () => given[n++] ?? ANY);
    if (!this.#partial && text.includes(ANY)) return undefined;
    return { ...left, text, end: complete || list ? end : this.tokens.length };
  }

  #single(i: number): Valued | undefined {
    const token = this.tokens[i];
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
    const special = this.inputs.given(i) ?? this.#called(i);
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
      const name = this.tokens[value.end + 1]?.value ?? "";
      const opens = this.isMark(value.end + 2, "(");
      if (value.isPath && !opens && /^(?:name|stem|suffix)$/.test(name)) {
        const text = value.text.split("/").at(-1) ?? "";
        value = { text: text === "" ? SEG : text, end: value.end + 2 };
      } else if (name === "parent" && !opens) {
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
        const close = this.closing(value.end + 2);
        value = {
          ...value,
          text: joinPath(value.text, name === "rglob" ? SUB : SEG),
          end: close + 1,
        };
      } else if (name === "format" && opens && this.#language === "python") {
        const made = this.#formatted(value, value.end + 2, /\{[^{}]*\}/g);
        if (made === undefined) return undefined;
        value = made;
      } else if (
        name === "join" && opens && !value.isPath &&
        this.isMark(value.end + 3, "[")
      ) {
        const parts = this.#listOf(value.end + 3);
        if (parts === undefined) return undefined;
        value = {
          text: parts.join(value.text),
          end: this.closing(value.end + 2) + 1,
        };
      } else if (value.isPath && opens && name === "relative_to") {
        value = { ...value, text: SUB, end: this.closing(value.end + 2) + 1 };
      } else if (value.isPath && opens && name === "with_suffix") {
        value = {
          ...value,
          text: value.text.replace(/\.[^./]*$/, "") +
            (this.value(value.end + 3)?.text ?? SEG),
          end: this.closing(value.end + 2) + 1,
        };
      } else if (value.isPath && opens && name === "joinpath") {
        const parts = this.#listOf(value.end + 2);
        if (parts === undefined) return undefined;
        value = {
          ...value,
          text: parts.reduce((base, next) => joinPath(base, next), value.text),
          end: this.closing(value.end + 2) + 1,
        };
      } else if (
        /^(?:join|with_name|concat)$/.test(name) && opens &&
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

  /** The values between two brackets; nothing when one of them is not known. */
  #listOf(open: number): string[] | undefined {
    const close = this.closing(open);
    const parts: string[] = [];
    for (let k = open + 1; k < close && parts.length < 50;) {
      const value = this.value(k);
      if (value === undefined) return undefined;
      parts.push(value.text);
      k = this.isMark(value.end, ",") ? value.end + 1 : value.end;
      if (k === value.end && k < close) return undefined;
    }
    return parts;
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
        const known = /^(['"])(.*)\1$/.exec(key)?.[2] ??
          this.#known.get(key)?.text ??
          interpolatedSurrounding(key, this.#around);
        if (known === undefined) complete = false;
        return known ?? ANY;
      },
    );
    return complete || this.#partial ? result : undefined;
  }

  /** `os.path.join("a", "b")`, `require("path").join(…)`, `Path("a")`, `Pathname.new("a")`. */
  #called(i: number): Valued | undefined {
    const { words, end } = this.qualified(i);
    if (!this.isMark(end, "(")) return undefined;
    const last = words.at(-1) ?? "";
    const isPath = MAKERS.test(this.modules.get(last) ?? last) ||
      (last === "new" && MAKERS.test(words.at(-2) ?? ""));
    const joins = isPath ||
      (/^(?:join|resolve)$/.test(last) &&
        (words.length > 1 || this.#importsPaths)) ||
      /^(?:expanduser|abspath|realpath|normpath|fspath)$/.test(last);
    if (/^(?:dirname|basename)$/.test(last) && words.length > 1) {
      const value = this.value(end + 1);
      if (value === undefined || !this.isMark(value.end, ")")) return undefined;
      const text = last === "basename"
        ? value.text.split("/").at(-1) ?? ""
        : /^\.{0,2}$/.test(value.text)
        ? joinPath(value.text, "..")
        : value.text.includes("/")
        ? value.text.slice(0, value.text.lastIndexOf("/")) || "/"
        : ".";
      return { text, end: value.end + 1 };
    }
    if (!joins) return undefined;
    const parts: string[] = [];
    for (let k = end + 1; k < this.tokens.length;) {
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
        return { text: text + ANY, end: this.tokens.length, isPath };
      }
      parts.push(value.text);
      k = this.isMark(value.end, ",") ? value.end + 1 : value.end;
    }
    return undefined;
  }
}
