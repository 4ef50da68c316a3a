/**
 * Finds out what one command is: a function, builtin, wrapper, nested shell, program of the
 * table, or something unknown.
 *
 * @module
 */
import { ANY, isKnown } from "../holes.ts";
import { BUILTINS } from "./builtins.ts";
import type { Call, CallReader } from "./call.ts";
import { hasRow } from "./commands.ts";
import { CONTAINERS } from "./containers.ts";
import type { Context } from "./context.ts";
import { ARCHIVES } from "./archives.ts";
import { BUILDS } from "./builds.ts";
import { COPIES } from "./copies.ts";
import { REMOTE_COPIES } from "./copies_remote.ts";
import { DATABASES } from "./databases.ts";
import { DOWNLOADS } from "./downloads.ts";
import { EDITS } from "./edits.ts";
import { FILES } from "./files.ts";
import { FIND } from "./find.ts";
import { readGit } from "./git.ts";
import { programsLike } from "./glob_programs.ts";
import { KEYS } from "./keys.ts";
import { isGitSub } from "./git_grammar.ts";
import { INTERPRETERS } from "./interpreters.ts";
import { callFunction } from "./nodes.ts";
import { readOptions } from "./options.ts";
import { disarms, startsBulkhead } from "./own_files.ts";
import { runOptionCommands } from "./option_commands.ts";
import { OTHER_LANGUAGES } from "./other_languages.ts";
import { PACKAGES } from "./packages.ts";
import { writesOutputs } from "./program_outputs.ts";
import { isShell, readNestedShell } from "./shells.ts";
import {
  EMPTY_STREAM,
  type State,
  type Stream,
  UNKNOWN_STREAM,
} from "./state.ts";
import { outputOf } from "./streams.ts";
import { runVariables } from "./variable_hooks.ts";
import { applyGuess } from "./guess.ts";
import { applyTable, changesAccount } from "./verbs.ts";
import { SHELL_STRINGS } from "./shell_strings.ts";
import { unwrap, type Unwrapped } from "./unwrap.ts";
import { WRAPPERS } from "./wrappers.ts";
import { joinPath } from "./places.ts";

/** The readers by kind; no program has two. */
export const READER_TABLES: readonly Readonly<Record<string, CallReader>>[] = [
  ARCHIVES,
  BUILDS,
  COPIES,
  REMOTE_COPIES,
  DATABASES,
  DOWNLOADS,
  EDITS,
  FILES,
  FIND,
  INTERPRETERS,
  KEYS,
  OTHER_LANGUAGES,
  PACKAGES,
  CONTAINERS,
  SHELL_STRINGS,
  { git: readGit, hub: readGit },
];

const READERS: Readonly<Record<string, CallReader>> = Object.assign(
  {},
  ...READER_TABLES,
);

/** Names that a project's own script may bear; only from a `bin` directory are they the tool. */
const COMMON_SCRIPT_NAMES = new Set([
  "install",
  "patch",
  "script",
  "split",
  "link",
  "at",
  "git",
]);

/**
 * Follows one command by its words.
 *
 * @param argv Program and arguments.
 * @param state The shell.
 * @param stdin Its input.
 * @param context The reading.
 * @returns Its output.
 */
export function runArgv(
  argv: readonly string[],
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  const program = argv[0] ?? "";
  if (program === "" || !context.step()) return UNKNOWN_STREAM;
  const args = argv.slice(1);
  const defined = state.getFunction(program);
  if (defined !== undefined) {
    return callFunction(defined, args, state, stdin, context);
  }
  const alias = state.getAlias(program);
  if (alias !== undefined && alias !== program) {
    const words = alias.trim().split(/\s+/);
    if (words[0] !== program) {
      return context.nested(() =>
        context.run.text(
          [alias, ...args.map(quote)].join(" "),
          state,
          stdin,
        )
      );
    }
    return runProgram([...words, ...args], state, stdin, context);
  }
  const builtin = Object.hasOwn(BUILTINS, program)
    ? BUILTINS[program]
    : undefined;
  if (builtin !== undefined) {
    return builtin({ name: program, args, state, stdin, context }) ??
      UNKNOWN_STREAM;
  }
  return runProgram(argv, state, stdin, context);
}

/** Quotes a word so that it reads as itself again. */
function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function runProgram(
  argv: readonly string[],
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  const program = argv[0] ?? "";
  const args = argv.slice(1);
  if (!isKnown(program)) {
    // `${RM:-rm}` and the like: the alternatives that are known have their own reading.
    for (const like of programsLike(program)) {
      context.nested(() =>
        context.run.argv([like, ...args], state.fork(), stdin)
      );
    }
    return UNKNOWN_STREAM;
  }
  const name = baseName(program);
  const call: Call = { name, args, state, stdin, context };
  if (program.includes("/")) {
    const content = context.readFile(program, state);
    if (content.text !== undefined) {
      return runWritten(content.text, argv, state, stdin, context);
    }
    if (COMMON_SCRIPT_NAMES.has(name) && !/\/bin\/[^/]+$/.test(program)) {
      return UNKNOWN_STREAM;
    }
  }
  // The loader runs the program it is given.
  if (
    name.startsWith("ld-") &&
    /^ld-(?:linux|musl)\b.*\.so(?:\.\d+)?$/.test(name)
  ) {
    const inner = readOptions(args, {
      takes: "--library-path --preload --argv0 --audit --inhibit-rpath",
      stopsAtOperand: true,
    }).operands;
    return context.nested(() => context.run.argv(inner, state.fork(), stdin));
  }
  if (startsBulkhead(name)) disarms(call);
  if (isShell(name)) return readNestedShell(call);
  if (Object.hasOwn(WRAPPERS, name)) {
    const inner = unwrap(call);
    if (inner !== undefined) return runInner(inner, call);
  }
  runVariables(call);
  runOptionCommands(call);
  writesOutputs(call);
  if (changesAccount(call)) return UNKNOWN_STREAM;
  // `git-clean`, as git's own programs are called.
  if (name.startsWith("git-") && isGitSub(name.slice("git-".length))) {
    return readGit({
      ...call,
      name: "git",
      args: [name.slice("git-".length), ...args],
    }) ?? UNKNOWN_STREAM;
  }
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  if (reader !== undefined) {
    const output = reader(call);
    if (output !== undefined) return output;
  } else if (!applyTable(call)) {
    // A script of the project is opaque, and no wrapper.
    const installed = !program.includes("/") || /\/s?bin\//.test(program);
    applyGuess(call, { subs: installed });
    if (installed) scanOperands(call);
  }
  return outputOf(call) ?? UNKNOWN_STREAM;
}

