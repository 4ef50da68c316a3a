/**
 * Splits PowerShell text into statements of words.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import type { Context } from "./context.ts";
import type { State } from "./state.ts";

/** One word. */
export interface Word {
  /** Its text, quotes and variables resolved. */
  text: string;
  /** Whether a part of it is quoted. */
  quoted: boolean;
  /** It is a redirection operator. */
  redirect?: boolean;
}

/** The first word of what a `foreach (… in …)` becomes: the variable's name and the list follow. */
export const EACH = "foreach-in";

/** One statement: its words, and how it stands in a pipeline. */
export interface PowerStatement {
  /** The words. */
  words: Word[];
  /** It takes what the statement before it gives. */
  piped: boolean;
  /** It gives to the next one. */
  pipes: boolean;
}

/**
 * Splits text into statements of words; strings, comments and variables resolved.
 *
 * @param text The text.
 * @param state The shell, whose variables are read when a word is reached.
 * @param context The reading.
 * @yields each statement before the next one is read.
 */
export function* statements(
  text: string,
  state: State,
  context: Context,
): Generator<PowerStatement> {
  let words: Word[] = [];
  let piped = false;
  for (let i = 0; i < text.length;) {
    const char = text[i] ?? "";
    const two = text.slice(i, i + 2);
    if (two === "<#") {
      const close = text.indexOf("#>", i);
      i = close === -1 ? text.length : close + 2;
    } else if (char === "#") {
      const close = text.indexOf("\n", i);
      i = close === -1 ? text.length : close;
    } else if (two === "@'" || two === '@"') {
      const close = text.indexOf(`\n${two[1]}@`, i);
      words.push({
        text: text.slice(i + 2, close === -1 ? undefined : close),
        quoted: true,
      });
      i = close === -1 ? text.length : close + 3;
    } else if (char === "(" && /^foreach$/i.test(words.at(-1)?.text ?? "")) {
      const head = /^\(\s*\$(\w+)\s+in\s+/i.exec(text.slice(i, i + 200));
      const close = text.indexOf(")", i);
      words = [];
      if (head !== null && close !== -1) {
        const from = text.slice(i + head[0].length, close).replace("(", " ");
        for (const each of statements(from, state, context)) {
          yield {
            words: [
              { text: EACH, quoted: false },
              { text: head[1] ?? "", quoted: true },
              ...each.words,
            ],
            piped: false,
            pipes: false,
          };
          break;
        }
        i = close + 1;
      } else i++;
    } else if (char === "(") {
      const computed = readComputed(text, i, state, context);
      if (computed !== undefined) {
        words.push(computed.word);
        i = computed.end;
      } else {
        if (words.length > 0) yield { words, piped, pipes: false };
        if (words.length > 0) piped = false;
        words = [];
        i++;
      }
    } else if (/[;\n|{})]/.test(char) || two === "&&") {
      const pipes = char === "|" && two !== "||";
      // One by one, so that a statement sees what those before it have assigned.
      if (words.length > 0) yield { words, piped, pipes };
      if (words.length > 0 || pipes || char !== "\n") piped = pipes;
      words = [];
      i += two === "&&" || two === "||" ? 2 : 1;
    } else if (/\s/.test(char)) i++;
    else {
      const redirect = /^(?:[\d*]?>>?)/.exec(text.slice(i));
      if (redirect !== null) {
        i += redirect[0].length;
        const copy = /^&\d/.exec(text.slice(i));
        if (copy !== null) i += 2;
        else words.push({ text: redirect[0], quoted: false, redirect: true });
        continue;
      }
      const word = readWord(text, i, state, context);
      words.push(word.word);
      i = word.end;
    }
  }
  if (words.length > 0) yield { words, piped, pipes: false };
}

