/**
 * What `sed`, `cut`, `awk` and `seq` make of text that is known: where a command line goes through
 * them before a shell reads it, or a path before something writes there.
 *
 * @module
 */
import { ANY, isKnown } from "../holes.ts";
import type { Call } from "./call.ts";
import { optionValue, readOptions } from "./options.ts";
import { linesOf, type Stream } from "./state.ts";

const MAX_TEXT = 2048;
const MAX_LINE = 128;

/** The programs by name; each gives nothing when its words are more than it can follow. */
export const TEXT_FILTERS: Readonly<
  Record<string, (call: Call) => Stream | undefined>
> = { sed, cut, awk, gawk: awk, mawk: awk, seq };

/** What becomes of a line; nothing when that is not known. */
type Change = (line: string) => string | undefined;

/** Every line of a stream, changed. */
function mapped(stdin: Stream, change: Change): Stream | undefined {
  const lines = stdin.text === undefined
    ? stdin.items
    : stdin.text.length > MAX_TEXT
    ? undefined
    : stdin.text.replace(/\n$/, "").split("\n");
  if (lines === undefined) return undefined;
  const changed: string[] = [];
  for (const line of lines) {
    if (line.length > MAX_LINE || line.includes(ANY)) return undefined;
    const result = change(line);
    if (result === undefined) return undefined;
    changed.push(result);
  }
  return stdin.text === undefined
    ? { items: changed }
    : { text: changed.map((line) => line + "\n").join("") };
}

/** `sed 's/a/b/'`, several of them, `-E`. */
function sed(call: Call): Stream | undefined {
  const read = readOptions(call.args, { takes: "-e --expression" });
  let extended = false;
  const scripts: string[] = [];
  for (const [name, value] of read.options) {
    if (/^-(?:e|-expression)$/.test(name)) scripts.push(value ?? "");
    else if (/^(?:-E|-r|--regexp-extended)$/.test(name)) extended = true;
    else return undefined;
  }
  const files = scripts.length > 0 ? read.operands : read.operands.slice(1);
  if (scripts.length === 0) scripts.push(read.operands[0] ?? "");
  if (files.length > 0) return undefined;
  const steps: Change[] = [];
  for (const script of scripts) {
    let rest = script.trim();
    while (rest !== "") {
      const step = substitution(rest, extended);
      if (step === undefined) return undefined;
      steps.push(step.change);
      rest = step.rest;
    }
  }
  if (steps.length === 0 || steps.length > 5) return undefined;
  return mapped(
    call.stdin,
    (line) =>
      steps.reduce<string | undefined>(
        (text, step) => text === undefined ? undefined : step(text),
        line,
      ),
  );
}

/** One `s` command at the start of a script, and what follows it. */
function substitution(
  script: string,
  extended: boolean,
): { change: Change; rest: string } | undefined {
  const mark = script[1] ?? "";
  if (script[0] !== "s" || /[\w\s\\]/.test(mark) || mark === "") {
    return undefined;
  }
  const fields: string[] = [];
  let i = 2;
  for (; fields.length < 2; i++) {
    let field = "";
    for (; i < script.length && script[i] !== mark; i++) {
      if (script[i] === "\\" && script[i + 1] === mark) {
        // The mark stands for itself, unless it is a sign of patterns.
        field += /[.*[\]^$|+?(){}&]/.test(mark) ? `\\${mark}` : mark;
        i++;
      } else if (script[i] === "\\") field += `\\${script[++i] ?? ""}`;
      else field += script[i];
    }
    if (i >= script.length) return undefined;
    fields.push(field);
  }
  const tail = /^([gI]*)\s*(?:;\s*|\n\s*|$)/.exec(script.slice(i));
  const [pattern = "", replacement = ""] = fields;
  const source = tail === null
    ? undefined
    : regularExpression(pattern, extended);
  if (tail === null || source === undefined || pattern === "") return undefined;
  const flags = (tail[1] ?? "").toLowerCase();
  let expression: RegExp;
  try {
    expression = new RegExp(source, flags);
  } catch {
    return undefined;
  }
  // What is not known of a line may match as well, and bring in a place.
  const moves = /\/|\.\./.test(replacement) && !/^\^?$|^\$$/.test(pattern);
  const change = (line: string) =>
    moves && !isKnown(line)
      ? undefined
      : line.replace(expression, (...groups: unknown[]) =>
        replacement.replace(
          /\\([\d&n\\/])|\\(.)|(&)/g,
          (_, special?: string, other?: string, whole?: string) => {
            if (whole !== undefined) return String(groups[0]);
            if (special !== undefined && /\d/.test(special)) {
              const group = groups[Number(special)];
              return typeof group === "string" ? group : "";
            }
            return special === "n" ? "\n" : special ?? other ?? "";
          },
        ));
  return { change, rest: script.slice(i + tail[0].length) };
}

