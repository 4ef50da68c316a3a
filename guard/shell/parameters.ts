/**
 * What `$name` and `${name…}` may stand for.
 *
 * @module
 */
import type { ParameterExpansionPart, ParameterOperation } from "unbash";
import { ANY, isKnown, SEG, SUB } from "../holes.ts";
import { unescapeText } from "./builtins_text.ts";
import type { Context } from "./context.ts";
import { joinerOf } from "./splitting.ts";
import {
  concat,
  elementOf,
  type State,
  union,
  type Values,
  type Variable,
} from "./state.ts";
import { runExpanded, runSubscript } from "./subscripts.ts";
import { expandScalar, visitSubstitutions } from "./words.ts";

/** Variables that hold a number or one plain name. */
const PLAIN = new Set(
  ("$ ! ? # - RANDOM SRANDOM SECONDS UID EUID PPID LINENO BASHPID EPOCHSECONDS EPOCHREALTIME " +
    "HOSTNAME USER LOGNAME OSTYPE MACHTYPE HOSTTYPE SHLVL COLUMNS LINES BASH_VERSION COPROC OPTIND")
    .split(" "),
);

/** Variables that harnesses set to the directory they work in. */
const PROJECT = new Set([
  "CLAUDE_PROJECT_DIR",
  "GEMINI_PROJECT_DIR",
  "CURSOR_PROJECT_DIR",
]);

/**
 * Reads a variable or special parameter.
 *
 * @param name Its name without `$`.
 * @param state The shell.
 * @param context The reading.
 * @returns The texts it may be, or `undefined` when nothing is known of it.
 */
export function readVariable(
  name: string,
  state: State,
  context: Context,
): Values | undefined {
  const own = state.get(name);
  if (own !== undefined) return own[0] ?? [""];
  if (/^\d+$/.test(name)) {
    return name === "0"
      ? state.name
      : state.positional[Number(name) - 1] ?? [""];
  }
  switch (name) {
    case "@":
    case "*":
      return state.positional.length === 0
        ? [""]
        : state.positional.every((value) => value.length === 1)
        ? [
          state.positional.map((value) => value[0]).join(
            name === "@" ? " " : joinerOf(state),
          ),
        ]
        : state.positional.reduce(union);
    case "HOME":
      return context.home === undefined ? undefined : [context.home];
    case "PWD":
      return state.cwd;
    case "OLDPWD":
      return state.oldCwd;
    case "_":
      return state.lastWord;
    case "BASH_SOURCE":
      return state.name;
    case "IFS":
      return [" \t\n"];
  }
  const known = context.env[name];
  if (known !== undefined) return [known];
  if (name === "TMPDIR") return undefined;
  if (PLAIN.has(name)) return [SEG];
  if (PROJECT.has(name)) return projectOf(state, context);
  return undefined;
}

/**
 * The root that a shell is in, for names that mean "the project".
 *
 * @param state The shell.
 * @param context The reading.
 * @returns The root, or `undefined` outside all of them.
 */
export function projectOf(state: State, context: Context): Values | undefined {
  const here = context.resolve(".", state);
  const root = here === undefined ? undefined : context.boundary.rootOf(here);
  return root === undefined ? undefined : [root];
}

/**
 * Expands `${…}`.
 *
 * @param part The expansion.
 * @param state The shell.
 * @param context The reading.
 * @returns The texts it may be.
 */
export function expandParameter(
  part: ParameterExpansionPart,
  state: State,
  context: Context,
): Values {
  if (part.index !== undefined) {
    visitSubstitutions(part.index, state, context);
    runSubscript(part.index.value, state, context);
  }
  const { operation } = part;
  if (part.prefix === "#") return [SEG];
  if (part.prefix === "!") {
    if (operation?.type === "Names" || part.index !== undefined) return [SEG];
    if (part.parameter === "#") return state.positional.at(-1) ?? state.name;
    const names = readVariable(part.parameter, state, context);
    if (names === undefined || !names.every(isKnown)) return [ANY];
    return names.map((name) => readVariable(name, state, context) ?? [ANY])
      .reduce(union);
  }
  if (operation?.type === "Slice") {
    const whole = /^[@*]$/.test(part.parameter)
      ? state.positional
      : /^[@*]$/.test(part.index?.value ?? "")
      ? state.get(part.parameter)
      : undefined;
    if (whole !== undefined) {
      visitSubstitutions(operation.offset, state, context);
      const name = part.index === undefined ? state.name : undefined;
      const some = sliceOf(whole, name, operation);
      return some.length === 0
        ? [""]
        : some.reduce((all, one) => concat(concat(all, [" "]), one));
    }
  }
  const values = element(part, state, context);
  return operation === undefined ? values ?? [ANY] : operate(
    operation,
    values,
    (value) => state.set(part.parameter, [value]),
    state,
    context,
  );
}

