/**
 * One simple command: its assignments, words and redirections.
 *
 * @module
 */
import type { Assignment, Command } from "unbash";
import { ANY } from "../holes.ts";
import { assignVariable, DECLARATIONS, declare } from "./assignments.ts";
import type { Context } from "./context.ts";
import { applyRedirects } from "./redirects.ts";
import {
  EMPTY_STREAM,
  joinStreams,
  type State,
  type Stream,
  type Values,
  type Variable,
} from "./state.ts";
import { expandFields, expandScalar, type Fields } from "./words.ts";

/** Most readings of one command whose words have alternatives. */
const MAX_READINGS = 32;

/**
 * Follows one simple command.
 *
 * @param node The command.
 * @param state The shell.
 * @param stdin Its input.
 * @param context The reading.
 * @returns Its output.
 */
export function runCommand(
  node: Command,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  const assignments = node.prefix.filter((item) => item.type === "Assignment");
  if (node.name === undefined) {
    for (const assignment of assignments) {
      assignVariable(assignment, state, context);
    }
    return applyRedirects(node.redirects, state, stdin, context).keep(
      EMPTY_STREAM,
    );
  }
  const fields = expandFields(node.name, state, context);
  const declares = DECLARATIONS.has(node.name.value);
  if (declares) declare(node, state, context);
  for (const arg of node.args) {
    if (arg.type === "Word") fields.push(...expandFields(arg, state, context));
    else if (!declares) fields.push(assignmentField(arg, state, context));
  }
  const io = applyRedirects(node.redirects, state, stdin, context);
  zshTargets(node, state, context);
  const before = assignments.map(
    (assignment): [string, Variable | undefined] => {
      const own = state.own(assignment.name);
      assignVariable(assignment, state, context);
      return [assignment.name, own];
    },
  );
  let output: Stream = EMPTY_STREAM;
  if (!declares) {
    for (const [i, argv] of readings(fields).entries()) {
      const printed = context.run.argv(argv, state, io.stdin);
      output = i === 0 ? printed : joinStreams(output, printed);
    }
  }
  for (const [name, own] of before) state.restore(name, own);
  state.lastWord = fields.at(-1) ?? state.lastWord;
  return io.keep(output);
}

/** In zsh, `>! file` and `>>! file` write the file; Bash would write one called `!`. */
function zshTargets(node: Command, state: State, context: Context): void {
  for (const redirect of node.redirects) {
    if (redirect.type !== "Redirect" || redirect.target?.text !== "!") continue;
    const next = node.args.find((arg) => arg.pos >= redirect.end);
    if (next?.type !== "Word") continue;
    for (const path of expandScalar(next, state, context)) {
      context.write(
        { rule: "redirect", verb: ">!", label: "output redirection to a file" },
        path,
        state,
      );
    }
  }
}

/** `of=~/x` as an argument of a command that declares nothing. */
function assignmentField(
  arg: Assignment,
  state: State,
  context: Context,
): Values {
  if (arg.value.type === "ArrayValue") return [arg.text];
  const values = expandFields(arg.value, state, context);
  const name = arg.name + (arg.append ? "+=" : "=");
  return values.length === 0
    ? [name]
    : values.flat().map((value) => name + value);
}

/** The argument lists that a list of words with alternatives stands for. */
function readings(fields: Fields): string[][] {
  if (fields.every((field) => field.length === 1)) {
    return fields.length === 0 ? [] : [fields.map((field) => field[0] ?? "")];
  }
  const count = fields.reduce(
    (product, field) => product * Math.max(1, field.length),
    1,
  );
  if (count <= MAX_READINGS) {
    return fields.reduce<string[][]>(
      (lists, field) =>
        lists.flatMap((list) => field.map((value) => [...list, value])),
      [[]],
    );
  }
  // Too many combinations: every alternative once, beside the first of all others.
  const first = fields.map((field) => field[0] ?? ANY);
  return fields.flatMap((field, i) =>
    field.slice(0, 200).map((value) =>
      first.map((other, j) => i === j ? value : other)
    )
  );
}