/** Runs what a wrapper has been given, in the place and with the variables it sets. */
function runInner(inner: Unwrapped, call: Call): Stream {
  const { cwd, env, argv } = inner;
  // A builtin such as `cd` behind `noglob` changes the shell itself.
  const place = inner.own ? call.state : call.state.fork();
  if (cwd !== undefined) {
    // A program changes to it as the kernel walks it, not by name as `cd` does.
    place.cwd = place.cwd.map((here) =>
      cwd.includes(ANY) ? ANY : joinPath(here, cwd)
    );
  }
  for (const [key, value] of env) place.set(key, [[value]]);
  if (argv.length === 0) return UNKNOWN_STREAM;
  return call.context.nested(() =>
    call.context.run.argv(argv, place, inner.stdin ?? call.stdin)
  );
}

/**
 * The base name of a program, as the tables spell it.
 *
 * @param program The program as written.
 * @returns The name without directory, version or `.exe`.
 */
export function baseName(program: string): string {
  const name = program.slice(program.lastIndexOf("/") + 1).replace(
    /\.exe$/i,
    "",
  );
  // Most names need no look at the patterns.
  if (!name.startsWith("g") && !/[\d.]$/.test(name)) return name;
  const bare = bareName(name);
  return bare === name || hasRow(name) ? name : bare;
}

/** A name without its version, or without the `g` that GNU programs bear elsewhere. */
function bareName(name: string): string {
  return /^(?:python|pip|perl|ruby|php|lua|node|gcc|g\+\+|clang|clang\+\+)-?\d[\d.]*$/
      .test(name)
    ? name.replace(/-?\d[\d.]*$/, "")
    : /^g(?:sed|awk|tar|cp|mv|rm|ln|touch|mkdir|install|tee|dd|split|truncate|find|xargs|chmod|chown)$/
        .test(name) && name !== "gawk"
    ? name.slice(1)
    : name;
}

/** Runs a script that the command itself has written before. */
function runWritten(
  text: string,
  argv: readonly string[],
  state: State,
  stdin: Stream,
  context: Context,
): Stream {
  const interpreter = /^#!\s*(?:\S*\/)?(?:env\s+(?:-S\s+)?)?(\S+)/.exec(text)
    ?.[1];
  const program = interpreter === undefined ? "sh" : baseName(interpreter);
  return context.nested(() =>
    context.run.argv(
      [program, ...argv],
      state.fork(),
      stdin.text === "" ? EMPTY_STREAM : stdin,
    )
  );
}

/** Verbs that, as an operand of an unknown program, are likely the command it runs. */
const STRONG = new Set(
  ("rm rmdir unlink shred mv cp ln dd tee touch mkdir truncate chmod chown install rsync bash sh zsh " +
    "dash sed env sudo python python3 node perl").split(" "),
);

/** An unknown program may be a wrapper: a verb among its operands is followed as a command. */
function scanOperands(call: Call): void {
  const { args } = call;
  const at = args.findIndex((arg) =>
    STRONG.has(baseName(arg)) &&
    (arg.includes("/") ? arg.includes("bin/") : true)
  );
  // Only behind options and their values: `tool put rm` is a sub-command of its own.
  if (at === -1 || at + 1 >= args.length) return;
  const before = args.slice(0, at);
  const plain = before.filter((arg, i) =>
    !arg.startsWith("-") && !(before[i - 1] ?? "").startsWith("-")
  );
  if (plain.length > 1 || (at === 0 && SUBCOMMAND_PROGRAMS.test(call.name))) {
    return;
  }
  call.context.nested(() =>
    call.context.run.argv(args.slice(at), call.state.fork(), call.stdin)
  );
}

/** Programs whose own sub-commands are called like the verbs. */
const SUBCOMMAND_PROGRAMS =
  /^(?:aws|gsutil|gcloud|az|mc|s3cmd|rclone|kubectl|oc|svn|hg|jj|bzr|adb|hdfs|hadoop|dvc|lxc|fly|flyctl|heroku|vercel|supabase|wrangler|tmutil|zfs|zpool|ipfs|ctr|crictl|nerdctl|multipass|vagrant|cosign|crane|skopeo|bun|yarn|npm|pnpm|task|just|rake|invoke|fab)$/;
