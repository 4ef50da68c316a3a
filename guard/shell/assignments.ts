/**
 * Assignments and the commands that declare variables.
 *
 * @module
 */
import type { Assignment, Command } from "unbash";
import { ANY, SEG } from "../holes.ts";
import type { Context } from "./context.ts";
import { concat, elementOf, type State, union, type Values } from "./state.ts";
import { runSubscript } from "./subscripts.ts";
import { expandFields, expandScalar, visitSubstitutions } from "./words.ts";

/** Commands whose assignment arguments set variables. */
export const DECLARATIONS: ReadonlySet<string> = new Set([
  "export",
  "declare",
  "typeset",
  "local",
  "readonly",
]);

/**
 * Carries out one assignment.
 *
 * @param assignment The assignment.
 * @param state The shell.
 * @param context The reading.
 */
export function assignVariable(
  assignment: Assignment,
  state: State,
  context: Context,
): void {
  const { name, value, append, index } = assignment;
  const before = state.get(name);
  if (value.type === "ArrayValue") {
    for (const word of value.elements) {
      const [, key] = /^\[["']?([A-Za-z_][\w.-]*)["']?\]=/.exec(word.text) ??
        [];
      if (key === undefined) continue;
      state.set(elementOf(name, key), [
        expandScalar(word, state, context).map((text) =>
          text.slice(text.indexOf("]=") + 2)
        ),
      ]);
    }
    const elements: Values[] = value.elements.flatMap((word) => {
      const key = /^\[[^\]]*\]=/.exec(word.text);
      if (key === null) return expandFields(word, state, context);
      return expandScalar(word, state, context).length === 0 ? [] : [
        expandScalar(word, state, context).map((text) =>
          text.slice(text.indexOf("]=") + 2)
        ),
      ];
    });
    state.set(
      name,
      append && before !== undefined ? [...before, ...elements] : elements,
    );
    return;
  }
  const values = expandScalar(value, state, context);
  if (state.get(integerNote(name)) !== undefined) {
    for (const text of values) runSubscript(text, state, context);
  }
  if (index !== undefined) {
    visitSubstitutions(index, state, context);
    const at = Number(index.value);
    const list = [...before ?? []];
    if (Number.isInteger(at) && at >= 0 && at < 1000) {
      while (list.length < at) list.push([""]);
      list[at] = values;
    } else {
      list.push(values);
      state.set(elementOf(name, index.value.replace(/["']/g, "")), [values]);
    }
    state.set(name, list);
    return;
  }
  if (append) {
    state.set(name, [
      concat(before?.[0] ?? [ANY], values),
      ...before?.slice(1) ?? [],
    ]);
  } else state.set(name, [values]);
}

/**
 * Carries out `export`, `declare`, `local` and the like.
 *
 * @param node The command.
 * @param state The shell.
 * @param context The reading.
 */
export function declare(node: Command, state: State, context: Context): void {
  let integer = false;
  let reference = false;
  const scoped = /^(?:local|declare|typeset)$/.test(node.name?.value ?? "") &&
    !node.args.some((arg) => /^-\w*g/.test(arg.text));
  for (const arg of node.args) {
    if (scoped) {
      const name = /^[A-Za-z_]\w*(?=\+?=|$)/.exec(arg.text)?.[0];
      if (name !== undefined) state.keepLocal(name);
    }
    if (arg.type === "Assignment") {
      assignVariable(arg, state, context);
      if (integer) {
        for (const value of state.get(arg.name)?.[0] ?? []) {
          runSubscript(value, state, context);
        }
        state.set(arg.name, [[SEG]]);
      }
      if (reference) follow(arg.name, state);
      continue;
    }
    for (const field of expandFields(arg, state, context)) {
      for (const text of field) {
        if (integer && /^[A-Za-z_]\w*$/.test(text)) {
          state.set(integerNote(text), []);
        }
        if (/^-\w*i/.test(text)) integer = true;
        if (/^-\w*n/.test(text) && node.name?.value !== "export") {
          reference = true;
        }
        const named = /^([A-Za-z_]\w*)=([^]*)$/.exec(text);
        if (named?.[1] !== undefined) {
          const other = state.get(named[1]);
          const value: Values = [named[2] ?? ""];
          state.set(named[1], [
            field.length > 1 && other !== undefined
              ? union(other[0] ?? [""], value)
              : value,
          ]);
        }
      }
    }
  }
}

/** The shell's note that a variable holds a number; no variable's name. */
function integerNote(name: string): string {
  return `${name} integer`;
}

/** `declare -n name=other`: from here on, what the other holds or nothing known. */
function follow(name: string, state: State): void {
  const other = state.get(name)?.[0]?.[0] ?? "";
  state.set(name, state.get(other) ?? [[ANY]]);
}
