/**
 * Lists of commands joined by `&&` and `||`, and outputs of which one is meant.
 *
 * @module
 */
import type { AndOr, PipelineNode } from "unbash";
import type { Context } from "./context.ts";
import {
  EMPTY_STREAM,
  joinStreams,
  type State,
  type Stream,
  union,
  UNKNOWN_STREAM,
} from "./state.ts";

/** Most lines of alternative outputs that are kept. */
const MAX_ITEMS = 24;

/** Follows one command. */
export type RunNode = (
  node: PipelineNode,
  state: State,
  stdin: Stream,
  context: Context,
) => Stream;

/** Commands whose failure is an everyday outcome, so that what follows may not run. */
const TESTS = new Set([
  "[",
  "test",
  "false",
  "grep",
  "egrep",
  "rg",
  "command",
  "which",
  "type",
  "hash",
]);

function maySkip(node: PipelineNode): boolean {
  if (node.type === "TestCommand" || node.type === "ArithmeticCommand") {
    return true;
  }
  if (node.type === "Pipeline") {
    return node.prefixes.some((prefix) => prefix.type === "Negation") ||
      node.commands.some(maySkip);
  }
  if (node.type === "Redirected") return maySkip(node.command);
  return node.type === "Command" && node.name !== undefined &&
    TESTS.has(node.name.value);
}

/** `[ -L x ]`, `test -h x`, `[[ -L x ]]`. */
export function testsLink(node: PipelineNode | AndOr): boolean {
  if (node.type === "TestCommand") {
    return node.expression.type === "TestUnary" &&
      /^-[Lh]$/.test(node.expression.operator);
  }
  return node.type === "Command" &&
    /^(?:\[|test)$/.test(node.name?.value ?? "") &&
    node.args[0]?.type === "Word" && /^-[Lh]$/.test(node.args[0].value);
}

/** `[ ! -L x ]`, `test ! -h x`. */
function testsNoLink(node: PipelineNode): boolean {
  if (node.type !== "Command") return false;
  const [not, operator] = node.args.map((arg) =>
    arg.type === "Word" ? arg.value : ""
  );
  return /^(?:\[|test)$/.test(node.name?.value ?? "") && not === "!" &&
    /^-[Lh]$/.test(operator ?? "");
}

/**
 * Follows a list of commands joined by `&&` and `||`.
 *
 * @param node The list.
 * @param state The shell.
 * @param stdin Its input.
 * @param context The reading.
 * @param run Follows one of the commands.
 * @returns Its output.
 */
export function runAndOr(
  node: AndOr,
  state: State,
  stdin: Stream,
  context: Context,
  run: RunNode,
): Stream {
  const [first, ...rest] = node.commands;
  if (first === undefined) return EMPTY_STREAM;
  // What the shell looks like when the command on the left has failed.
  let before = state.fork();
  const start = state.cwd;
  let output = run(first, state, stdin, context);
  let uncertain = maySkip(first);
  // Behind a test the chain goes on in a fork, so that each link sees the one before it.
  let current = state;
  const skipped: State[] = [];
  // Any link of the chain may fail, `cd` among them, before what stands behind `||`.
  let places = start;
  const asksForLink = testsLink(first);
  const rejoin = () => {
    for (
      let outer = skipped.pop();
      outer !== undefined;
      outer = skipped.pop()
    ) {
      outer.merge([current], true);
      // Where `[ -L x ] && rm x` removes nothing, there is no link.
      if (asksForLink) outer.gone = current.gone;
      current = outer;
    }
  };
  for (const [i, command] of rest.entries()) {
    if (node.operators[i] === "&&") {
      places = union(places, current.cwd);
      if (uncertain) {
        skipped.push(current);
        current = current.fork();
      }
      before = current.fork();
      const printed = run(command, current, stdin, context);
      output = uncertain
        ? anyOf([output, printed], false)
        : joinStreams(output, printed);
      uncertain = maySkip(command);
    } else {
      // The right side runs where the left side has failed: from the state before it.
      const inner = before.fork();
      inner.cwd = union(inner.cwd, places);
      for (const outer of skipped) inner.cwd = union(inner.cwd, outer.cwd);
      rejoin();
      const other = run(command, inner, stdin, context);
      output = anyOf([output, other], false);
      if (!inner.ended) {
        const done = state.fork();
        const failed = state.fork();
        failed.cwd = inner.cwd;
        failed.oldCwd = inner.oldCwd;
        for (const name of inner.changedFrom(before)) {
          const value = inner.get(name);
          if (value !== undefined) failed.set(name, value);
        }
        state.merge([done, failed], false);
        // `[ ! -L x ] || rm x`: where nothing is removed, there is no link.
        if (i === 0 && testsNoLink(first)) state.gone = inner.gone;
        state.traps.push(...inner.traps);
      }
      uncertain = false;
    }
  }
  rejoin();
  return output;
}

/**
 * The output of one of several branches.
 *
 * @param outputs What each prints.
 * @param maybeNone Whether it may be that none has run.
 * @returns Their common text, or the lines any of them may print.
 */
export function anyOf(outputs: readonly Stream[], maybeNone: boolean): Stream {
  const all = maybeNone ? [EMPTY_STREAM, ...outputs] : outputs;
  const first = all[0];
  if (
    first !== undefined &&
    all.every((one) => one.text !== undefined && one.text === first.text)
  ) {
    return first;
  }
  if (all.some((one) => one.text === undefined && one.items === undefined)) {
    return UNKNOWN_STREAM;
  }
  const items = new Set(
    all.flatMap((one) => one.items ?? (one.text ?? "").split("\n")),
  );
  items.delete("");
  return items.size > MAX_ITEMS ? UNKNOWN_STREAM : { items: [...items] };
}
