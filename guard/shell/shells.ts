/**
 * Nested shells: `bash -c`, here-documents and pipes into a shell, scripts.
 *
 * @module
 */
import type { Call } from "./call.ts";
import { applyGuess } from "./guess.ts";
import { runShellVariables } from "./variable_hooks.ts";
import { EMPTY_STREAM, type Stream, UNKNOWN_STREAM } from "./state.ts";
import { commandLines } from "./text_filters.ts";

const SHELLS = new Set(
  "sh bash zsh dash ksh mksh ash fish rbash csh tcsh yash posh oksh hush".split(
    " ",
  ),
);

/**
 * Whether a program reads shell commands.
 *
 * @param name Its base name.
 * @returns `true` for a shell.
 */
export function isShell(name: string): boolean {
  return SHELLS.has(name);
}

/** Options of shells that take the next argument. */
const TAKES = new Set([
  "-O",
  "+O",
  "-o",
  "+o",
  "--rcfile",
  "--init-file",
  "-C",
  "--init-command",
]);

/**
 * Follows a nested shell.
 *
 * @param call The call.
 * @returns Its output.
 */
export function readNestedShell(call: Call): Stream {
  const { args, context, stdin } = call;
  const state = call.state.fork();
  let i = 0;
  let takesText = false;
  let readsInput = false;
  let checksOnly = false;
  const extra: string[] = [];
  let letters = "";
  for (; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      i++;
      break;
    }
    if (TAKES.has(arg)) {
      const value = args[++i] ?? "";
      if (arg === "-o" && value === "xtrace") letters += "x";
      if (arg === "-O" && value === "dotglob") {
        state.set("BASHOPTS", [[value]]);
      }
      if (arg === "-C" || arg === "--init-command") extra.push(value);
      continue;
    }
    if (arg === "--command" || arg === "-c") takesText = true;
    else if (arg.startsWith("--command=")) {
      extra.push(arg.slice("--command=".length));
    } else if (/^[-+][A-Za-z]+$/.test(arg)) {
      if (arg.startsWith("-")) letters += arg;
      if (arg.startsWith("-") && arg.includes("c")) takesText = true;
      if (arg.includes("s")) readsInput = true;
      // `bash -n`: the text is parsed, and nothing runs.
      if (arg.startsWith("-") && arg.includes("n")) checksOnly = true;
      // `-eo pipefail`: the cluster's last letter takes a value.
      if (/[oO]$/.test(arg)) i++;
    } else if (!arg.startsWith("--") || arg === "-") break;
  }
  if (checksOnly) return UNKNOWN_STREAM;
  if (call.name === "fish") state.set("FISH_VERSION", [["3"]]);
  runShellVariables({ ...call, state }, letters);
  const rest = args.slice(i);
  for (const text of extra) run(call, text, state, stdin);
  if (takesText) {
    const [text = "", name, ...positional] = rest;
    if (name !== undefined) state.name = [name];
    state.positional = positional.map((value) => [value]);
    return run(call, text, state, stdin);
  }
  const [file, ...positional] = rest;
  if (file === undefined || file === "-" || readsInput) {
    state.positional = (readsInput ? rest : positional).map((value) => [value]);
    if (stdin.text === undefined) {
      for (const line of commandLines(stdin)) {
        run(call, line, state.fork(), EMPTY_STREAM);
      }
      return UNKNOWN_STREAM;
    }
    return run(call, stdin.text, state, EMPTY_STREAM);
  }
  state.name = [file];
  state.positional = positional.map((value) => [value]);
  const content = /^\/dev\/(?:stdin|fd\/0)$/.test(file)
    ? stdin
    : context.readFile(file, state);
  if (content.text === undefined) {
    applyGuess({ ...call, args: positional });
    return UNKNOWN_STREAM;
  }
  return run(call, content.text, state, stdin);
}

function run(
  call: Call,
  text: string,
  state: Call["state"],
  stdin: Stream,
): Stream {
  const output = call.context.nested(() =>
    call.context.run.text(text, state, stdin)
  );
  for (const trap of state.traps.splice(0)) {
    call.context.run.text(trap, state.fork(), EMPTY_STREAM);
  }
  return output;
}
