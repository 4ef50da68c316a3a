import {
  type CommandIo,
  parseFlags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { VERBS } from "./help.ts";

const HELP = `A completion script for a shell

Usage: bulkhead completions bash|zsh|fish

Examples:
  source <(bulkhead completions bash)
  bulkhead completions fish > ~/.config/fish/completions/bulkhead.fish
`;

/** The second words of each verb. */
export const SUBCOMMANDS: Readonly<Record<string, string>> = {
  plugins:
    "list check trust untrust call fire install update remove serve new doctor",
  guard: "install status verify explain decide log scan teardown",
  worker: "list start ask watch answer interrupt status stop reap ui",
  fleet:
    "list watch status ask answer interrupt stop queue host ui sweep perms doctor",
  abi: "inspect tools call command emit verify header new",
  sandbox: "run probe",
  completions: "bash zsh fish",
};

/** What can follow a flag. */
export const VALUES: Readonly<Record<string, string>> = {
  "--agent": "claude codex opencode scripted",
  "--example": "greeting",
  "--harness": "claude-code codex opencode gemini cline cursor copilot pi",
  "--isolation": "required preferred off",
  "--lang": "c rust",
  "--language": "python shell deno",
};

/**
 * Takes the flags from a help text: of its usage line, and of the column that names them.
 * Asked for when they are needed, so they are those of the program that is installed.
 */
const FLAGS_OF_HELP =
  `awk '/^(Usage: |bulkhead )/ { print } match($0, /^ ? ? ? ? ? ?--/) { sub(/^ +/, ""); n = index($0, "  "); print n ? substr($0, 1, n) : $0 }' | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u`;

/**
 * `bulkhead completions SHELL`: prints a completion script.
 *
 * @param args The shell's name.
 * @param io Where to write.
 * @returns The exit code.
 */
export function completionsCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  const flags = parseFlags(args, {
    boolean: ["help", "json"],
    alias: { h: "help" },
  });
  const [shell] = flags.operands;
  if (flags.on("help")) {
    io.out(HELP);
    return Promise.resolve(0);
  }
  const script = scriptOf(shell);
  if (flags.on("json")) printResult(io, { shell, script });
  else io.out(script);
  return Promise.resolve(0);
}

function scriptOf(shell: string | undefined): string {
  switch (shell) {
    case "bash":
      return bash();
    case "zsh":
      return `autoload -U +X bashcompinit && bashcompinit\n${bash()}`;
    case "fish":
      return fish();
    default:
      throw new UsageError(
        `Cannot complete for ${shell ? `"${shell}"` : "no shell"}`,
        "bulkhead completions bash, zsh or fish",
      );
  }
}

function bash(): string {
  const values = Object.entries(VALUES).map(([flag, words]) =>
    `    ${flag}) words="${words}" ;;`
  ).join("\n");
  const second = Object.entries(SUBCOMMANDS).map(([verb, words]) =>
    `    ${verb}) words="${words}" ;;`
  ).join("\n");
  return `_bulkhead_flags() {
  "$@" --help 2>/dev/null | ${FLAGS_OF_HELP}
}
_bulkhead() {
  local words="" flags="" word="\${COMP_WORDS[COMP_CWORD]}"
  local -a command=("\${COMP_WORDS[@]:0:2}")
  case "\${COMP_WORDS[1]}" in
${second}
  esac
  if ((COMP_CWORD == 1)); then
    words="${VERBS.join(" ")}"
    flags="--help --version"
  elif [[ -n $words ]] && ((COMP_CWORD > 2)); then
    command+=("\${COMP_WORDS[2]}")
    words=""
  fi
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${values}
    *) [[ $word != -* || -n $flags ]] || flags="--help $(_bulkhead_flags "\${command[@]}")" ;;
  esac
  COMPREPLY=($(compgen -W "$words $flags" -- "$word"))
  if ((COMP_CWORD > 1)) && [[ $word != -* && -z $words ]]; then
    compopt -o filenames 2>/dev/null
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$word"))
  fi
}
complete -F _bulkhead bulkhead
`;
}

function fish(): string {
  const top = `complete -c bulkhead -n __fish_use_subcommand -f -a "${
    VERBS.join(" ")
  }"\n`;
  const sub = Object.entries(SUBCOMMANDS).map(([verb, words]) =>
    `complete -c bulkhead -n "__fish_seen_subcommand_from ${verb}; and test (count (commandline -opc)) -eq 2" -f -a "${words}"\n`
  ).join("");
  const values = Object.entries(VALUES).map(([flag, words]) =>
    `complete -c bulkhead -l ${flag.slice(2)} -x -a "${words}"\n`
  ).join("");
  const verbs = Object.keys(SUBCOMMANDS).join(" ");
  return `${top}${sub}${values}function __bulkhead_flags
  set -l words (commandline -opc)
  set -l last 2
  contains -- $words[2] ${verbs}; and set last 3
  $words[1..$last] --help 2>/dev/null | ${FLAGS_OF_HELP}
end
complete -c bulkhead -n "not __fish_use_subcommand; and string match -q -- '-*' (commandline -ct)" -f -a "--help (__bulkhead_flags)"
`;
}
