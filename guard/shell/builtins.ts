/**
 * Shell builtins that change what later commands mean.
 *
 * @module
 */
import { ANY, isKnown, SEG } from "../holes.ts";
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import { optionValue, readOptions } from "./options.ts";
import { joinDirectory } from "./places.ts";
import {
  EMPTY_STREAM,
  type State,
  type Stream,
  union,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";
import { readVariable } from "./parameters.ts";
import { runExpanded, runSubscript, runTestSubscripts } from "./subscripts.ts";
import { runTracePrompt } from "./variable_hooks.ts";
import { mapfile, read } from "./builtins_input.ts";
import { echo, printf } from "./builtins_text.ts";

function changeDirectory(state: State, target: string): void {
  const before = state.cwd;
  if (target === "-") {
    const set = state.get("OLDPWD")?.[0];
    state.cwd = set?.every((one) => one.startsWith("/")) ? set : state.oldCwd;
  } else {
    const path = target === ""
      ? state.cwd
      : state.cwd.map((cwd) => joinDirectory(cwd, target)).reduce<Values>(
        (all, one) => union(all, [one]),
        [],
      );
    state.cwd = path;
  }
  state.oldCwd = before;
}

const cd: CallReader = (call) => {
  const operands = call.args.filter((arg) =>
    arg !== "--" && !/^-[LPe@]+$/.test(arg)
  );
  const home = readVariable("HOME", call.state, call.context)?.[0] ?? ANY;
  const target = operands[0] ?? home;
  const searched = (call.state.get("CDPATH")?.[0]?.[0] ?? "") !== "" &&
    !/^(?:[./-]|$)/.test(target);
  const before = call.state.cwd;
  changeDirectory(call.state, target);
  const physical = call.args.some((arg) => /^-[Pe@]+$/.test(arg)) ||
    call.state.get("PHYSICAL_CD") !== undefined;
  if (physical && target !== "-") {
    // Links are walked before `..` is folded.
    call.state.cwd = before.map((here, n) =>
      isKnown(here) && isKnown(target)
        ? call.context.boundary.resolve(target, here, true) ?? ANY
        : call.state.cwd[n] ?? ANY
    );
  }
  if (searched) call.state.cwd = [ANY];
  return EMPTY_STREAM;
};

const pushd: CallReader = (call) => {
  const target = call.args.find((arg) => !arg.startsWith("-") || arg === "-");
  const { state } = call;
  if (target === undefined) {
    const [top, ...rest] = state.stack;
    if (top !== undefined) {
      state.stack = [state.cwd, ...rest];
      state.cwd = top;
    }
  } else if (/^\+\d+$/.test(target)) state.cwd = [ANY];
  else if (call.args.includes("-n")) {
    // The place is kept, and not gone to.
    const kept = state.cwd.map((cwd) => joinDirectory(cwd, target));
    state.stack = [kept, ...state.stack];
  } else {
    state.stack = [state.cwd, ...state.stack];
    changeDirectory(state, target);
  }
  return EMPTY_STREAM;
};

const popd: CallReader = ({ state }) => {
  const [top, ...rest] = state.stack;
  state.cwd = top ?? [ANY];
  state.stack = rest;
  return EMPTY_STREAM;
};

const evaluate: CallReader = (call) =>
  call.context.nested(() =>
    call.context.run.text(call.args.join(" "), call.state, call.stdin)
  );

const trap: CallReader = (call) => {
  const operands = call.args.filter((arg) =>
    arg !== "--" && !/^-[lpP]+$/.test(arg)
  );
  const [text, ...signals] = operands;
  if (text !== undefined && text !== "-" && text !== "" && signals.length > 0) {
    call.state.traps.push(text);
  }
  return EMPTY_STREAM;
};

const source: CallReader = (call) => {
  const [file, ...args] = call.args;
  if (file === undefined) return EMPTY_STREAM;
  const content = /^\/dev\/(?:stdin|fd\/0)$/.test(file)
    ? call.stdin
    : call.context.readFile(file, call.state);
  if (content.text === undefined) return UNKNOWN_STREAM;
  const { text } = content;
  const { positional } = call.state;
  if (args.length > 0) call.state.positional = args.map((arg) => [arg]);
  const output = call.context.nested(() =>
    call.context.run.text(text, call.state, call.stdin)
  );
  call.state.positional = positional;
  return output;
};

const exec: CallReader = (call) => {
  const { operands, options } = readOptions(call.args, {
    takes: "-a",
    stopsAtOperand: true,
  });
  if (operands.length === 0 && options.length === 0) return EMPTY_STREAM;
  return operands.length === 0 ? EMPTY_STREAM : call.context.run.argv(
    operands,
    call.state,
    call.stdin,
  );
};

const command: CallReader = (call) => {
  const { operands, options } = readOptions(call.args, {
    stopsAtOperand: true,
  });
  if (options.some(([name]) => name === "-v" || name === "-V")) {
    return { text: operands.map((name) => `${name}\n`).join("") };
  }
  if (operands.length === 0) return EMPTY_STREAM;
  return withoutFunctions(call, operands);
};

/** Runs a command as if no function had its name. */
function withoutFunctions(call: Call, argv: readonly string[]): Stream {
  const [name = "", ...args] = argv;
  const own = Object.hasOwn(BUILTINS, name) ? BUILTINS[name] : undefined;
  return call.context.nested(() => {
    if (own !== undefined) {
      return own({ ...call, name, args }) ?? UNKNOWN_STREAM;
    }
    const hidden = call.state.getFunction(name) !== undefined;
    return call.context.run.argv(
      [hidden ? `/bin/${name}` : name, ...args],
      call.state,
      call.stdin,
    );
  });
}

const builtin: CallReader = (call) =>
  call.args.length === 0 ? EMPTY_STREAM : withoutFunctions(call, call.args);

const set: CallReader = (call) => {
  const { args } = call;
  if (call.state.get("FISH_VERSION") !== undefined) {
    // fish: `set -gx name value…`.
    const [name, ...values] = args.filter((arg, n) =>
      !/^-/.test(arg) || args.slice(0, n).some((before) => !/^-/.test(before))
    );
    if (name !== undefined) {
      call.state.set(name, values.map((value) => [value]));
    }
    return EMPTY_STREAM;
  }
  let i = 0;
  while (i < args.length && /^[-+][A-Za-z]/.test(args[i] ?? "")) {
    const traces = /^-[A-Za-z]*x/.test(args[i] ?? "") ||
      /^-[A-Za-z]*o$/.test(args[i] ?? "") && args[i + 1] === "xtrace";
    if (traces) runTracePrompt(call);
    if (
      /^-[A-Za-z]*P/.test(args[i] ?? "") ||
      /^-[A-Za-z]*o$/.test(args[i] ?? "") && args[i + 1] === "physical"
    ) call.state.set("PHYSICAL_CD", [["1"]]);
    i += /^[-+][A-Za-z]*o$/.test(args[i] ?? "") ? 2 : 1;
  }
  const dashes = args[i] === "--" || args[i] === "-";
  if (dashes) i++;
  if (dashes || i < args.length) {
    call.state.positional = args.slice(i).map((arg) => [arg]);
  }
  return EMPTY_STREAM;
};

const shift: CallReader = (call) => {
  const count = Number(call.args[0] ?? 1);
  call.state.positional = call.state.positional.slice(
    Number.isNaN(count) ? 1 : count,
  );
  return EMPTY_STREAM;
};

const unset: CallReader = (call) => {
  for (const name of call.args) {
    if (/^[A-Za-z_]\w*$/.test(name)) call.state.set(name, [[""]]);
    else runSubscript(name, call.state, call.context);
  }
  return EMPTY_STREAM;
};

const alias: CallReader = (call) => {
  for (const arg of call.args) {
    const at = arg.indexOf("=");
    if (at > 0) call.state.setAlias(arg.slice(0, at), arg.slice(at + 1));
  }
  return EMPTY_STREAM;
};

/** `hash -p /bin/rm name`: from here on, the name is that program. */
const hash: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "-p" });
  const path = optionValue(read, "-p");
  for (const name of path === undefined ? [] : read.operands) {
    call.state.setAlias(name, path ?? "");
  }
  return UNKNOWN_STREAM;
};