/** A pattern of `sed` as one of this language; none when it might run long. */
function regularExpression(
  pattern: string,
  extended: boolean,
): string | undefined {
  if (pattern.length > 100 || /\[[:.=]|\\[<>bBwWsS`']/.test(pattern)) {
    return undefined;
  }
  let source = "";
  let repeats = 0;
  for (let i = 0; i < pattern.length; i++) {
    let char = pattern[i] ?? "";
    if (char === "[") {
      const close = pattern.indexOf("]", i + (pattern[i + 1] === "^" ? 3 : 2));
      if (close === -1) return undefined;
      source += pattern.slice(i, close).replace(/\\/g, "\\\\") + "]";
      i = close;
      continue;
    }
    let special = extended;
    if (char === "\\") {
      char = pattern[++i] ?? "";
      special = !extended;
      if (!/[(){}+?|]/.test(char)) {
        if (/[a-mo-zA-Z\d]/.test(char)) return undefined;
        source += char === "n" ? "\n" : `\\${char}`;
        continue;
      }
    }
    if (/[(){}+?|]/.test(char)) {
      if (special && /[+{?]/.test(char)) {
        // A group that repeats may take for ever.
        if (source.endsWith(")")) return undefined;
        repeats++;
      }
      source += special ? char : `\\${char}`;
    } else {
      if (char === "*") {
        if (source.endsWith(")")) return undefined;
        repeats++;
      }
      source += char === "/" ? "\\/" : char;
    }
  }
  return repeats > 2 ? undefined : source;
}

/** `cut -c2-`, `cut -d: -f1,3-`. */
function cut(call: Call): Stream | undefined {
  const read = readOptions(call.args, {
    takes: "-c -b -d -f --characters --bytes --delimiter --fields",
  });
  if (read.operands.length > 0 || read.options.length > 2) return undefined;
  const characters = optionValue(read, "-c", "-b", "--characters", "--bytes");
  const fields = optionValue(read, "-f", "--fields");
  const delimiter = optionValue(read, "-d", "--delimiter") ?? "\t";
  const chosen = placesOf(characters ?? fields ?? "");
  if (chosen === undefined) return undefined;
  return mapped(call.stdin, (line) => {
    if (characters !== undefined) {
      return [...line].filter((_, i) => chosen(i + 1)).join("");
    }
    if (!line.includes(delimiter)) return line;
    return line.split(delimiter).filter((_, i) => chosen(i + 1)).join(
      delimiter,
    );
  });
}

/** `1,3-5,7-` as a question about a place. */
function placesOf(list: string): ((place: number) => boolean) | undefined {
  const ranges = list.split(",").map((item) => /^(\d*)(-?)(\d*)$/.exec(item));
  if (list === "" || ranges.some((range) => range === null)) return undefined;
  return (place) =>
    ranges.some((range) => {
      const [, from = "", dash = "", to = ""] = range ?? [];
      if (dash === "") return place === Number(from);
      return place >= Number(from || 1) && place <= Number(to || Infinity);
    });
}

/** `awk '{print "rm " $1}'`: texts and fields, nothing else. */
function awk(call: Call): Stream | undefined {
  const read = readOptions(call.args, { takes: "-F -v", stopsAtOperand: true });
  const [program = "", ...files] = read.operands;
  const separator = optionValue(read, "-F");
  if (files.length > 0 || read.options.some(([name]) => name !== "-F")) {
    return undefined;
  }
  const body = /^\s*\{\s*print\s*([^;{}]*?);?\s*\}\s*$/.exec(program)?.[1];
  if (body === undefined) return undefined;
  const parts = body.match(/"(?:[^"\\]|\\.)*"|\$\d+|,|\s+|[^]/g) ?? [];
  if (!parts.every((part) => /^(?:"[^]*"|\$\d+|,|\s+)$/.test(part))) {
    return undefined;
  }
  return mapped(call.stdin, (line) => {
    const fields = separator === undefined
      ? line.trim().split(/[ \t]+/)
      : line.split(separator);
    if (parts.length === 0) return line;
    return parts.map((part) =>
      part.startsWith('"')
        ? part.slice(1, -1).replace(/\\(.)/g, "$1")
        : part === ","
        ? " "
        : part.startsWith("$")
        ? part === "$0" ? line : fields[Number(part.slice(1)) - 1] ?? ""
        : ""
    ).join("");
  });
}

/** `seq 3`, `seq 2 4`, `seq 1 2 9`. */
function seq(call: Call): Stream | undefined {
  const numbers = call.args.map(Number);
  if (numbers.length === 0 || numbers.some((n) => !Number.isInteger(n))) {
    return undefined;
  }
  const first = numbers.length > 1 ? numbers[0] ?? 1 : 1;
  const step = numbers.length > 2 ? numbers[1] ?? 1 : 1;
  const last = numbers.at(-1) ?? 0;
  if (step === 0 || Math.abs((last - first) / step) > 24) return undefined;
  let text = "";
  for (let n = first; step > 0 ? n <= last : n >= last; n += step) {
    text += `${n}\n`;
  }
  return { text };
}

/**
 * The command lines that a shell reads on a stream of which no more than its lines is known.
 *
 * @param stream The stream.
 * @returns The lines.
 */
export function commandLines(stream: Stream): string[] {
  if (stream.items === undefined) return [];
  return (linesOf(stream) ?? []).filter((line) => !line.includes(ANY)).slice(
    0,
    24,
  );
}
