/**
 * PowerShell's functions: taken out of a text, which is what defining them does, and called.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import type { Word } from "./powershell_words.ts";
import type { State } from "./state.ts";

/** A function of the text: the names of its parameters, and what it does. */
export interface PowerFunction {
  parameters: string[];
  body: string;
}

/** Takes the functions out of a text: they do nothing until they are called. */
export function takeFunctions(
  text: string,
): { rest: string; functions: Map<string, PowerFunction> } {
  const functions = new Map<string, PowerFunction>();
  let rest = text;
  for (let n = 0; n < 50; n++) {
    const head = /(?:^|[\s;{}])function\s+([\w:-]+)\s*(?:\(([^()]*)\))?\s*\{/i
      .exec(rest);
    if (head === null) break;
    const from = head.index + head[0].length;
    const end = closingBrace(rest, from);
    let body = rest.slice(from, end);
    const declared = /^\s*param\s*\(([^()]*)\)/i.exec(body);
    if (declared !== null) body = body.slice(declared[0].length);
    const names = [...(head[2] ?? declared?.[1] ?? "").matchAll(/\$(\w+)/g)];
    functions.set((head[1] ?? "").toLowerCase(), {
      parameters: names.map((name) => (name[1] ?? "").toLowerCase()),
      body,
    });
    rest = `${rest.slice(0, head.index)};${rest.slice(end + 1)}`;
  }
  return { rest, functions };
}

/** The brace that closes the one before a place; strings are skipped. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === "'" || char === '"') {
      const close = text.indexOf(char, i + 1);
      if (close === -1) return text.length;
      i = close;
    } else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return i;
  }
  return text.length;
}

/**
 * A shell in which a function's parameters have the values it is given, by place or by name.
 *
 * @param called The function.
 * @param args What it is given.
 * @param state The shell of the call.
 * @returns The shell of its body.
 */
export function bindParameters(
  called: PowerFunction,
  args: readonly Word[],
  state: State,
): State {
  const inner = state.fork();
  const free = [...called.parameters];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === undefined) break;
    const named = arg.quoted ? undefined : /^-(\w+)$/.exec(arg.text)?.[1];
    const name = named?.toLowerCase() ?? free[0];
    const value = named === undefined ? arg : args[++i];
    if (name === undefined) break;
    inner.set(name, [[value?.text ?? ANY]]);
    const at = free.indexOf(name);
    if (at !== -1) free.splice(at, 1);
  }
  return inner;
}
