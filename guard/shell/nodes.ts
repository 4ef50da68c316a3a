/**
 * Follows the structure of a script: lists, pipes, branches, loops, groups, functions.
 *
 * @module
 */
import type {
  AndOr,
  Case,
  CommandNode,
  CompoundList,
  Pipeline,
  PipelineNode,
  Script,
  Statement,
  TestExpression,
  While,
  Word,
} from "unbash";
import { SEG } from "../holes.ts";
import { anyOf, runAndOr, testsLink } from "./and_or.ts";
import { runCommand } from "./command.ts";
import type { Context } from "./context.ts";
import { applyRedirects } from "./redirects.ts";
import {
  EMPTY_STREAM,
  joinStreams,
  type State,
  type Stream,
  UNKNOWN_STREAM,
} from "./state.ts";
import {
  readsSubscripts,
  runNamedSubscripts,
  runSubscript,
} from "./subscripts.ts";
import { expandScalar, visitSubstitutions } from "./words.ts";
import { descends, loop, runFor } from "./loops.ts";

/** Most calls of a function inside of itself that are followed. */
const MAX_RECURSION = 3;

/**
 * Follows a whole script.
 *
 * @param script The parsed script.
 * @param state The shell it runs in.
 * @param stdin Its input.
 * @param context The reading.
 * @returns Its output.
 */
export function runScript(
  script: Script,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  if (
    "errors" in script && Array.isArray(script.errors) &&
    script.errors.length > 0
  ) {
    context.incomplete = true;
  }
  return runStatements(script.commands, state, stdin, context);
}

function runStatements(
  statements: readonly Statement[],
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  let output: Stream = EMPTY_STREAM;
  for (const statement of statements) {
    if (context.exhausted) return UNKNOWN_STREAM;
    if (statement.background) {
      context.inSubshell(
        state,
        (inner) => runNode(statement.command, inner, EMPTY_STREAM, context),
      );
      output = UNKNOWN_STREAM;
    } else {
      output = joinStreams(
        output,
        runNode(statement.command, state, stdin, context),
      );
    }
  }
  return output;
}

function runList(
  list: CompoundList,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  return runStatements(list.commands, state, stdin, context);
}

function runNode(
  node: PipelineNode | AndOr | CompoundList,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  switch (node.type) {
    case "Command":
      return context.step(node.suffix.length + node.prefix.length)
        ? runCommand(node, state, stdin, context)
        : UNKNOWN_STREAM;
    case "Pipeline":
      return runPipeline(node, state, stdin, context);
    case "AndOr":
      return runAndOr(node, state, stdin, context, runNode);
    case "CompoundList":
    case "BraceGroup":
      return runList(
        node.type === "BraceGroup" ? node.body : node,
        state,
        stdin,
        context,
      );
    case "Subshell": {
      return context.inSubshell(
        state,
        (inner) => runList(node.body, inner, stdin, context),
      );
    }
    case "Redirected": {
      const io = applyRedirects(node.redirects, state, stdin, context);
      const output = runNode(node.command, state, io.stdin, context);
      return io.keep(output);
    }
    case "If": {
      const clause = state;
      runList(node.clause, clause, stdin, context);
      const branches = [branch(node.then, state, stdin, context)];
      for (const elif of node.elif) {
        runList(elif.clause, state, stdin, context);
        branches.push(branch(elif.then, state, stdin, context));
      }
      if (node.else !== undefined) {
        branches.push(branch(node.else, state, stdin, context));
      }
      state.merge(branches.map((one) => one.state), node.else === undefined);
      // `if [ -L x ]; then rm x; fi`: otherwise there is no link.
      const [asked] = node.clause.commands;
      const [taken, ...others] = branches;
      if (
        taken !== undefined && others.length === 0 &&
        node.clause.commands.length === 1 && asked?.type === "Statement" &&
        testsLink(asked.command)
      ) state.gone = taken.state.gone;
      return anyOf(branches.map((one) => one.output), node.else === undefined);
    }
    case "Case":
      return runCase(node, state, stdin, context);
    case "For":
    case "Select":
      return runFor(
        node,
        state,
        context,
        (inner) => runList(node.body, inner, stdin, context),
      );
    case "ArithmeticFor": {
      visitArithmetic(node, state, context);
      return loop(
        state,
        context,
        (inner) => runList(node.body, inner, stdin, context),
      );
    }
    case "While":
      return runWhile(node, state, stdin, context);
    case "TestCommand":
      visitSubstitutions(node.expression, state, context);
      visitTest(node.expression, state, context);
      return EMPTY_STREAM;
    case "ArithmeticCommand":
      if (node.expression !== undefined) {
        visitSubstitutions(node, state, context);
      }
      runNamedSubscripts(node.body, state, context);
      assignNumbers(node.body, state);
      return EMPTY_STREAM;
    case "Function":
      state.setFunction(node.name.value, node);
      return EMPTY_STREAM;
    case "Coproc":
      // Its two descriptors.
      state.set(node.name?.text ?? "COPROC", [[SEG], [SEG]]);
      context.inSubshell(
        state,
        (inner) => runNode(node.body, inner, UNKNOWN_STREAM, context),
      );
      return EMPTY_STREAM;
  }
}

