import {
  type CommandIo,
  parseFlags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { VERBS } from "./help.ts";
import { RUN_HELP } from "./run/options.ts";

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

/** The flags of a verb without second words, as its help names them. */
function flagsOf(help: string): string {
  return [...new Set(help.match(/--[a-z][a-z-]+/g))].join(" ");
}

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
    `      ${verb}) words="${words} --help --json" ;;`
  ).join("\n");
  return `_bulkhead() {
  local words="" word="\${COMP_WORDS[COMP_CWORD]}"
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${values}
    *) words="--help --json" ;;
  esac
  if ((COMP_CWORD == 1)); then
    words="${VERBS.join(" ")} --help --version"
  elif [[ $words == "--help --json" ]]; then
    case "\${COMP_WORDS[1]}" in
      run) words="${flagsOf(RUN_HELP)} --help" ;;
      doctor) words="--fix --cwd --home --json --help" ;;
      attach) words="--home --json --help" ;;
    esac
    if ((COMP_CWORD == 2)); then
      case "\${COMP_WORDS[1]}" in
${second}
      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if ((COMP_CWORD > 2)) && [[ $word != -* && $words == *--help* ]]; then
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
    `complete -c bulkhead -n "__fish_seen_subcommand_from ${verb}" -f -a "${words}"\n`
  ).join("");
  const run = flagsOf(RUN_HELP).split(" ").map((flag) =>
    `complete -c bulkhead -n "__fish_seen_subcommand_from run" -l ${
      flag.slice(2)
    }\n`
  ).join("");
  return top + sub + run;
}
