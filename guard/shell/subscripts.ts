/**
 * Text that the shell expands once more although it was quoted: array subscripts where a number
 * or a variable's name is read, and prompts.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { EMPTY_STREAM, type State } from "./state.ts";

/** A subscript that holds a substitution. */
const SUBSCRIPT = /\[[^]*(?:\$\(|`)/;

/**
 * Follows the substitutions in an array subscript: `let 'a[$(command)]=1'` runs the command.
 *
 * @param text An expression or a variable's name as the command gets it.
 * @param state The shell.
 * @param context The reading.
 */
export function runSubscript(
  text: string,
  state: State,
  context: Context,
): void {
  if (SUBSCRIPT.test(text)) runExpanded(text, state, context);
  // A name in an expression stands for the expression that the variable holds.
  else if (/^[A-Za-z_]\w*$/.test(text)) {
    for (const value of state.get(text)?.[0] ?? []) {
      if (SUBSCRIPT.test(value)) runExpanded(value, state, context);
    }
  }
}

/**
 * Follows the subscripts that the variables of an arithmetic expression hold.
 *
 * @param expression The expression's text.
 * @param state The shell.
 * @param context The reading.
 */
export function runNamedSubscripts(
  expression: string,
  state: State,
  context: Context,
): void {
  for (const [name] of expression.matchAll(/[A-Za-z_]\w*/g)) {
    runSubscript(name, state, context);
  }
}

/**
 * Follows the substitutions of a text that is expanded as if it stood between double quotes.
 *
 * @param text The text.
 * @param state The shell.
 * @param context The reading.
 */
export function runExpanded(
  text: string,
  state: State,
  context: Context,
): void {
  if (!/\$\(|`/.test(text)) return;
  context.nested(() =>
    context.run.text(
      `: "${text.replace(/"/g, '\\"')}"`,
      state.fork(),
      EMPTY_STREAM,
    )
  );
}

/**
 * Whether an operator of a test compares numbers or asks for a variable by its name.
 *
 * @param operator The operator.
 * @returns `true` when the shell works out a subscript in its operands.
 */
export function readsSubscripts(operator: string): boolean {
  return /^-(?:eq|ne|lt|le|gt|ge|v|R)$/.test(operator);
}

/**
 * Follows the subscripts in the words of `test` or `[`.
 *
 * @param args The words.
 * @param state The shell.
 * @param context The reading.
 */
export function runTestSubscripts(
  args: readonly string[],
  state: State,
  context: Context,
): void {
  for (const [i, arg] of args.entries()) {
    if (!readsSubscripts(arg)) continue;
    if (!/^-[vR]$/.test(arg)) runSubscript(args[i - 1] ?? "", state, context);
    runSubscript(args[i + 1] ?? "", state, context);
  }
}
