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

/** What compares numbers. */
const NUMERIC = /^-(?:eq|ne|lt|le|gt|ge)$/;

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
    if (arg === "-v" || arg === "-R") {
      runSubscript(args[i + 1] ?? "", state, context);
    } else if (NUMERIC.test(arg)) {
      // Only `[[` works out what it compares; `test` wants plain numbers, and running one is rare.
      runSubscript(args[i - 1] ?? "", state, context);
      runSubscript(args[i + 1] ?? "", state, context);
    }
  }
}
