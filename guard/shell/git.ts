/**
 * Git by its own grammar: which repository a command changes, and which files it writes
 * beside it.
 *
 * @module
 */
import { joinPath } from "@bulkhead/sandbox/paths";
import { unifiedDiffTargets } from "../targets.ts";
import { type Call, type CallReader, refuses, writes } from "./call.ts";
import type { EffectName } from "./context.ts";
import {
  hasOption,
  type Options,
  optionValue,
  readOptions,
} from "./options.ts";
import { projectOf, readVariable } from "./parameters.ts";
import {
  type State,
  type Stream,
  UNKNOWN_STREAM,
  type Values,
} from "./state.ts";
import { SEG, SUB } from "../holes.ts";

const MUTATION: Pick<EffectName, "rule" | "label"> = {
  rule: "git",
  label: "git mutation",
};
const FILE: Pick<EffectName, "rule" | "label"> = {
  rule: "git",
  label: "git output file",
};
const REMOTE: Pick<EffectName, "rule" | "label"> = {
  rule: "git-remote",
  label: "git remote operation",
};
const ROUTING: Pick<EffectName, "rule" | "label"> = {
  rule: "git-routing",
  label: "git repository routing escape",
};
const WORKTREE: Pick<EffectName, "rule" | "label"> = {
  rule: "git-worktree",
  label: "git worktree add (working tree outside the sandbox)",
};

/** Options before the sub-command. */
const GLOBAL = {
  takes:
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
  stopsAtOperand: true,
};

/** Sub-commands that leave every file alone, or touch no more than caches of the repository. */
const READS = new Set(
  ("status log show diff blame annotate shortlog describe rev-parse rev-list ls-files ls-tree ls-remote " +
    "cat-file grep name-rev merge-base for-each-ref show-ref show-branch diff-tree diff-files diff-index " +
    "cherry count-objects fsck verify-commit verify-tag verify-pack whatchanged var help version check-ignore " +
    "check-attr check-mailmap check-ref-format get-tar-commit-id patch-id range-diff merge-tree " +
    "fmt-merge-msg stripspace column interpret-trailers request-pull instaweb gui gitk web--browse mailinfo " +
    "unpack-file difftool bugreport diagnose fast-export").split(" "),
);

/** Sub-commands that write with some words and read with others. */
const READING_FORMS: Readonly<Record<string, (read: Options) => boolean>> = {
  branch: (read) =>
    read.operands.length === 0 &&
      !hasOption(
        read,
        "-d",
        "-D",
        "-m",
        "-M",
        "-c",
        "-C",
        "-u",
        "--edit-description",
        "--set-upstream-to",
        "--unset-upstream",
      ) ||
    hasOption(
      read,
      "-l",
      "--list",
      "--show-current",
      "--contains",
      "--no-contains",
      "--merged",
      "--no-merged",
      "--points-at",
    ),
  tag: (read) =>
    read.operands.length === 0 && !hasOption(read, "-d", "--delete") ||
    hasOption(
      read,
      "-l",
      "--list",
      "-v",
      "--verify",
      "--contains",
      "--points-at",
      "-n",
    ),
  remote: (read) => ["", "show", "get-url"].includes(read.operands[0] ?? ""),
  stash: (read) => ["list", "show"].includes(read.operands[0] ?? ""),
  notes: (read) => ["", "list", "show"].includes(read.operands[0] ?? ""),
  reflog: (read) =>
    ["", "show", "exists"].includes(read.operands[0] ?? "") ||
    !["expire", "delete"].includes(read.operands[0] ?? ""),
  worktree: (read) => read.operands[0] === "list",
  submodule: (read) =>
    ["", "status", "summary"].includes(read.operands[0] ?? ""),
  bisect: (read) =>
    ["log", "view", "visualize", "help"].includes(read.operands[0] ?? ""),
  bundle: (read) => ["verify", "list-heads"].includes(read.operands[0] ?? ""),
  "symbolic-ref": (read) =>
    read.operands.length < 2 && !hasOption(read, "-d", "--delete"),
  "hash-object": (read) => !hasOption(read, "-w"),
  apply: (read) =>
    hasOption(read, "--check", "--stat", "--numstat", "--summary") &&
    !hasOption(read, "--apply"),
  lfs: (read) =>
    ["ls-files", "env", "status", "version", "logs"].includes(
      read.operands[0] ?? "",
    ),
  archive: () => true,
  "format-patch": () => true,
  maintenance: () => true,
  config: () => true,
  clone: () => true,
  init: () => true,
  push: () => true,
  rerere: (read) => ["status", "diff"].includes(read.operands[0] ?? ""),
  "sparse-checkout": (read) => read.operands[0] === "list",
  replace: (read) =>
    read.operands.length === 0 || hasOption(read, "-l", "--list"),
  credential: () => true,
  "send-email": () => true,
  "mergetool": () => false,
};