const leave: CallReader = (call) => {
  call.state.ended = true;
  return EMPTY_STREAM;
};

const nothing: CallReader = () => EMPTY_STREAM;

const history: CallReader = (call) => {
  const at = call.args.findIndex((arg) => /^-\w*[wa]/.test(arg));
  if (at !== -1) {
    const file = call.args[at + 1];
    if (file !== undefined) writes(call, file);
    else {refuses(call, {
        rule: "system",
        label: "history -w writes the history file",
      });}
  }
  return UNKNOWN_STREAM;
};

const hereDirectory: CallReader = ({ state }): Stream =>
  state.cwd.length === 1 ? { text: state.cwd[0] + "\n" } : { items: state.cwd };

const getopts: CallReader = (call) => {
  call.state.set(call.args[1] ?? "opt", [[SEG]]);
  call.state.set("OPTARG", [
    call.state.positional.length === 0
      ? [ANY]
      : call.state.positional.reduce(union),
  ]);
  return EMPTY_STREAM;
};

const letNumbers: CallReader = (call) => {
  for (const arg of call.args) {
    runSubscript(arg, call.state, call.context);
    const name = /^\s*([A-Za-z_]\w*)\s*[-+*/%&|^]?=(?!=)/.exec(arg)?.[1];
    if (name !== undefined) call.state.set(name, [[SEG]]);
  }
  return EMPTY_STREAM;
};