/**
 * The elements that `${list[@]:from:count}` gives.
 *
 * @param list The list.
 * @param zeroth What stands before its first element: `$0` before the positional parameters.
 * @param slice Where it begins, and how many there are.
 * @returns The elements; one that may be any when the place is computed.
 */
export function sliceOf(
  list: readonly Values[],
  zeroth: Values | undefined,
  slice: Extract<ParameterOperation, { type: "Slice" }>,
): readonly Values[] {
  const whole = zeroth === undefined ? list : [zeroth, ...list];
  const from = Number(slice.offset.value);
  const count = slice.length === undefined
    ? Infinity
    : Number(slice.length.value);
  if (Number.isNaN(from) || Number.isNaN(count)) {
    return [list.reduce(union, [ANY])];
  }
  const start = from < 0 ? whole.length + from : from;
  return whole.slice(Math.max(0, start), Math.max(0, start) + count);
}

/** The plain value, or the element an index names. */
function element(
  part: ParameterExpansionPart,
  state: State,
  context: Context,
): Values | undefined {
  if (part.index === undefined) {
    return readVariable(part.parameter, state, context);
  }
  const list: Variable | undefined = state.get(part.parameter);
  if (list === undefined) {
    return part.parameter === "COPROC"
      ? [SEG]
      : readVariable(part.parameter, state, context);
  }
  const index = Number(part.index.value);
  if (Number.isInteger(index)) { // One element may stand for a list that is not known word by word.
    return list.at(index) ?? (list.length === 1 ? list[0] : undefined) ?? [""];
  }
  if (list.length === 0) return [""];
  const keys = expandScalar(part.index, state, context);
  const named = keys.length === 1
    ? state.get(elementOf(part.parameter, keys[0] ?? ""))?.[0]
    : undefined;
  if (named !== undefined) return named;
  // `${a[i]}`: the variable's number.
  const number = /^[A-Za-z_]\w*$/.test(keys[0] ?? "")
    ? Number(state.get(keys[0] ?? "")?.[0]?.[0] ?? NaN)
    : Number(keys[0] ?? NaN);
  if (Number.isInteger(number) && list.every((one) => one.length === 1)) {
    return list.at(number) ?? [""];
  }
  // One word, where no list can stand.
  const whole = /^[@*]$/.test(part.index.value);
  if (whole && list.every((value) => value.length === 1)) {
    const joiner = part.index.value === "*" ? joinerOf(state) : " ";
    return [list.map((value) => value[0]).join(joiner)];
  }
  return list.reduce(union);
}

/**
 * What an operation makes of a value.
 *
 * @param operation The operation.
 * @param values What the value may be; `undefined` when nothing is known of it.
 * @param assign Sets the parameter, for `${x:=y}`.
 * @param state The shell.
 * @param context The reading.
 * @returns The texts it may be.
 */
