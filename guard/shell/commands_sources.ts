/**
 * Version control beside git, and what reads or indexes source trees. Data only.
 *
 * @module
 */
import {
  ALL,
  each,
  HERE,
  type VerbSpec,
  type VerbTable,
  verbTable,
} from "./verb_spec.ts";

/** It changes the repository it runs in. */
const CHANGES: VerbSpec = {
  here: true,
  takes: "-m -u -r -I -X -l -d --message --rev --user --date --branch",
};
/** The second operand is made from the first. */
const CLONES: VerbSpec = {
  operands: "second",
  takes: "-b -r -u -U --rev --branch",
};

/** The rows by program. */
export const sourceCommands: VerbTable = verbTable(() => ({
  hg: {
    cwd: "--cwd",
    tree: "-R --repository",
    takes: "--config",
    subs: {
      ...each("clone share convert", CLONES),
      archive: { operands: "all", takes: "-r -t -p -I -X" },
      bundle: { operands: "first", takes: "-r -t --base --rev --type" },
      ...each("export cat", { takes: "-r -I -X --rev", writes: "-o --output" }),
      init: ALL,
      ...each(
        "commit ci update up checkout co pull add addremove revert import strip merge tag branch bookmark bookmarks " +
          "remove rm rename mv copy cp forget rebase graft histedit amend purge unbundle backout resolve shelve unshelve " +
          "phase recover rollback transplant qpush qpop qnew qimport",
        CHANGES,
      ),
    },
  },
  svn: {
    takes:
      "-r -m -F --username --password --revision --message --file --config-dir",
    subs: {
      ...each("checkout co export", {
        operands: "second",
        takes: "-r --depth",
      }),
      ...each(
        "rm remove delete del add mkdir revert commit ci resolve resolved lock unlock upgrade",
        {
          operands: "all",
          takes: "-m -F --depth --accept --message",
          mode: "tree",
        },
      ),
      ...each("update up cleanup", {
        operands: "all",
        takes: "-r --accept --depth",
        here: true,
      }),
      ...each("copy cp patch merge switch sw relocate", {
        operands: "final",
        takes: "-m -r -c --accept --message",
      }),
      ...each("move mv rename ren", {
        operands: "all",
        takes: "-m --message",
        mode: "tree",
      }),
      ...each("propset ps pset", { operands: "final", takes: "-F -r" }),
      ...each("propdel pd pdel propedit pe pedit changelist cl", {
        operands: "rest",
        takes: "-r",
      }),
      import: { takes: "-m" },
    },
  },
  svnadmin: {
    subs: {
      ...each(
        "create load recover upgrade setlog rmlocks pack setuuid rmtxns",
        {
          operands: "first",
          takes: "--fs-type -r",
        },
      ),
      hotcopy: { operands: "second" },
    },
  },
  svnsync: { subs: each("init initialize sync", { operands: "first" }) },
  cvs: {
    takes: "-d",
    subs: each("checkout co export", {
      writes: "-d",
      takes: "-r -D",
      here: true,
    }),
  },
  ...each("bzr brz", {
    subs: {
      ...each("clone branch checkout get", CLONES),
      ...each("init init-repo export", { operands: "first" }),
      ...each("commit ci add pull update revert merge rm mv", {
        cwd: "-d --directory",
        here: true,
        takes: "-m -r",
      }),
    },
  }),
  fossil: {
    subs: {
      clone: CLONES,
      ...each("init new", { operands: "first", takes: "--template" }),
      open: { writes: "--workdir", here: true },
      ...each("commit add rm update checkout revert merge", {
        here: true,
        takes: "-m",
      }),
    },
  },
  ...each("darcs pijul", {
    subs: {
      ...each("clone get put", CLONES),
      ...each("init initialize", {
        writes: "--repodir",
        operands: "first",
        here: true,
      }),
      ...each("record rec pull apply revert add", {
        tree: "--repodir --repository",
        here: true,
        takes: "-m",
      }),
    },
  }),
  jj: {
    tree: "-R --repository",
    takes: "--config --color --at-op",
    subs: {
      git: {
        subs: {
          clone: { operands: "second" },
          init: { operands: "first", here: true },
          fetch: HERE,
        },
      },
      init: { operands: "first", here: true },
      workspace: { subs: { add: { operands: "first", takes: "--name -r" } } },
      ...each(
        "commit ci describe desc new edit abandon squash split rebase restore undo bookmark b duplicate absorb op operation",
        { here: true, takes: "-m -r -s -d -b --message" },
      ),
    },
  },
  p4: {
    cwd: "-d",
    takes: "-c -p -u -P -C",
    subs: each("sync edit revert submit add delete", {
      here: true,
      takes: "-c",
    }),
  },
  repo: {
    subs: {
      init: { writes: "--repo-dir", takes: "-u -b -m", here: true },
      sync: HERE,
    },
  },
  dvc: {
    cwd: "--cd",
    subs: {
      ...each("get import", { writes: "-o --out", takes: "--rev", here: true }),
      ...each("get-url import-url", { operands: "second", here: true }),
      ...each("pull fetch checkout repro commit init", { here: true }),
      add: { operands: "all" },
      export: HERE,
    },
  },
  "git-filter-repo": {
    tree: "--source",
    writes: "--target",
    here: true,
    unless: "--analyze -h --help",
    takes: "--path --replace-text --mailmap",
  },
  bfg: {
    operands: "final",
    takes: "--delete-files --replace-text -b -bi -D -fi -rt",
  },
  "git-crypt": {
    subs: {
      "export-key": { operands: "final", takes: "-k" },
      ...each("init unlock lock", HERE),
    },
  },
  "pre-commit": {
    subs: {
      "init-templatedir": { operands: "first", takes: "-t" },
      "autoupdate": HERE,
    },
  },
  // Indexes and reports of source trees
  ...each("ctags etags universal-ctags exctags", {
    takes: "-L --languages --exclude --fields --options",
    writes: "-f -o",
    here: true,
    hereUnless: "--version --help --list-languages --list-kinds -x",
  }),
  cscope: {
    takes: "-i -s -p -I -P",
    writes: "-f",
    here: true,
    hereUnless: "-d -L -V --version --help",
  },
  gtags: {
    operands: "first",
    takes: "-f",
    here: true,
    hereUnless: "--version --help",
  },
  scc: { takes: "-f -i --exclude-dir", writes: "-o --output --sql-project" },
  gitleaks: {
    takes: "-s -c -l --source --config",
    writes: "-r --report-path -b --baseline-out",
  },
  trufflehog: { takes: "--config", guess: true },
}));