const SUB_TAKES: Readonly<Record<string, string>> = {
  commit:
    "-m -F -C -c -t --message --file --author --date --template --reuse-message --reedit-message --fixup --squash --cleanup --trailer",
  clone:
    "-b -o -u -j -c --branch --origin --upload-pack --depth --reference --reference-if-able --template --jobs --config --filter --shallow-since --shallow-exclude --separate-git-dir --server-option --bundle-uri",
  init:
    "-b --initial-branch --template --separate-git-dir --object-format --ref-format",
  archive:
    "-o --output --format --prefix --remote --exec --add-file --add-virtual-file",
  "format-patch":
    "-o -v --output-directory --start-number --suffix --subject-prefix --to --cc --in-reply-to --base --signature --signature-file --cover-from-description --interdiff --range-diff --output -n",
  log:
    "--output -n -S -G -L --format --pretty --author --since --until --after --before --grep --max-count --skip --date -O --decorate-refs",
  diff: "--output -S -G -O -U --diff-filter --stat",
  show: "--output -S -G --format --pretty",
  config:
    "-f --file --blob --type --default --get-color --get-colorbool --comment --value --url",
  worktree: "-b -B --reason --orphan",
  push: "-o --push-option --receive-pack --exec --repo",
  fetch: "-j --depth --upload-pack --refmap --jobs --shallow-since -o",
  pull: "-s -X --depth --strategy -j",
  checkout: "-b -B --orphan --conflict --pathspec-from-file",
  switch: "-c -C --create --orphan",
  tag:
    "-m -F -u --message --file --local-user --sort --format --contains --points-at",
  branch:
    "-u --set-upstream-to --sort --format --contains --no-contains --merged --no-merged --points-at",
  bundle: "",
  rebase: "-x -s -X --exec --onto --strategy",
  apply:
    "-p -C --directory --exclude --include --build-fake-ancestor --whitespace",
  submodule: "-b --name --depth --reference --branch",
  "filter-branch":
    "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --subdirectory-filter -d --setup",
  stash: "-m --message",
  bisect: "",
  "checkout-index": "--prefix --stage",
  "read-tree": "--prefix --index-output --exclude-per-directory",
  "fast-export": "--export-marks --import-marks --refspec",
  "fast-import": "--export-marks --import-marks",
  "bugreport": "-o --output-directory -s --suffix",
  "diagnose": "-o --output-directory -s --suffix --mode",
  difftool: "-x -t --extcmd --tool",
  mergetool: "-t --tool",
  merge: "-m -s -X -F",
  am: "-p -C --directory",
  clean: "-e --exclude",
};

/** Options of any sub-command whose value is a file it writes. */
const OUTPUTS = new Set([
  "--output",
  "--output-directory",
  "--export-marks",
  "--index-output",
  "--build-fake-ancestor",
]);
const OUTPUT_SHORT: Readonly<Record<string, string>> = {
  archive: "-o",
  "format-patch": "-o",
  bugreport: "-o",
  diagnose: "-o",
};

/** Variables that make git run a program or a command line. */
const COMMAND_VARIABLES = [
  "GIT_EDITOR",
  "GIT_SEQUENCE_EDITOR",
  "GIT_PAGER",
  "GIT_SSH_COMMAND",
  "GIT_EXTERNAL_DIFF",
  "GIT_ASKPASS",
  "EDITOR",
  "PAGER",
  "VISUAL",
];
/** Settings whose value git runs. */
const COMMAND_SETTINGS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|pager\..+|credential(?:\..*)?\.helper|gpg\.program|(?:diff|merge)tool\..+\.cmd|filter\..+\.(?:clean|smudge|process)|uploadpack\..+|diff\..+\.(?:command|textconv)|merge\..+\.driver)$/i;

