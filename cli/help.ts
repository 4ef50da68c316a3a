/** The version of all packages; `deno bump-version -w` and `scripts/version.ts` keep it. */
export const VERSION = "0.1.0";

/** The verbs that people type, for help, completion and "did you mean". */
export const VERBS: readonly string[] = [
  "run",
  "attach",
  "plugins",
  "guard",
  "worker",
  "fleet",
  "abi",
  "sandbox",
  "doctor",
  "completions",
  "help",
  "version",
];

/** The help of the whole program. */
export const HELP =
  `Host coding agents with every foreign part in a compartment of its own

Usage: bulkhead COMMAND [flags]

Commands:
  run "PROMPT"   one guarded session with an agent, in this directory
  attach ID      look at, answer or interrupt a session that runs
  plugins        tools and hooks from plugin.toml directories; serve them over MCP
  guard          deny an agent's writes outside the allowed roots
  worker         sessions behind a socket: list, watch, answer, stop
  fleet          the same sessions over many machines, on NATS JetStream
  abi            native plugins: inspect, verify, call, header, new
  sandbox        run one program bounded and confined
  doctor         what is there, what is left over, and how to mend it
  completions    a completion script for bash, zsh or fish

Every command takes --help, and --json for one object on standard output.

Examples:
  bulkhead run --agent scripted --example greeting   see it work, without a model
  bulkhead run "fix the failing test"                Claude Code, guarded
  bulkhead guard explain 'cp a.txt /etc/'            what a command would write
  bulkhead plugins new weather                       a plugin to start from
  bulkhead doctor                                    is everything in order?
`;
