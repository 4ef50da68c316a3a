/**
 * What a word of the shell may stand for.
 *
 * @module
 */
import {
  forEachChild,
  parse,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import { ANY, isKnown, SEG } from "../holes.ts";
import { expandBraces } from "./braces.ts";
import type { Context } from "./context.ts";
import {
  expandParameter,
  operate,
  readVariable,
  sliceOf,
} from "./parameters.ts";
import { joinerOf, separatorOf } from "./splitting.ts";
import {
  concat,
  linesOf,
  type State,
  type Stream,
  union,
  type Values,
} from "./state.ts";
import { runNamedSubscripts } from "./subscripts.ts";

/** The words that a list of shell words becomes; each may be one of several texts. */
export type Fields = Values[];

/**
 * Expands a word as an argument: braces, splitting and lists may make it several.
 *
 * @param word The word.
 * @param state The shell.
 * @param context The reading.
 * @returns The arguments.
 */
export function expandFields(
  word: Word,
  state: State,
  context: Context,
): Fields {
  const parts = word.parts;
  if (parts === undefined) return [plainWord(word, state, context)];
  if (parts.some((part) => part.type === "BraceExpansion")) {
    const texts = expandBraces(word.text);
    if (texts === undefined) {
      visitSubstitutions(word, state, context);
      return [[ANY]];
    }
    if (texts.length > 1 || texts[0] !== word.text) {
      if (!context.step(texts.length * 4)) return [[ANY]];
      return texts.flatMap((text) => {
        const again = reparse(text);
        if (again === undefined) return text === "" ? [] : [[text]];
        return again.parts?.some((part) => part.type === "BraceExpansion")
          ? [expandParts(again, state, context)]
          : expandFields(again, state, context);
      });
    }
  }
  const single = parts.length === 1 ? parts[0] : undefined;
  const list = single === undefined
    ? undefined
    : expandList(single, state, context);
  if (list !== undefined) return list;
  const values = expandParts(word, state, context);
  if (!parts.some(splits)) return [values];
  const separator = separatorOf(state);
  if (values.length === 1) {
    const text = values[0] ?? "";
    if (text === "") return [];
    return separator?.test(text)
      ? splitUnquoted(word, text, separator, state, context)
      : [values];
  }
  if (separator === undefined) return [values];
  // Several alternatives: any of their words may stand here.
  return [
    values.flatMap((value) => value.split(separator)).filter((value) =>
      value !== ""
    ),
  ];
}

/**
 * Expands a word where no splitting happens: an assignment, a redirection, a `case` subject.
 *
 * @param word The word.
 * @param state The shell.
 * @param context The reading.
 * @returns The texts it may be.
 */
export function expandScalar(
  word: Word,
  state: State,
  context: Context,
): Values {
  const parts = word.parts;
  if (parts === undefined) return plainWord(word, state, context);
  if (parts.some((part) => part.type === "BraceExpansion")) {
    return expandFields(word, state, context).reduce(union, []);
  }
  return expandParts(word, state, context);
}

/**
 * Expands the parts of a here-document body.
 *
 * @param parts The parts.
 * @param state The shell.
 * @param context The reading.
 * @returns The text, with holes where it is not known.
 */
export function expandBody(
  parts: readonly WordPart[],
  state: State,
  context: Context,
): string {
  let text = "";
  for (const part of parts) {
    const values = expandPart(part, state, context);
    text += values.length === 1 ? values[0] ?? "" : ANY;
  }
  return text;
}

/**
 * Follows every command that is substituted somewhere below a node.
 *
 * @param node Any node.
 * @param state The shell.
 * @param context The reading.
 */
export function visitSubstitutions(
  node: SyntaxNode,
  state: State,
  context: Context,
): void {
  // A stack of its own: arithmetic nests once per operator.
  const pending: SyntaxNode[] = [node];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (context.exhausted) return;
    forEachChild(next, (child) => {
      if (
        child.type === "CommandExpansion" ||
        child.type === "ProcessSubstitution" ||
        child.type === "ArithmeticCommandExpansion"
      ) {
        const { script } = child;
        if (script !== undefined) {
          context.nested(() =>
            context.inSubshell(
              state,
              (inner) => context.run.script(script, inner, {}),
            )
          );
        }
      } else pending.push(child);
    });
  }
}