/** Follows the subscripts of what `[[` works out as numbers or looks up by name. */
function visitTest(
  expression: TestExpression,
  state: State,
  context: Context,
): void {
  const text = (word: Word) => expandScalar(word, state, context)[0] ?? "";
  const pending = [expression];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.type === "TestLogical") pending.push(...next.operands);
    else if (next.type === "TestNot") pending.push(next.operand);
    else if (next.type === "TestGroup") pending.push(next.expression);
    else if (!readsSubscripts(next.operator)) continue;
    else if (next.type === "TestUnary") {
      runSubscript(text(next.operand), state, context);
    } else {
      runSubscript(text(next.left), state, context);
      runSubscript(text(next.right), state, context);
    }
  }
}

/** Variables that an arithmetic command assigns hold numbers afterwards. */
function assignNumbers(text: string, state: State): void {
  for (
    const match of text.matchAll(
      /([A-Za-z_]\w*)\s*(?:=(?!=)|[-+*/%&|^]=|<<=|>>=)/g,
    )
  ) {
    if (match[1] !== undefined) state.set(match[1], [[SEG]]);
  }
}

function visitArithmetic(
  node: Extract<CommandNode, { type: "ArithmeticFor" }>,
  state: State,
  context: Context,
): void {
  for (const part of [node.initialize, node.test, node.update]) {
    if (part === undefined) continue;
    visitSubstitutions(part, state, context);
    for (const name of arithmeticNames(part)) state.set(name, [[SEG]]);
  }
}

function arithmeticNames(part: { type: string }): string[] {
  if ("left" in part && "operator" in part) {
    const { left, operator } = part;
    const isAssignment = typeof operator === "string" &&
      /^(?:[-+*/%&|^]|<<|>>)?=$/.test(operator);
    if (
      isAssignment && typeof left === "object" && left !== null &&
      "value" in left
    ) {
      return typeof left.value === "string" ? [left.value] : [];
    }
  }
  return [];
}

function branch(
  list: CompoundList,
  state: State,
  stdin: Stream,
  context: Context,
): { state: State; output: Stream } {
  const inner = state.fork();
  return { output: runList(list, inner, stdin, context), state: inner };
}

function runPipeline(
  node: Pipeline,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  // `! command` and `time command` are pipelines of one, which run in the shell itself.
  const own = node.commands.length === 1;
  let stream = stdin;
  for (const command of node.commands) {
    const input = stream;
    const run = (inner: State) => runNode(command, inner, input, context);
    stream = own ? run(state) : context.inSubshell(state, run);
  }
  return stream;
}

function runCase(
  node: Case,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  expandScalar(node.word, state, context);
  const branches: { state: State; output: Stream }[] = [];
  let always = false;
  const through: State[] = [];
  for (const item of node.items) {
    for (const pattern of item.pattern) {
      visitSubstitutions(pattern, state, context);
      if (pattern.text === "*") always = true;
    }
    const inner = state.fork();
    // Behind `;&` and `;;&` an arm may run after another one.
    if (through.length > 0) inner.merge(through.splice(0), true);
    branches.push({
      state: inner,
      output: runList(item.body, inner, stdin, context),
    });
    if (item.terminator === ";&" || item.terminator === ";;&") {
      through.push(inner);
    }
  }
  state.merge(branches.map((one) => one.state), !always);
  return anyOf(branches.map((one) => one.output), !always);
}

function runWhile(
  node: While,
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  return loop(state, context, (inner) => {
    runList(node.clause, inner, stdin, context);
    return runList(node.body, inner, stdin, context);
  });
}

/**
 * Calls a function that the script has defined.
 *
 * @param node Its definition.
 * @param args Its arguments.
 * @param state The shell.
 * @param stdin Its input.
 * @param context The reading.
 * @returns Its output.
 */
export function callFunction(
  node: Extract<CommandNode, { type: "Function" }>,
  args: readonly string[],
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  const calls = context.calls.get(node) ?? [];
  const [outer] = calls;
  if (outer !== undefined && calls.length >= MAX_RECURSION) {
    // What recursion does further down is what it has done, unless it climbs.
    if (
      !descends(state.cwd, outer) ||
      args.some((arg) => /(?:^|\/)\.\.(?:\/|$)/.test(arg))
    ) {
      context.incomplete = true;
    }
    return UNKNOWN_STREAM;
  }
  context.calls.set(node, [...calls, state.cwd]);
  const positional = state.positional;
  state.positional = args.map((arg) => [arg]);
  const locals = state.locals;
  state.locals = new Map();
  try {
    return context.nested(() => runNode(node.body, state, stdin, context));
  } finally {
    for (const [name, before] of state.locals) state.restore(name, before);
    state.locals = locals;
    context.calls.set(node, calls);
    state.positional = positional;
    state.ended = false;
  }
}
