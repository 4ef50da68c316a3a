/**
 * Git's grammar as data: options, and which forms of its sub-commands only read.
 *
 * @module
 */
import { hasOption, type Options } from "./options.ts";

/** Options before the sub-command. */
export const GLOBAL = {
  takes:
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
  stopsAtOperand: true,
};

/** Sub-commands that leave every file alone, or touch no more than caches of the repository. */
export const READS = new Set(
  ("status log show diff blame annotate shortlog describe rev-parse rev-list ls-files ls-tree ls-remote " +
    "cat-file grep name-rev merge-base for-each-ref show-ref show-branch diff-tree diff-files diff-index " +
    "cherry count-objects fsck verify-commit verify-tag verify-pack whatchanged var help version check-ignore " +
    "check-attr check-mailmap check-ref-format get-tar-commit-id patch-id range-diff merge-tree " +
    "fmt-merge-msg stripspace column interpret-trailers request-pull instaweb gui gitk web--browse mailinfo " +
    "unpack-file difftool bugreport diagnose fast-export").split(" "),
);

/** Sub-commands that write with some words and read with others. */
export const READING_FORMS: Readonly<
  Record<string, (read: Options) => boolean>
> = {
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
    ["", "status", "summary", "foreach"].includes(read.operands[0] ?? ""),
  bisect: (read) =>
    ["log", "view", "visualize", "help"].includes(read.operands[0] ?? ""),
  bundle: (read) =>
    ["verify", "list-heads", "create"].includes(read.operands[0] ?? ""),
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
  "pack-objects": (read) => hasOption(read, "--stdout"),
};

/** Options of each sub-command that take the next argument. */
export const SUB_TAKES: Readonly<Record<string, string>> = {
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
  pull: "--upload-pack -s -X --depth --strategy -j",
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
  grep: "-O --open-files-in-pager -e -f -A -B -C -m --max-depth --threads",
  "pack-objects": "--window --depth --filter --threads",
  "index-pack": "-o",
  instaweb: "-b -d -p --browser --httpd --port",
  "ls-remote": "--upload-pack --sort -o",
  "fetch-pack": "--upload-pack --exec",
  "send-pack": "--receive-pack --exec",
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
  mailsplit: "-o -b -d -f",
  "credential-store": "--file",
};

/**
 * Whether git has a sub-command of some name; others are programs of their own.
 *
 * @param sub The name.
 * @returns `true` when it is in this grammar.
 */
export function isGitSub(sub: string): boolean {
  return READS.has(sub) || Object.hasOwn(SUB_TAKES, sub) ||
    Object.hasOwn(READING_FORMS, sub);
}

/** Options of any sub-command whose value is a file it writes. */
export const OUTPUTS = new Set([
  "--output",
  "--output-directory",
  "--export-marks",
  "--index-output",
  "--build-fake-ancestor",
  "--pid-file",
]);
/** Short options of a sub-command whose value is a file it writes. */
export const OUTPUT_SHORT: Readonly<Record<string, string>> = {
  archive: "-o",
  "format-patch": "-o",
  bugreport: "-o",
  mailsplit: "-o",
  diagnose: "-o",
  "index-pack": "-o",
};

/** Variables that make git run a program or a command line. */
export const COMMAND_VARIABLES = [
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
/** Variables that make git write what it does to the file they name. */
export const TRACE_VARIABLES: readonly string[] =
  ("GIT_TRACE GIT_TRACE_PACKET GIT_TRACE_PACKFILE GIT_TRACE_PERFORMANCE GIT_TRACE_REFS GIT_TRACE_SETUP " +
    "GIT_TRACE_SHALLOW GIT_TRACE_CURL GIT_TRACE_FSMONITOR GIT_TRACE_PACK_ACCESS GIT_TRACE2 GIT_TRACE2_EVENT " +
    "GIT_TRACE2_PERF").split(" ");

/** Settings whose value git runs. */
export const COMMAND_SETTINGS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|pager\..+|credential(?:\..*)?\.helper|gpg\.program|(?:diff|merge)tool\..+\.cmd|filter\..+\.(?:clean|smudge|process)|uploadpack\..+|diff\..+\.(?:command|textconv)|merge\..+\.driver)$/i;