/** `(Join-Path $HOME x)`, `($HOME + "/x")`, `("x")`: one word, when its parts are. */
function readComputed(
  text: string,
  from: number,
  state: State,
  context: Context,
): { word: Word; end: number } | undefined {
  const close = text.indexOf(")", from);
  const inner = close === -1 ? "" : text.slice(from + 1, close);
  if (inner.length > 2000 || !/^\s*(?:join-path\s|["'$])/i.test(inner)) {
    return undefined;
  }
  if (/[(){};|=]/.test(inner)) return undefined;
  const [first, ...others] = statements(inner, state, context);
  if (first === undefined || others.length > 0) return undefined;
  const { words } = first;
  if (/^join-path$/i.test(words[0]?.text ?? "")) {
    return {
      word: { text: joinedPath(words.slice(1)), quoted: true },
      end: close + 1,
    };
  }
  const operands = words.filter((_, n) => n % 2 === 0);
  const sums = words.every((word, n) => n % 2 === 0 || word.text === "+");
  if (!sums || words.length % 2 === 0) return undefined;
  return {
    word: { text: operands.map((word) => word.text).join(""), quoted: true },
    end: close + 1,
  };
}

/**
 * What `Join-Path` makes of its arguments.
 *
 * @param args Its arguments.
 * @returns The path.
 */
export function joinedPath(args: readonly Word[]): string {
  const parts = args.filter((arg) =>
    arg.quoted || !/^-[A-Za-z]+$/.test(arg.text)
  )
    .map((arg) => arg.text);
  return parts.map((part, n) =>
    n === 0 ? part.replace(/[\\/]+$/, "") : part.replace(/^[\\/]+/, "")
  ).join("/");
}

function readWord(
  text: string,
  from: number,
  state: State,
  context: Context,
): { word: Word; end: number } {
  let value = "";
  let quoted = false;
  let i = from;
  for (; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === "'") {
      const close = text.indexOf("'", i + 1);
      value += text.slice(i + 1, close === -1 ? undefined : close);
      quoted = true;
      i = close === -1 ? text.length : close;
    } else if (char === '"') {
      quoted = true;
      for (i++; i < text.length && text[i] !== '"'; i++) {
        if (text[i] === "`") value += text[++i] ?? "";
        else if (text[i] === "$") {
          const variable = expand(text, i, state, context);
          value += variable.value;
          i = variable.end - 1;
        } else value += text[i];
      }
    } else if (char === "`") value += text[++i] ?? "";
    else if (char === "$") {
      const variable = expand(text, i, state, context);
      // The name of an assignment stays a name.
      if (/^\s*=(?!=)/.test(text.slice(variable.end)) && value === "") {
        value += text.slice(i, variable.end);
      } else value += variable.value;
      i = variable.end - 1;
    } else if (/[\s;|{}()>]/.test(char)) break;
    else value += char;
  }
  if (!quoted && /^~(?:[\\/]|$)/.test(value)) {
    value = (context.home ?? ANY) + value.slice(1);
  }
  if (!quoted && /[*?]/.test(value)) value = value.replace(/[*?]+/g, "\uE002");
  return { word: { text: value, quoted }, end: Math.max(i, from + 1) };
}

function expand(
  text: string,
  at: number,
  state: State,
  context: Context,
): { value: string; end: number } {
  const match = /^\$(?:\{([^}]+)\}|((?:env:)?\w+)|\()/i.exec(
    text.slice(at, at + 200),
  );
  if (match === null) return { value: "$", end: at + 1 };
  const name = (match[1] ?? match[2] ?? "").toLowerCase();
  const end = at + match[0].length;
  if (name === "") {
    const close = text.indexOf(")", end);
    return { value: ANY, end: close === -1 ? text.length : close + 1 };
  }
  if (name === "null") return { value: "$null", end };
  if (name === "home" || name === "env:home") {
    return { value: context.home ?? ANY, end };
  }
  if (name === "pwd" || name === "env:pwd") {
    return { value: state.cwd[0] ?? ANY, end };
  }
  const own = state.get(name)?.[0];
  if (own?.length === 1) return { value: own[0] ?? ANY, end };
  if (name.startsWith("env:")) {
    const wanted = name.slice(4).toUpperCase();
    return { value: context.env[wanted] ?? ANY, end };
  }
  return { value: ANY, end };
}
