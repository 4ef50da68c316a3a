/**
 * What git's sub-commands write beside the repository they work on.
 *
 * @module
 */
import { unifiedDiffTargets } from "../targets.ts";
import { type Call, refuses, writes } from "./call.ts";
import type { EffectName } from "./context.ts";
import { hasOption, type Options, optionValue } from "./options.ts";
import { sweepsWorkTree } from "./git_sweeps.ts";
import { readVariable } from "./parameters.ts";
import { joinPath } from "./places.ts";

/** A change of a repository. */
export const MUTATION: Pick<EffectName, "rule" | "label"> = {
  rule: "git",
  label: "git mutation",
};
/** A file that git is told to write. */
export const FILE: Pick<EffectName, "rule" | "label"> = {
  rule: "git",
  label: "git output file",
};
/** A change on another machine. */
export const REMOTE: Pick<EffectName, "rule" | "label"> = {
  rule: "git-remote",
  label: "git remote operation",
};
/** A repository or tree that options or variables move elsewhere. */
export const ROUTING: Pick<EffectName, "rule" | "label"> = {
  rule: "git-routing",
  label: "git repository routing escape",
};
/** A working tree outside. */
const WORKTREE: Pick<EffectName, "rule" | "label"> = {
  rule: "git-worktree",
  label: "git worktree add (working tree outside the sandbox)",
};

/** Name of the shell's note of what `git config` has set before; no variable's name. */
export const GIT_SETTINGS = "git settings";

/**
 * Follows a command line that git runs.
 *
 * @param call The call.
 * @param text The command line.
 */
export function runLine(call: Call, text: string): void {
  call.context.nested(() => call.context.run.text(text, call.state.fork(), {}));
}

/** Sub-commands that talk to another repository. */
const TRANSPORTS = new Set(
  "clone fetch pull push ls-remote fetch-pack send-pack archive".split(" "),
);
/** Options that name the program at the other end. */
const OTHER_END = /^(?:-u|--upload-pack|--receive-pack|--exec)$/;

/**
 * Records what each sub-command writes beside its repository.
 *
 * @param call The call, named after the sub-command.
 * @param options Its options.
 */
export function ownWrites(call: Call, options: Options): void {
  const sub = call.name.slice("git ".length);
  const { operands } = options;
  for (const [name, value] of options.options) {
    // The other end of a local repository is a program that is started here.
    if (TRANSPORTS.has(sub) && OTHER_END.test(name) && value !== undefined) {
      runLine(call, value);
    }
  }
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
    case "svn":
      if (operands[0] === "clone" && operands[2] !== undefined) {
        writes(call, operands[2], "content", MUTATION);
      }
      return;
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
    case "credential-store": {
      const file = optionValue(options, "--file") ?? "~/.git-credentials";
      if (operands[0] !== "get") writes(call, file, "content", FILE);
      return;
    }
    case "grep":
      for (const [name, value] of options.options) {
        if (/^(?:-O|--open-files-in-pager)$/.test(name) && value) {
          runLine(call, value);
        }
      }
      return;
    case "pack-objects":
      if (!hasOption(options, "--stdout") && operands[0] !== undefined) {
        writes(call, operands[0], "content", FILE);
      }
      return;
    case "instaweb": {
      const browser = optionValue(options, "-b", "--browser");
      if (browser !== undefined) runLine(call, browser);
      return;
    }
    case "index-pack":
      for (const path of operands) writes(call, path, "content", FILE);
      return;
    case "mailinfo":
      for (const path of operands) writes(call, path, "content", FILE);
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
      if (hasOption(options, "--cached")) return;
      for (const path of operands) writes(call, path, "entry", MUTATION);
      sweepsWorkTree(call, sub, options);
      return;
    case "reset":
    case "switch":
      return sweepsWorkTree(call, sub, options);
    case "clean":
    case "checkout":
    case "restore":
    case "stash":
      for (const path of operands) {
        if (/^(?:\/|\.\.(?:\/|$))/.test(path)) {
          writes(call, path, "content", MUTATION);
        }
      }
      sweepsWorkTree(call, sub, options);
      return;
    case "apply":
    case "am": {
      const body = operands[0] === undefined || operands[0] === "-"
        ? call.stdin
        : call.context.readFile(operands[0], call.state);
      const place = optionValue(options, "--directory");
      if (
        body.text === undefined && place !== undefined &&
        hasOption(options, "--unsafe-paths")
      ) writes(call, place, "content", MUTATION);
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
    const [key, value] = set;
    if (key !== undefined && value !== undefined) {
      const before = call.state.get(GIT_SETTINGS) ?? [];
      call.state.set(GIT_SETTINGS, [...before, [`${key}=${value}`]]);
    }
    // Settings that send later commands elsewhere.
    if (
      /^core\.(?:worktree|hookspath)$/i.test(set[0] ?? "") &&
      set[1] !== undefined
    ) {
      writes(call, set[1], "content", ROUTING);
    }
  }
}