/**
 * Follows a git command.
 *
 * @param call The call.
 * @returns its output, for the sub-commands that print paths.
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
  const isReading = READS.has(sub) || (READING_FORMS[sub]?.(options) ?? false);
  if (!isReading) {
    changeRepository(named, state, gitDir, workTree);
    routed(named, call);
  }
  own(named, options);
  return output(named, options, state);
};

/** Records the change of the repository that a command works on. */
function changeRepository(
  call: Call,
  state: State,
  gitDir: string | undefined,
  workTree: string | undefined,
): void {
  if (gitDir !== undefined) writes(call, gitDir, "content", ROUTING);
  if (workTree !== undefined) writes(call, workTree, "content", ROUTING);
  if (gitDir === undefined || workTree === undefined) {
    if (gitDir === undefined || state.cwd.length > 0) {
      if (gitDir === undefined) writes(call, ".", "content", MUTATION);
    }
  }
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

function runLine(call: Call, text: string): void {
  call.context.nested(() => call.context.run.text(text, call.state.fork(), {}));
}

/** What each sub-command writes beside its repository. */
function own(call: Call, options: Options): void {
  const sub = call.name.slice("git ".length);
  const { operands } = options;
  switch (sub) {
    case "clone": {
      const [source = "", target] = operands;
      const name =
        source.replace(/\/+$/, "").replace(/\.git$/, "").split(/[/:]/).at(-1) ??
          ".";
      writes(call, target ?? (name === "" ? "." : name), "content", MUTATION);
      const separate = optionValue(options, "--separate-git-dir");
      if (separate !== undefined) writes(call, separate, "content", ROUTING);
      return;
    }
    case "init": {
      writes(call, operands[0] ?? ".", "content", MUTATION);
      const separate = optionValue(options, "--separate-git-dir");
      if (separate !== undefined) writes(call, separate, "content", ROUTING);
      return;
    }
    case "worktree": {
      const [verb, path, second] = operands;
      if (verb === "add" && path !== undefined) {
        writes(call, path, "content", WORKTREE);
      } else if (verb === "remove" && path !== undefined) {
        writes(call, path, "tree", MUTATION);
      } else if (verb === "move" && second !== undefined) {
        writes(call, second, "content", WORKTREE);
      }
      return;
    }
    case "push": {
      if (hasOption(options, "-n", "--dry-run")) return;
      const target = optionValue(options, "--repo") ?? operands[0];
      const local = target?.replace(/^file:\/\//, "");
      if (local !== undefined && /^(?:\/|\.{1,2}(?:\/|$))/.test(local)) {
        writes(call, local, "content", REMOTE);
      } else refuses(call, REMOTE);
      return;
    }
    case "send-email":
      if (!hasOption(options, "--dry-run")) refuses(call, REMOTE);
      return;
    case "config":
      return config(call, options);
    case "bundle":
      if (
        operands[0] === "create" && operands[1] !== undefined &&
        operands[1] !== "-"
      ) {
        writes(call, operands[1], "content", FILE);
      }
      return;
    case "submodule":
      if (operands[0] === "foreach") runLine(call, operands.slice(1).join(" "));
      if (operands[0] === "add" && operands[2] !== undefined) {
        writes(call, operands[2], "content", MUTATION);
      }
      return;
    case "bisect":
      if (operands[0] === "run") {
        const at = call.args.indexOf("run");
        call.context.nested(() =>
          call.context.run.argv(call.args.slice(at + 1), call.state.fork(), {})
        );
      }
      return;
    case "rebase":
      for (const [name, value] of options.options) {
        if ((name === "-x" || name === "--exec") && value !== undefined) {
          runLine(call, value);
        }
      }
      return;
    case "filter-branch":
      for (const [name, value] of options.options) {
        if (
          name.endsWith("-filter") && name !== "--subdirectory-filter" &&
          value !== undefined
        ) runLine(call, value);
        if (name === "-d" && value !== undefined) {
          writes(call, value, "content", FILE);
        }
      }
      return;
    case "difftool": {
      const command = optionValue(options, "-x", "--extcmd");
      if (command !== undefined) runLine(call, command);
      return;
    }
    case "checkout-index": {
      const prefix = optionValue(options, "--prefix");
      if (prefix !== undefined) writes(call, prefix, "content", FILE);
      return;
    }
    case "mv":
      for (const path of operands) writes(call, path, "tree", MUTATION);
      return;
    case "rm":
      for (const path of operands) writes(call, path, "entry", MUTATION);
      return;
    case "clean":
    case "checkout":
    case "restore":
      for (const path of operands) {
        if (/^(?:\/|\.\.\/)/.test(path)) writes(call, path, "entry", MUTATION);
      }
      return;
    case "apply":
    case "am": {
      const body = operands[0] === undefined || operands[0] === "-"
        ? call.stdin
        : call.context.readFile(operands[0], call.state);
      if (body.text !== undefined && hasOption(options, "--unsafe-paths")) {
        const strip = Number(optionValue(options, "-p") ?? 1);
        const directory = optionValue(options, "--directory");
        for (const path of unifiedDiffTargets(body.text, strip)) {
          writes(
            call,
            directory === undefined ? path : joinPath(directory, path),
            "content",
            MUTATION,
          );
        }
      }
      return;
    }
    case "maintenance":
      if (/^(?:start|stop|register|unregister)$/.test(operands[0] ?? "")) {
        refuses(call, {
          rule: "system",
          label: "git maintenance changes the account's settings",
        });
      } else writes(call, ".", "content", MUTATION);
      return;
    case "lfs":
      if (operands[0] === "install" && !hasOption(options, "--local")) {
        refuses(call, {
          rule: "system",
          label: "git lfs install changes the global configuration",
        });
      }
      return;
    case "credential":
      if (/^(?:approve|reject|store|erase)$/.test(operands[0] ?? "")) {
        refuses(call, {
          rule: "system",
          label: "git credential changes stored credentials",
        });
      }
      return;
    case "archive":
    case "format-patch":
    default:
      return;
  }
}

/** `git config`: which file, and whether it is written at all. */
function config(call: Call, options: Options): void {
  const { operands } = options;
  const verbs = new Set([
    "get",
    "list",
    "get-all",
    "get-regexp",
    "get-urlmatch",
  ]);
  const writesVerb = /^(?:set|unset|rename-section|remove-section|edit)$/.test(
    operands[0] ?? "",
  );
  const reads = hasOption(
        options,
        "-l",
        "--list",
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
        "--show-origin",
        "--show-scope",
        "--name-only",
      ) &&
      !hasOption(options, "--add", "--unset", "--unset-all", "--replace-all") ||
    verbs.has(operands[0] ?? "") && !hasOption(options, "--add", "--unset");
  const changes = !reads && (writesVerb || operands.length >= 2 ||
    hasOption(
      options,
      "--add",
      "--unset",
      "--unset-all",
      "--replace-all",
      "--rename-section",
      "--remove-section",
      "-e",
      "--edit",
    ));
  if (!changes) return;
  const label = {
    rule: "git",
    label: "git configuration outside the repository",
  } as const;
  const file = optionValue(options, "-f", "--file");
  const set = operands[0] === "set" ? operands.slice(1) : operands;
  if (file !== undefined) writes(call, file, "content", label);
  else if (hasOption(options, "--system")) {
    writes(call, "/etc/gitconfig", "content", label);
  } else if (hasOption(options, "--global")) {
    const named = readVariable("GIT_CONFIG_GLOBAL", call.state, call.context)
      ?.[0];
    const home = readVariable("HOME", call.state, call.context)?.[0];
    writes(
      call,
      named ??
        (home === undefined ? "\uE000/.gitconfig" : `${home}/.gitconfig`),
      "content",
      label,
    );
  } else {
    const named = readVariable("GIT_DIR", call.state, call.context)?.[0];
    writes(call, named ?? ".", "content", MUTATION);
    // Settings that send later commands elsewhere.
    if (
      /^core\.(?:worktree|hookspath)$/i.test(set[0] ?? "") &&
      set[1] !== undefined
    ) {
      writes(call, set[1], "content", ROUTING);
    }
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
  return { items: places };
}
