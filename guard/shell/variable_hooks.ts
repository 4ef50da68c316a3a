/**
 * Variables whose value a program runs, or reads a script from: pagers, editors, start-up files.
 *
 * @module
 */
import type { Call } from "./call.ts";
import { writesVariable } from "./program_outputs.ts";
import { EMPTY_STREAM, type State } from "./state.ts";
import { runExpanded } from "./subscripts.ts";

/** Programs and the variables that hold a command line they run; the first that is set counts. */
const COMMAND_LINES: Readonly<Record<string, readonly (readonly string[])[]>> =
  {
    less: [["LESSOPEN"], ["LESSCLOSE"]],
    man: [["MANPAGER", "PAGER"]],
    systemctl: [["SYSTEMD_PAGER", "PAGER"]],
    journalctl: [["SYSTEMD_PAGER", "PAGER"]],
    psql: [["PSQL_PAGER", "PAGER"]],
    mysql: [["PAGER"]],
    gh: [["GH_PAGER", "PAGER"], ["GH_EDITOR", "VISUAL", "EDITOR"]],
    bat: [["BAT_PAGER", "PAGER"]],
    delta: [["DELTA_PAGER", "PAGER"]],
    sudoedit: [["SUDO_EDITOR", "VISUAL", "EDITOR"]],
    crontab: [["VISUAL", "EDITOR"]],
    visudo: [["VISUAL", "EDITOR"]],
    "edit-command-line": [["VISUAL", "EDITOR"]],
  };

/**
 * Follows the command lines that variables of the command hold for a program.
 *
 * @param call The call.
 */
export function runVariables(call: Call): void {
  if (!Object.hasOwn(COMMAND_LINES, call.name)) return;
  for (const names of COMMAND_LINES[call.name] ?? []) {
    const text = names.map((name) => ownValue(name, call.state)).find((value) =>
      value !== undefined
    );
    // `LESSOPEN="||-program %s"`: the bars say how its output is used.
    if (text !== undefined) runText(call, text.replace(/^[|-]+/, ""));
  }
}

/**
 * Follows what a shell runs besides its script: `BASH_ENV`, `ENV`, `PROMPT_COMMAND`, and the
 * substitutions of `PS4` while it traces.
 *
 * @param call The call of the shell.
 * @param letters The letters of its options.
 */
export function runShellVariables(call: Call, letters: string): void {
  const { state, context } = call;
  const interactive = letters.includes("i");
  const startup = call.name === "bash"
    ? interactive ? undefined : "BASH_ENV"
    : "ENV";
  const file = startup === undefined ? undefined : ownValue(startup, state);
  if (file !== undefined) {
    const { text } = context.readFile(file, state);
    if (text !== undefined) runText(call, text);
  }
  const prompt = interactive ? ownValue("PROMPT_COMMAND", state) : undefined;
  if (prompt !== undefined) runText(call, prompt);
  if (interactive) writesVariable(call, "HISTFILE");
  for (const name of interactive ? ["PS0", "PS1", "PS2"] : []) {
    runExpanded(ownValue(name, state) ?? "", state, context);
  }
  if (letters.includes("x")) runTracePrompt(call);
}

/**
 * Follows the substitutions of `PS4`, which a shell that traces expands before each command.
 *
 * @param call The call that turns tracing on.
 */
export function runTracePrompt(call: Call): void {
  runExpanded(ownValue("PS4", call.state) ?? "", call.state, call.context);
}

/** What the command itself has set a variable to. */
function ownValue(name: string, state: State): string | undefined {
  const text = state.get(name)?.[0]?.[0];
  return text === "" ? undefined : text;
}

function runText(call: Call, text: string): void {
  call.context.nested(() =>
    call.context.run.text(text, call.state.fork(), EMPTY_STREAM)
  );
}
