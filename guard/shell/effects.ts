/**
 * Reads a command line and says what it would write, following `cd`, variables, functions,
 * substitutions and nested shells.
 *
 * @module
 */
import type { Effect } from "../effect.ts";
import type { ShellRequest } from "../decide.ts";
import { withoutHoles } from "../holes.ts";
import { hasWriteSign, mayWrite, unreadable } from "../write_sign.ts";
import { addTables, missedProgram } from "./commands.ts";
import { Context, type Runner } from "./context.ts";
import { runArgv } from "./dispatch.ts";
import { readPowerShell } from "./powershell.ts";
import { parseShell } from "./parse.ts";
import { runScript } from "./nodes.ts";
import { EMPTY_STREAM, State, UNKNOWN_STREAM } from "./state.ts";
import type { VerbTable } from "./verb_spec.ts";

/**
 * Says what a command would do.
 *
 * @param request The command and its surroundings.
 * @returns Every write that was found, judged; the order is that of the command.
 *
 * @example
 * ```ts
 * import { decideCall } from "@bulkhead/guard";
 * import { assert } from "@std/assert";
 *
 * const decision = decideCall(
 *   { toolName: "Bash", toolInput: { command: "cd .. && rm -rf peer" }, cwd: "/work/env" },
 *   { active: true, allowedRoots: ["/work/env"] },
 *   { now: 0 },
 * );
 * assert(!decision.allow);
 * ```
 */
export function readShell(request: ShellRequest): Effect[] {
  const { boundary, home, env, command } = request;
  const runner: Runner = {
    script: (script, state, stdin) => runScript(script, state, stdin, context),
    text: (text, state, stdin) => runText(text, state, stdin),
    argv: (argv, state, stdin) => runArgv(argv, state, stdin, context),
  };
  const context = new Context({ boundary, home, env, run: runner });
  let beyondBounds = false;
  /** What counts as a sign of a write in a text that was not read in full. */
  function signs(): (text: string) => boolean {
    return beyondBounds || context.exhausted ? mayWrite : hasWriteSign;
  }
  function runText(text: string, state: State, stdin: typeof UNKNOWN_STREAM) {
    const { script, complete } = parseShell(text);
    const output = script === undefined
      ? UNKNOWN_STREAM
      : context.nested(() => runScript(script, state, stdin, context));
    if (script === undefined) beyondBounds = true;
    if (!complete && signs()(text)) context.incomplete = true;
    return output;
  }
  if (typeof command === "string" && command.includes("\0")) {
    // A shell would drop it or stop there; nobody writes one by chance.
    return [unreadable("command with a NUL")];
  }
  try {
    readAll();
  } catch (error) {
    // Nesting beyond what the stack holds; anything else is a defect and has to show.
    if (!(error instanceof RangeError)) throw error;
    context.incomplete = typeof command !== "string" || hasWriteSign(command);
  }
  if (context.incomplete) context.effects.push(unreadable("command"));
  return context.effects;

  function readAll(): void {
    const state = new State([request.cwd]);
    if (typeof command !== "string") {
      context.run.argv(command.map(withoutHoles), state, EMPTY_STREAM);
      const cutShort = context.exhausted && context.effects.length > 0;
      if (context.incomplete && !cutShort && !signs()(command.join(" "))) {
        context.incomplete = false;
      }
    } else if (request.language === "powershell") {
      readPowerShell(withoutHoles(command), state, context);
    } else {
      const text = withoutHoles(command);
      runText(text, state, EMPTY_STREAM);
      runTraps(state, context);
      const cutShort = context.exhausted && context.effects.length > 0;
      if (context.incomplete && !cutShort && !signs()(text)) {
        context.incomplete = false;
      }
    }
  }
}

/**
 * Loads the tables of seldom programs when the reading before met a program that no other table
 * knows.
 *
 * @param load Loads them.
 * @returns Whether there is more to know now, so that the command should be read again.
 */
export async function learn(
  load: () => Promise<readonly VerbTable[] | undefined>,
): Promise<boolean> {
  if (!missedProgram()) return false;
  const tables = await load();
  if (tables !== undefined) addTables(tables);
  return tables !== undefined;
}

/** Runs what `trap` has kept for the end of the shell. */
function runTraps(state: State, context: Context): void {
  for (const text of state.traps.splice(0)) {
    context.run.text(text, state.fork(), EMPTY_STREAM);
  }
}