function reparse(text: string): Word | undefined {
  const statement = parse(": " + text).commands[0];
  if (statement?.command.type !== "Command") return undefined;
  const first = statement.command.args[0];
  return first?.type === "Word" && statement.command.args.length === 1
    ? first
    : undefined;
}

function plainWord(word: Word, state: State, context: Context): Values {
  return word.text.startsWith("~")
    ? concat(...expandTilde(word.value, true, state, context))
    : [word.value];
}

/** Home of a leading tilde, and the rest. */
function expandTilde(
  text: string,
  whole: boolean,
  state: State,
  context: Context,
): [Values, Values] {
  const slash = text.indexOf("/");
  // `~$USER` and `~"x"` are no tilde prefixes.
  if (slash === -1 && !whole) return [[text], [""]];
  const name = slash === -1 ? text.slice(1) : text.slice(1, slash);
  const rest = slash === -1 ? "" : text.slice(slash);
  if (name === "") {
    return [readVariable("HOME", state, context) ?? [ANY], [rest]];
  }
  if (name === "+") return [state.cwd, [rest]];
  if (name === "-") return [state.oldCwd, [rest]];
  return [[/^[A-Za-z_][\w.-]*$|^[+-]?\d+$/.test(name) ? ANY : "~" + name], [
    rest,
  ]];
}

function splits(part: WordPart): boolean {
  return part.type === "SimpleExpansion" ||
    part.type === "ParameterExpansion" ||
    part.type === "CommandExpansion";
}

/** Splits the unquoted expansions of a word whose value is known. */
function splitUnquoted(
  word: Word,
  whole: string,
  separator: RegExp,
  state: State,
  context: Context,
): Fields {
  const parts = word.parts ?? [];
  if (parts.length === 1) {
    return whole.split(separator).filter((item) => item !== "").map((
      item,
    ) => [item]);
  }
  const fields: string[] = [];
  let open = "";
  for (const part of parts) {
    const text = expandPart(part, state, context)[0] ?? "";
    if (!splits(part)) {
      open += text;
      continue;
    }
    const pieces = text.split(separator);
    open += pieces[0] ?? "";
    for (const piece of pieces.slice(1)) {
      if (open !== "") fields.push(open);
      open = piece;
    }
  }
  if (open !== "") fields.push(open);
  return fields.map((field) => [field]);
}

/** `$@`, `"$@"`, `${list[@]}` and their unquoted forms, when the word is nothing else. */
function expandList(
  part: WordPart,
  state: State,
  context: Context,
): Fields | undefined {
  const inner = part.type === "DoubleQuoted" && part.parts.length === 1
    ? part.parts[0]
    : part;
  if (inner === undefined) return undefined;
  const joined = inner === part ? undefined : joinedList(inner, state);
  if (joined !== undefined) return [[joined]];
  if (inner.type === "SimpleExpansion") {
    return inner.text === "$@" || (inner.text === "$*" && inner === part)
      ? [...state.positional]
      : undefined;
  }
  if (
    inner.type === "ParameterExpansion" && inner.operation === undefined &&
    !inner.prefix
  ) {
    if (inner.parameter === "@" || inner.parameter === "*") {
      return [...state.positional];
    }
    const index = inner.index?.value;
    if (index === "@" || index === "*") {
      const list = state.get(inner.parameter);
      return list === undefined ? [[ANY]] : [...list];
    }
  }
  if (
    inner.type === "ParameterExpansion" && inner.operation?.type === "Slice"
  ) {
    const slice = inner.operation;
    const list = inner.parameter === "@"
      ? state.positional
      : inner.index?.value === "@"
      ? state.get(inner.parameter)
      : undefined;
    if (list === undefined) return undefined;
    return [...sliceOf(
      list,
      inner.parameter === "@" ? state.name : undefined,
      slice,
    )];
  }
  if (
    inner.type === "ParameterExpansion" && !inner.prefix &&
    /^(?:Remove|Replace|CaseModification|Transform)$/.test(
      inner.operation?.type ?? "",
    )
  ) {
    // Done to each element.
    const { operation } = inner;
    const list = inner.parameter === "@"
      ? state.positional
      : inner.index?.value === "@"
      ? state.get(inner.parameter)
      : undefined;
    if (list === undefined || operation === undefined) return undefined;
    return list.map((values) =>
      operate(operation, values, () => {}, state, context)
    );
  }
  if (inner.type === "CommandExpansion" && inner === part) {
    // One word per line or blank; which of them exist is all that matters.
    const output = substituted(inner.script, state, context);
    if (output.text === undefined) {
      return [linesOf(output) ?? [ANY]];
    }
    return output.text.split(/\s+/).filter((item) => item !== "").slice(0, 200)
      .map((
        item,
      ) => [item]);
  }
  return undefined;
}

