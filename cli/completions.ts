import {
  type CommandIo,
  parseFlags,
  UsageError,
} from "@bulkhead/sandbox/command";
import { VERBS } from "./help.ts";

/** The second words of each verb. */
const SUBCOMMANDS: Record<string, readonly string[]> = {
  plugins: [
    "list",
    "check",
    "trust",
    "untrust",
    "call",
    "fire",
    "install",
    "update",
    "remove",
    "serve",
    "new",
    "doctor",
  ],
  guard: [
    "install",
    "status",
    "verify",
    "explain",
    "log",
    "scan",
    "teardown",
    "decide",
  ],
  worker: [
    "list",
    "start",
    "ask",
    "watch",
    "answer",
    "interrupt",
    "status",
    "stop",
    "reap",
    "ui",
  ],
  abi: ["inspect", "call", "verify", "header", "new"],
  sandbox: ["run", "probe"],
  completions: ["bash", "zsh", "fish"],
};

/**
 * `bulkhead completions SHELL`: prints a completion script.
 *
 * @param args The shell's name.
 * @param io Where to write.
 * @returns the exit code.
 */
export function completionsCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  const flags = parseFlags(args, {
    boolean: ["help"],
    alias: { h: "help" },
  });
  const [shell] = flags.operands;
  if (flags.on("help")) {
    io.out(
      "Usage: bulkhead completions bash|zsh|fish\n\nExample: source <(bulkhead completions bash)\n",
    );
    return Promise.resolve(0);
  }
  switch (shell) {
    case "bash":
      io.out(bash());
      break;
    case "zsh":
      io.out(`autoload -U +X bashcompinit && bashcompinit\n${bash()}`);
      break;
    case "fish":
      io.out(fish());
      break;
    default:
      throw new UsageError(
        `Cannot complete for ${shell ? `"${shell}"` : "no shell"}`,
        "bulkhead completions bash, zsh or fish",
      );
  }
  return Promise.resolve(0);
}

function bash(): string {
  const cases = Object.entries(SUBCOMMANDS)
    .map(([verb, words]) => `    ${verb}) words="${words.join(" ")}" ;;`)
    .join("\n");
  return `_bulkhead() {
  local words="${VERBS.join(" ")}"
  if ((COMP_CWORD > 1)); then
    words=""
    case "\${COMP_WORDS[1]}" in
${cases}
    esac
    ((COMP_CWORD > 2)) && words=""
  fi
  COMPREPLY=($(compgen -W "$words --help --json" -- "\${COMP_WORDS[COMP_CWORD]}"))
  ((COMP_CWORD > 2)) && COMPREPLY+=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _bulkhead bulkhead
`;
}

function fish(): string {
  const top = `complete -c bulkhead -n __fish_use_subcommand -f -a "${
    VERBS.join(" ")
  }"\n`;
  const sub = Object.entries(SUBCOMMANDS).map(([verb, words]) =>
    `complete -c bulkhead -n "__fish_seen_subcommand_from ${verb}" -f -a "${
      words.join(" ")
    }"\n`
  ).join("");
  return top + sub;
}
