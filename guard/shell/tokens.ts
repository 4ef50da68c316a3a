/**
 * Splits source text of a scripting language into the tokens that matter for finding calls
 * with literal paths: names, string literals and punctuation. Comments and the inside of
 * strings never look like code.
 *
 * @module
 */

/** One token. */
export interface Token {
  /** What it is. */
  kind: "name" | "text" | "mark";
  /** The name, the string's content, or the character. */
  value: string;
  /** A string with interpolated parts, whose content is not exact. */
  open?: boolean;
}

/** Which lexical rules apply. */
export type Lexicon =
  | "python"
  | "javascript"
  | "ruby"
  | "perl"
  | "php"
  | "lua"
  | "r";

/** Most tokens that are read of one text. */
const MAX_TOKENS = 20_000;

/**
 * Splits source text.
 *
 * @param source The text.
 * @param language Its language.
 * @returns The tokens.
 */
export function tokenize(source: string, language: Lexicon): Token[] {
  const tokens: Token[] = [];
  const hashComments = language !== "javascript" && language !== "lua";
  const slashComments = language === "javascript" || language === "php";
  for (let i = 0; i < source.length && tokens.length < MAX_TOKENS;) {
    const char = source[i] ?? "";
    const two = source.slice(i, i + 2);
    if (/\s/.test(char)) {
      i++;
    } else if (
      (hashComments && char === "#" && !isVariableMark(source, i, language)) ||
      (slashComments && two === "//") || (language === "lua" && two === "--")
    ) {
      const end = source.indexOf("\n", i);
      i = end === -1 ? source.length : end;
    } else if (slashComments && two === "/*") {
      const end = source.indexOf("*/", i + 2);
      i = end === -1 ? source.length : end + 2;
    } else if (
      char === "'" || char === '"' || (char === "`" && language !== "python")
    ) {
      i = readString(source, i, char, language, tokens);
    } else if (/[A-Za-z_$@%]/.test(char)) {
      const quoted = language === "perl" || language === "ruby"
        ? quoteLike(source, i, tokens)
        : undefined;
      if (quoted !== undefined) {
        if (quoted.runs) tokens.push({ kind: "name", value: "`" });
        tokens.push(quoted.token);
        i = quoted.end;
        continue;
      }
      const name = /^[$@%]?[\w$]+|^[$@%]/.exec(source.slice(i, i + 200))?.[0] ??
        char;
      // Prefixes of Python strings: r"", f"", b"".
      const quote = source[i + name.length];
      if (
        language === "python" && /^[rRbBuUfF]{1,2}$/.test(name) &&
        (quote === '"' || quote === "'")
      ) {
        i = readString(
          source,
          i + name.length,
          quote,
          language,
          tokens,
          name.toLowerCase(),
        );
      } else {
        tokens.push({ kind: "name", value: name });
        i += name.length;
      }
    } else if (/\d/.test(char)) {
      const number = /^[\d.xXoOa-fA-F_]+/.exec(source.slice(i, i + 100))?.[0] ??
        char;
      tokens.push({ kind: "mark", value: number });
      i += number.length;
    } else {
      tokens.push({ kind: "mark", value: char });
      i++;
    }
  }
  return tokens;
}

/** `$#list` in Perl is no comment. */
function isVariableMark(
  source: string,
  at: number,
  language: Lexicon,
): boolean {
  return language === "perl" && source[at - 1] === "$";
}

function readString(
  source: string,
  at: number,
  quote: string,
  language: Lexicon,
  tokens: Token[],
  prefix = "",
): number {
  const triple = language === "python" &&
    source.startsWith(quote.repeat(3), at);
  const close = triple ? quote.repeat(3) : quote;
  let value = "";
  let i = at + close.length;
  for (; i < source.length && !source.startsWith(close, i); i++) {
    const char = source[i] ?? "";
    if (char === "\\" && !prefix.includes("r")) {
      const next = source[++i] ?? "";
      const hex = /^x([\da-fA-F]{2})|^u\{?([\da-fA-F]{4})\}?/.exec(
        source.slice(i, i + 8),
      );
      if (hex !== null) {
        value += String.fromCharCode(parseInt(hex[1] ?? hex[2] ?? "0", 16));
        i += hex[0].length - 1;
      } else value += ({ n: "\n", t: "\t", r: "\r", "\n": "" })[next] ?? next;
    } else value += char;
  }
  const interpolates = quote === "`"
    ? /\$\{/.test(value) || language === "ruby" || language === "perl"
    : quote === '"'
    ? (language === "ruby" && value.includes("#{")) ||
      (language === "perl" && /[$@][A-Za-z_{]/.test(value)) ||
      (language === "php" && value.includes("$"))
    : false;
  const open = interpolates ||
    (prefix.includes("f") && /\{/.test(value.replaceAll("{{", "")));
  if (quote === "`" && language !== "javascript" && language !== "python") {
    // Backticks run a command.
    tokens.push({ kind: "name", value: "`" }, {
      kind: "text",
      value,
      open: false,
    });
  } else tokens.push({ kind: "text", value, ...open ? { open } : {} });
  return i + close.length;
}

const PAIRS: Readonly<Record<string, string>> = {
  "(": ")",
  "[": "]",
  "{": "}",
  "<": ">",
};

/** `q(…)`, `qq{…}`, `qx(…)`, `%w[…]`, `%q(…)`. */
function quoteLike(
  source: string,
  at: number,
  tokens: Token[],
): { token: Token; end: number; runs: boolean } | undefined {
  const match = /^(?:(q[qxwr]?|m|s|tr|y)\s*|%[qQwWxr]?)([^\w\s,;)=])/.exec(
    source.slice(at, at + 12),
  );
  const before = source[at - 1] ?? " ";
  if (match === null || /[\w$@%&>]/.test(before)) return undefined;
  const [whole, kind = "", open = ""] = match;
  if (kind === "" && !/^%[qQwWxr]/.test(whole)) return undefined;
  if (kind !== "" && open === "=") return undefined;
  const last = tokens.at(-1);
  if (last?.kind === "mark" && last.value === ">" && kind !== "") {
    return undefined;
  }
  const close = PAIRS[open] ?? open;
  let depth = 1;
  let i = at + whole.length;
  for (; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === close && --depth === 0) break;
    else if (source[i] === open && open !== close) depth++;
  }
  return {
    token: { kind: "text", value: source.slice(at + whole.length, i) },
    end: i + 1,
    runs: kind === "qx" || whole.startsWith("%x"),
  };
}