/** `"$*"` and `"${list[*]}"`: one word, when every element is known. */
function joinedList(part: WordPart, state: State): string | undefined {
  const list = part.type === "SimpleExpansion" && part.text === "$*"
    ? state.positional
    : part.type === "ParameterExpansion" && part.operation === undefined &&
        !part.prefix
    ? part.parameter === "*"
      ? state.positional
      : part.index?.value === "*"
      ? state.get(part.parameter)
      : undefined
    : undefined;
  if (list === undefined || !list.every((value) => value.length === 1)) {
    return undefined;
  }
  return list.map((value) => value[0]).join(joinerOf(state));
}

function substituted(
  script: Parameters<Context["run"]["script"]>[0] | undefined,
  state: State,
  context: Context,
): Stream {
  if (script === undefined) return {};
  return context.nested(() =>
    context.inSubshell(state, (inner) => context.run.script(script, inner, {}))
  );
}

function expandParts(word: Word, state: State, context: Context): Values {
  const parts = word.parts ?? [];
  let values: Values = [""];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === undefined) continue;
    if (i === 0 && part.type === "Literal" && part.text.startsWith("~")) {
      values = concat(
        ...expandTilde(part.value, parts.length === 1, state, context),
      );
      continue;
    }
    values = concat(
      values,
      expandPart(part, state, context),
    );
  }
  return values;
}

function expandPart(
  part: WordPart,
  state: State,
  context: Context,
): Values {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value];
    case "DoubleQuoted":
    case "LocaleString": {
      let values: Values = [""];
      for (const child of part.parts) {
        values = concat(values, expandPart(child, state, context));
      }
      return values;
    }
    case "SimpleExpansion":
      return readVariable(part.text.slice(1), state, context) ?? [ANY];
    case "ParameterExpansion":
      return expandParameter(part, state, context);
    case "CommandExpansion": {
      const output = substituted(part.script, state, context);
      if (output.text !== undefined) return [output.text.replace(/\n+$/, "")];
      return linesOf(output) ?? [ANY];
    }
    case "ArithmeticExpansion":
      if (part.expression !== undefined) {
        visitSubstitutions(part, state, context);
      }
      runNamedSubscripts(part.text, state, context);
      return [SEG];
    case "ProcessSubstitution": {
      const output = substituted(part.script, state, context);
      return [context.pipe(part.operator === "<" ? output : {})];
    }
    case "Glob":
    case "ExtendedGlob":
      if (part.parts !== undefined) visitSubstitutions(part, state, context);
      if (part.type === "ExtendedGlob" && part.text.includes("/")) return [ANY];
      return state.get("BASHOPTS")?.[0]?.[0] === "dotglob"
        ? [SEG, `.${SEG}`]
        : [SEG];
    case "BraceExpansion":
      if (!isKnown(part.text)) return [ANY];
      visitSubstitutions(part, state, context);
      return [part.text];
  }
}