export function operate(
  operation: ParameterOperation,
  values: Values | undefined,
  assign: (value: Values) => void,
  state: State,
  context: Context,
): Values {
  switch (operation.type) {
    case "Default": {
      const other = expandScalar(operation.operand, state, context);
      const operator = operation.operator;
      if (operator.endsWith("?")) return values ?? [ANY];
      if (operator.endsWith("+")) {
        if (values === undefined) return union([""], other);
        return values.every((value) => value === "") && operator === ":+"
          ? [""]
          : union([""], other);
      }
      // Nothing in the command or the known environment sets it, so the default is what runs.
      const result = values === undefined
        ? other
        : operator.startsWith(":")
        ? values.flatMap((value) => value === "" ? [...other] : [value])
        : values;
      if (operator.endsWith("=")) assign(result);
      return result;
    }
    case "Remove": {
      const patterns = expandScalar(operation.operand, state, context);
      const pattern = globText(operation.operand, patterns);
      return (values ?? [ANY]).map((value) =>
        removePattern(value, operation.operator, pattern)
      );
    }
    case "Replace": {
      const pattern = globText(
        operation.pattern,
        expandScalar(operation.pattern, state, context),
      );
      const replacements = expandScalar(operation.replacement, state, context);
      return (values ?? [ANY]).flatMap((value) =>
        replacements.map((replacement) =>
          replacePattern(value, operation, pattern, replacement)
        )
      );
    }
    case "Slice": {
      const from = Number(operation.offset.value);
      const length = operation.length === undefined
        ? Infinity
        : Number(operation.length.value);
      visitSubstitutions(operation.offset, state, context);
      return (values ?? [ANY]).map((value) => {
        if (!isKnown(value)) return safePiece(value) ? SUB : ANY;
        if (Number.isNaN(from) || Number.isNaN(length)) return ANY;
        const start = from < 0 ? value.length + from : from;
        return value.slice(start, length < 0 ? length : start + length);
      });
    }
    case "CaseModification":
      return (values ?? [ANY]).map((value) =>
        operation.operator.startsWith("^")
          ? value.toUpperCase()
          : value.toLowerCase()
      );
    case "Transform": {
      const letter = operation.operand.value;
      return (values ?? [ANY]).map((value) => {
        // As a prompt, it is expanded once more.
        if (letter === "P") runExpanded(value, state, context);
        if (letter === "E") return unescapeText(value);
        if (letter === "U") return value.toUpperCase();
        if (letter === "L") return value.toLowerCase();
        return /[PAaKk]/.test(letter) && /[\\$`=]/.test(value) ? ANY : value;
      });
    }
    default:
      return [ANY];
  }
}

/** The source of a pattern, so that quoted and bare stars stay apart well enough. */
function globText(word: { text: string }, values: Values): string | undefined {
  const value = values.length === 1 ? values[0] ?? "" : undefined;
  if (value === undefined) return undefined;
  if (isKnown(value)) return value.replace(/[*?[\]\\]/g, "\\$&");
  return /^[^'"$`\\{}[\]]*$/.test(word.text) ? word.text : undefined;
}

function globToRegExp(glob: string, greedy: boolean): string {
  let source = "";
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i] ?? "";
    if (char === "\\") {
      source += (glob[++i] ?? "").replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    } else if (char === "*") source += greedy ? "[^]*" : "[^]*?";
    else if (char === "?") source += "[^]";
    else source += char.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  return source;
}

function removePattern(
  value: string,
  operator: string,
  pattern: string | undefined,
): string {
  if (value.includes(ANY) || pattern === undefined) {
    return safePiece(value) ? SUB : ANY;
  }
  if (value.length > 4096) return ANY;
  const longest = operator.length === 2;
  const source = globToRegExp(pattern, longest);
  if (operator.startsWith("#")) {
    return value.replace(new RegExp(`^(?:${source})`), "");
  }
  // The shortest suffix starts as far right as possible.
  const suffix = new RegExp(`^(?:${source})$`);
  for (let k = 0; k <= value.length; k++) {
    const at = longest ? k : value.length - k;
    if (suffix.test(value.slice(at))) return value.slice(0, at);
  }
  return value;
}

function replacePattern(
  value: string,
  operation: { operator: string },
  pattern: string | undefined,
  replacement: string,
): string {
  if (pattern === undefined || !isKnown(value) || !isKnown(replacement)) {
    const tame = safePiece(value) && !value.includes(ANY) &&
      !/\/|\.\./.test(replacement) && !replacement.includes(ANY);
    return tame ? value : ANY;
  }
  if (value.length > 4096) return ANY;
  const source = globToRegExp(pattern, true);
  const anchored = operation.operator === "/#"
    ? `^(?:${source})`
    : operation.operator === "/%"
    ? `(?:${source})$`
    : source;
  if (source === "") return value;
  return value.replace(
    new RegExp(anchored, operation.operator === "//" ? "g" : ""),
    () => replacement,
  );
}

/** Whether a value cannot leave the directory it is used in, whatever its unknown parts are. */
function safePiece(value: string): boolean {
  return !value.includes(ANY) && !value.startsWith("/") &&
    !/(?:^|\/)\.\.(?:\/|$)/.test(value);
}
