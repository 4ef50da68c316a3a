/**
 * Git by its own grammar: which repository a command changes, and which files it writes
 * beside it.
 *
 * @module
 */
import { SEG, SUB } from "../holes.ts";
import { type Call, type CallReader, writes } from "./call.ts";
import {
  COMMAND_SETTINGS,
  COMMAND_VARIABLES,
  GLOBAL,
  isGitSub,
  OUTPUT_SHORT,
  OUTPUTS,
  READING_FORMS,
  READS,
  SUB_TAKES,
  TRACE_VARIABLES,
} from "./git_grammar.ts";
import {
  FILE,
  GIT_SETTINGS,
  MUTATION,
  ownWrites,
  ROUTING,
  runLine,
} from "./git_writes.ts";
import {
  hasOption,
  type Options,
  optionValue,
  readOptions,
} from "./options.ts";
import { applyGuess } from "./guess.ts";
import { namedOwn, ownBelow } from "./own_files.ts";
import { projectOf, readVariable } from "./parameters.ts";
import {
  type State,
  type Stream,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";
import { joinPath } from "./places.ts";

/**
 * Follows a git command.
 *
 * @param call The call.
 * @returns Its output, for the sub-commands that print paths.
 */
export const readGit: CallReader = (call) => {
  const read = readOptions(call.args, GLOBAL);
  const state = call.state.fork();
  const inner: Call = { ...call, state };
  const aliases = new Map<string, string>();
  for (const [name, value] of read.options) {
    if (value === undefined) continue;
    if (name === "-C") state.cwd = state.cwd.map((cwd) => joinPath(cwd, value));
    if (name === "-c") setting(inner, value, aliases);
  }
  // A command line that a setting holds may call git again, without running itself.
  const once = state.fork();
  once.set(GIT_SETTINGS, []);
  for (const [text] of state.get(GIT_SETTINGS) ?? []) {
    if (text !== undefined) setting({ ...inner, state: once }, text, aliases);
  }
  const count = Number(state.get("GIT_CONFIG_COUNT")?.[0]?.[0] ?? 0);
  for (let n = 0; n < Math.min(count, 20); n++) {
    const key = state.get(`GIT_CONFIG_KEY_${n}`)?.[0]?.[0];
    const value = state.get(`GIT_CONFIG_VALUE_${n}`)?.[0]?.[0];
    if (key !== undefined && value !== undefined) {
      setting(inner, `${key}=${value}`, aliases);
    }
  }
  for (const name of TRACE_VARIABLES) {
    const path = state.get(name)?.[0]?.[0];
    if (path?.startsWith("/")) writes(inner, path, "content", FILE);
  }
  for (const name of COMMAND_VARIABLES) {
    const text = state.get(name)?.[0]?.[0];
    if (text !== undefined && /\s|\//.test(text)) runLine(inner, text);
  }
  let [sub = "", ...args] = read.operands;
  const alias = aliases.get(sub);
  if (alias !== undefined) {
    if (alias.startsWith("!")) {
      runLine(inner, `${alias.slice(1)} ${args.join(" ")}`);
      return UNKNOWN_STREAM;
    }
    const words = alias.split(/\s+/);
    sub = words[0] ?? "";
    args = [...words.slice(1), ...args];
  }
  if (sub === "") return UNKNOWN_STREAM;
  // A program of its own that git starts, such as `git-cliff`.
  if (!isGitSub(sub)) {
    applyGuess({ ...inner, name: `git-${sub}`, args });
  }
  const gitDir = optionValue(read, "--git-dir") ??
    readVariable("GIT_DIR", state, call.context)?.[0];
  const workTree = optionValue(read, "--work-tree") ??
    readVariable("GIT_WORK_TREE", state, call.context)?.[0];
  const named: Call = { ...inner, name: `git ${sub}`, args };
  const grammar = { takes: SUB_TAKES[sub] ?? "" };
  const options = readOptions(args, grammar);
  for (const [name, value] of options.options) {
    if (
      value !== undefined && value !== "-" &&
      (OUTPUTS.has(name) || name === OUTPUT_SHORT[sub])
    ) {
      writes(named, value, "content", FILE);
    }
  }
  if (
    sub === "format-patch" &&
    optionValue(options, "-o", "--output-directory") === undefined &&
    !hasOption(options, "--stdout")
  ) {
    writes(named, ".", "content", FILE);
  }
  const rehearses = hasOption(options, "--dry-run") ||
    REHEARSED.test(sub) && hasOption(options, "-n");
  if (rehearses && sub !== "push") return output(named, options, state);
  const isReading = READS.has(sub) || (READING_FORMS[sub]?.(options) ?? false);
  if (!isReading) {
    changeRepository(named, gitDir, workTree);
    routed(named, call);
  } else if ((sub === "init" || sub === "clone") && gitDir !== undefined) {
    // They make a repository where they are told to, or where the environment says.
    writes(named, gitDir, "content", ROUTING);
  }
  ownWrites(named, options);
  // What `git config` sets holds for the commands behind it.
  const settings = state.get(GIT_SETTINGS);
  if (settings !== undefined) call.state.set(GIT_SETTINGS, settings);
  return output(named, options, state);
};

/** Sub-commands whose `-n` only shows what would be done. */
const REHEARSED = /^(?:add|clean|mv|rm|prune|prune-packed)$/;

/** Records the change of the repository that a command works on. */
function changeRepository(
  call: Call,
  gitDir: string | undefined,
  workTree: string | undefined,
): void {
  if (workTree !== undefined) {
    writes(call, workTree, "content", ROUTING);
    for (const own of namedOwn(workTree, call.state, call.context)) {
      writes(call, own, "entry", ROUTING);
    }
  }
  if (gitDir !== undefined) writes(call, gitDir, "content", ROUTING);
  else writes(call, ".", "content", MUTATION);
}

/** Index, object and common directories that the environment moves elsewhere. */
function routed(call: Call, outer: Call): void {
  for (
    const name of ["GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"]
  ) {
    const value = outer.state.get(name)?.[0]?.[0];
    if (value !== undefined) writes(call, value, "content", ROUTING);
  }
}

function setting(call: Call, text: string, aliases: Map<string, string>): void {
  const at = text.indexOf("=");
  if (at === -1) return;
  const key = text.slice(0, at);
  const value = text.slice(at + 1);
  const alias = /^alias\.(.+)$/i.exec(key)?.[1];
  if (alias !== undefined) aliases.set(alias, value);
  else if (COMMAND_SETTINGS.test(key)) runLine(call, value.replace(/^!/, ""));
  else if (
    /^core\.(?:worktree|hookspath)$/i.test(key) && /worktree/i.test(key)
  ) {
    writes(call, value, "content", ROUTING);
  }
}

/** What the sub-commands that print paths print. */
function output(call: Call, options: Options, state: State): Stream {
  const sub = call.name.slice("git ".length);
  if (sub === "rev-parse") {
    if (hasOption(options, "--show-toplevel")) {
      const root = projectOf(state, call.context);
      return root === undefined ? UNKNOWN_STREAM : { items: root };
    }
    if (hasOption(options, "--git-dir", "--git-common-dir")) {
      return { items: [".git"] };
    }
    if (hasOption(options, "--show-prefix", "--show-cdup")) {
      return hasOption(options, "--show-prefix")
        ? { items: [SUB] }
        : UNKNOWN_STREAM;
    }
    return { items: [SEG] };
  }
  if (
    sub === "describe" || sub === "rev-list" || sub === "hash-object" ||
    sub === "merge-base"
  ) {
    return { items: [SEG] };
  }
  if (sub === "branch" || sub === "tag") return { items: [SUB] };
  const lists = sub === "ls-files" ||
    sub === "grep" &&
      hasOption(options, "-l", "--files-with-matches", "--name-only") ||
    (/^(?:diff|show|log|diff-tree|diff-index|ls-tree)$/.test(sub) &&
      hasOption(options, "--name-only", "--name-status"));
  if (!lists) {
    return sub === "log" || sub === "show" || sub === "status"
      ? UNKNOWN_STREAM
      : {};
  }
  // Names are relative to where it runs, or to the top of the tree.
  const places: Values = state.cwd === call.state.cwd
    ? [SUB]
    : state.cwd.map((cwd) => `${cwd}/${SUB}`);
  const everything = hasOption(options, "-o", "--others") &&
    !hasOption(options, "--exclude-standard");
  return {
    items: places,
    ...everything
      ? { swept: ownBelow(".", state, call.context).map(({ path }) => path) }
      : {},
  };
}
