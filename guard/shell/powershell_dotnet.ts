/**
 * The files that PowerShell writes through .NET's own classes.
 *
 * @module
 */
import { ANY } from "../holes.ts";
import type { EffectMode } from "../effect.ts";
import type { Context } from "./context.ts";
import { joinedPath, statements } from "./powershell_words.ts";
import type { State } from "./state.ts";

/** One write that a text names. */
export interface DotNetWrite {
  /** The method. */
  verb: string;
  /** The target. */
  path: string;
  /** How it is touched. */
  mode: EffectMode;
}

/** An argument: a string, a variable, or a call in brackets. */
const ARGUMENT = `'[^']*'|"[^"]*"|\\$[\\w:]+|\\((?:join-path\\s)[^()]*\\)`;

/** Patterns that are built when the first PowerShell text is met. */
let built: Record<"statics" | "makes" | "methods", RegExp> | undefined;

function patterns(): Record<"statics" | "makes" | "methods", RegExp> {
  return built ??= {
    statics: new RegExp(
      `\\[(?:System\\.)?(IO\\.\\w+(?:\\.\\w+)*|Xml\\.\\w+)\\]::(\\w+)\\(\\s*(${ARGUMENT})(?:\\s*,\\s*(${ARGUMENT}))?`,
      "gi",
    ),
    makes: new RegExp(
      `\\bnew-object\\s+(?:-typename\\s+)?["']?(?:System\\.)?IO\\.(StreamWriter|FileStream|BinaryWriter)["']?\\s*(?:-argumentlist\\s+)?\\(?\\s*(${ARGUMENT}|[/~.][^\\s;,)]*)([^;\\n]*)`,
      "gi",
    ),
    methods: new RegExp(
      `\\.(DownloadFile|SaveAs|Save|WriteToFile|CopyTo|MoveTo)\\(\\s*(${ARGUMENT})(?:\\s*,\\s*(${ARGUMENT}))?`,
      "gi",
    ),
  };
}

/**
 * Finds them.
 *
 * @param text The text.
 * @param state The shell, as it is behind the text.
 * @param context The reading.
 * @returns The writes whose place is known.
 */
export function dotNetWrites(
  text: string,
  state: State,
  context: Context,
): DotNetWrite[] {
  const found: DotNetWrite[] = [];
  const add = (verb: string, raw: string | undefined, mode: EffectMode) => {
    const path = raw === undefined ? ANY : valueOf(raw, state, context);
    if (!path.includes(ANY)) found.push({ verb, path, mode });
  };
  const { statics, makes, methods } = patterns();
  for (
    const [, type = "", method = "", first, second] of text.matchAll(statics)
  ) {
    if (/^IO\.Compression/i.test(type)) add(method, second, "content");
    else if (
      /^(?:Write|Append|Create|OpenWrite|Set)/i.test(method) ||
      /^new$/i.test(method) && /Writer$/i.test(type)
    ) add(method, first, "content");
    else if (/^Delete$/i.test(method)) add(method, first, "tree");
    else if (/^(?:Copy|Move|Replace)$/i.test(method)) {
      if (!/^copy$/i.test(method)) add(method, first, "tree");
      add(method, second, "content");
    }
  }
  for (const [, type = "", path, rest = ""] of text.matchAll(makes)) {
    if (
      !/^FileStream$/i.test(type) ||
      /create|append|truncate|write/i.test(rest)
    ) add(type, path, "content");
  }
  for (const [, method = "", first, second] of text.matchAll(methods)) {
    add(method, /^DownloadFile$/i.test(method) ? second : first, "content");
  }
  return found;
}

function valueOf(raw: string, state: State, context: Context): string {
  if (/^'/.test(raw)) return raw.slice(1, -1);
  const inner = raw.startsWith("(") ? raw.slice(1, -1) : `x ${raw}`;
  for (const { words } of statements(inner, state, context)) {
    return raw.startsWith("(")
      ? joinedPath(words.slice(1))
      : words[1]?.text ?? ANY;
  }
  return ANY;
}