const test: CallReader = ({ args, state, context }) => {
  runTestSubscripts(args, state, context);
  return EMPTY_STREAM;
};

/** `compgen`: what it runs, calls or expands to complete a word. */
const compgen: CallReader = (call) => {
  const read = readOptions(call.args, { takes: "-A -C -F -G -P -S -V -W -X" });
  const line = optionValue(read, "-C") ?? optionValue(read, "-F");
  const { context, state } = call;
  if (line !== undefined) {
    context.nested(() => context.run.text(line, state.fork(), EMPTY_STREAM));
  }
  runExpanded(optionValue(read, "-W") ?? "", state, context);
  return UNKNOWN_STREAM;
};

/** `shopt -s dotglob`, `setopt globdots`: from here on, stars match dotfiles too. */
function shellOption({ name, args, state }: Call): Stream {
  const words = args.map((arg) => arg.toLowerCase().replaceAll("_", ""));
  if (!words.some((word) => /^(?:dotglob|globdots)$/.test(word))) {
    return EMPTY_STREAM;
  }
  const off = name === "shopt" && !words.includes("-s");
  state.set("BASHOPTS", [[off ? "" : "dotglob"]]);
  return EMPTY_STREAM;
}

/** The builtins by name. */
export const BUILTINS: Readonly<Record<string, CallReader>> = {
  cd,
  chdir: cd,
  pushd,
  popd,
  eval: evaluate,
  trap,
  source,
  ".": source,
  exec,
  command,
  builtin,
  read,
  mapfile,
  readarray: mapfile,
  set,
  shift,
  unset,
  hash,
  alias,
  printf,
  echo,
  exit: leave,
  return: leave,
  break: leave,
  continue: leave,
  logout: leave,
  history,
  pwd: hereDirectory,
  getopts,
  let: letNumbers,
  test,
  "[": test,
  compgen,
  ":": nothing,
  true: nothing,
  false: nothing,
  shopt: shellOption,
  setopt: shellOption,
  unalias: nothing,
  export: nothing,
  declare: nothing,
  typeset: nothing,
  local: nothing,
  readonly: nothing,
};
