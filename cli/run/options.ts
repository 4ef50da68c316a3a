import { type Flags, parseFlags, UsageError } from "@bulkhead/sandbox/command";
import { type IsolationLevel, reasonOf } from "@bulkhead/sandbox";
import { parseTrustPin } from "@bulkhead/plugins/trust";
import {
  fillFleetFlag,
  FLEET_FLAGS,
  isQueued,
} from "@bulkhead/worker/fleet-settings";

/** What the command line of `bulkhead run` asks for. */
export interface RunArguments {
  /** `claude`, `codex`, `opencode`, `scripted` or `acp:COMMAND`; the best that is installed when absent. */
  agent: string | undefined;
  /** The first turn; nothing when a session is only resumed or a script needs none. */
  prompt: string;
  /** A script that ships with the scripted agent. */
  example: string | undefined;
  /** The file of a script. */
  script: string | undefined;
  /** The workspace. */
  cwd: string;
  /** The home, as given. */
  home: string | undefined;
  /** The session to go on with. */
  resume: string | undefined;
  /** The model to ask for. */
  model: string | undefined;
  /** Directories that may be written besides the workspace. */
  roots: string[];
  /** Tools that need no question. */
  allow: string[];
  /** Directories with plugins, besides the home's and the configured ones. */
  pluginDirs: string[];
  /** Trusted plugins as `name=sha256:…`. */
  trusted: string[];
  /** How much confinement plugins need. */
  isolation: IsolationLevel | undefined;
  /** Judge calls by the guard. */
  guard: boolean;
  /** Answer every question of the agent with yes. */
  approve: boolean;
  /** Keep the session when the turn is over. */
  keep: boolean;
  /** What was said about the fleet, by the flag's name. */
  fleet: Record<string, string | undefined>;
  /** Start it on whichever machine of the fleet has room. */
  queue: boolean;
  /** Print frames instead of text. */
  json: boolean;
  /** Print the help. */
  help: boolean;
}

const LEVELS: readonly IsolationLevel[] = ["required", "preferred", "off"];

/** The help of `bulkhead run`. */
export const RUN_HELP = `One guarded session with an agent, in this directory

Usage: bulkhead run [flags] "PROMPT"
       bulkhead run [flags] -          the prompt comes from standard input, as it
                                       does without one when something is piped in

Flags:
  --agent NAME        claude, codex, opencode, scripted or acp:COMMAND
                      (default: claude when installed, else scripted)
  --example NAME      a script of the scripted agent: greeting
  --script FILE       a script of your own for the scripted agent
  --cwd DIR           the workspace (default: this directory)
  --root DIR          may be written too (again for more)
  --allow TOOL        needs no question (again for more); default: reading,
                      writing inside the workspace, and trusted plugins' tools;
                      a shell always needs one
  --approve           answer the agent's questions with yes, and one with options by
                      the option that says yes, else the first; denials stay
  --resume ID         go on with an earlier session
  --model NAME        the model to ask for
  --plugin-dir DIR    look for plugins in the directories below DIR too (again
                      for more)
  --trust-plugin N=H  trust the plugin N with the content sha256:… (again for more)
  --isolation LEVEL   of plugins: required, preferred or off
  --no-guard          do not judge writes; said loudly
  --keep              stay after the last turn, for "bulkhead attach" from elsewhere,
                      until Ctrl-C
  --fleet nats://H:P  start it on whichever machine of the fleet has room; alone it
                      is [worker] fleet in config.toml, "off" is none; with
                      --fleet-credentials FILE, --fleet-tls, --fleet-ca FILE.
                      --cwd may be git+https://…#COMMIT then; --allow, --root and
                      --approve count on hosts with --trust-queue
  --here              run it here all the same, for every machine to see and drive;
                      so it is without --fleet when config.toml names one
  --home DIR          Bulkhead's own files (default: $BULKHEAD_HOME or ~/.bulkhead)
  --json              one frame, verdict or question a line, then a summary

Examples:
  bulkhead run --agent scripted --example greeting
  bulkhead run "fix the failing test"
  bulkhead run --agent codex --root ../shared "update the docs"
  bulkhead run --resume 5f0c… "and now the second half"
`;

/**
 * Reads the command line.
 *
 * @param args The arguments after `run`.
 * @param piped Whether something may be piped in: a prompt that is missing is `-` then.
 * @returns What they ask for; the prompt `-` stands for standard input.
 * @throws {UsageError} For what cannot be understood.
 */
export function parseRunArguments(
  args: readonly string[],
  piped = false,
): RunArguments {
  const flags = parseFlags(fillFleetFlag(args), {
    boolean: ["guard", "approve", "keep", "here", "json", "help"],
    string: [
      ...FLEET_FLAGS,
      "agent",
      "example",
      "script",
      "cwd",
      "home",
      "resume",
      "model",
      "isolation",
    ],
    collect: ["root", "allow", "plugin-dir", "trust-plugin"],
    alias: { h: "help" },
  });
  const agent = flags.text("agent");
  const allow = flags.list("allow").flatMap((list) =>
    list.split(",").map((name) => name.trim()).filter(Boolean)
  );
  const example = flags.text("example");
  const script = flags.text("script");
  checkFlags(flags, allow);
  const prompt = [...flags.operands, ...flags.rest].join(" ").trim();
  const help = flags.on("help");
  const started = example ?? script ?? flags.text("resume");
  const missing = prompt === "" && started === undefined && !help;
  if (missing && !piped) throw noPrompt();
  return {
    agent: agent ?? (example ?? script ? "scripted" : undefined),
    prompt: missing ? "-" : prompt,
    example,
    script,
    cwd: flags.text("cwd") ?? ".",
    home: flags.text("home"),
    resume: flags.text("resume"),
    model: flags.text("model"),
    roots: flags.list("root"),
    allow,
    pluginDirs: flags.list("plugin-dir"),
    trusted: flags.list("trust-plugin").map(checkedPin),
    isolation: flags.choice("isolation", LEVELS),
    guard: !flags.off("guard"),
    approve: flags.on("approve"),
    keep: flags.on("keep"),
    fleet: Object.fromEntries(
      FLEET_FLAGS.map((name) => [name, flags.text(name)]),
    ),
    queue: isQueued(flags.text("fleet"), flags.on("here")),
    json: flags.on("json"),
    help,
  };
}

/** Refuses values that nothing can be done with, and flags that exclude each other. */
function checkFlags(flags: Flags, allow: readonly string[]): void {
  const agent = flags.text("agent");
  const example = flags.text("example");
  const script = flags.text("script");
  if (
    agent !== undefined &&
    !/^(?:claude|codex|opencode|scripted|acp:.+)$/s.test(agent)
  ) {
    throw new UsageError(
      `Cannot run: "${agent}" is not an agent`,
      "--agent claude, codex, opencode, scripted or acp:COMMAND",
    );
  }
  for (const name of ["model", "resume"]) {
    if (flags.text(name)?.trim() === "") {
      throw new UsageError(
        `Cannot run: --${name} is empty`,
        `--${name} VALUE, or leave it out`,
      );
    }
  }
  if (flags.list("allow").some((list) => list.trim() === "")) {
    throw new UsageError(
      "Cannot run: --allow is empty",
      "--allow TOOL, or leave it out",
    );
  }
  const scripted = agent === "scripted" || agent === undefined;
  if ((example ?? script) !== undefined && !scripted) {
    throw new UsageError(
      `Cannot run: only the scripted agent plays a script, not "${agent}"`,
      "--agent scripted",
    );
  }
  if (example !== undefined && script !== undefined) {
    throw new UsageError(
      "Cannot run: --example and --script exclude each other",
      "give one of them",
    );
  }
  const shell = allow.find((name) =>
    /^(?:Bash|Monitor|PowerShell)\b/.test(name)
  );
  if (shell !== undefined) {
    throw new UsageError(
      `Cannot allow "${shell}": what a shell does cannot be confined to the workspace, so each call is a question`,
      "answer it, or say yes to all with --approve; the guard's denials stay",
    );
  }
}

/** A pin that cannot be read is found before anything begins. */
function checkedPin(text: string): string {
  try {
    parseTrustPin(text);
  } catch (error) {
    throw new UsageError(reasonOf(error), "--trust-plugin NAME=sha256:…");
  }
  return text;
}

/**
 * The failure of a run that is told nothing.
 *
 * @returns The error, with what to type.
 */
export function noPrompt(): UsageError {
  return new UsageError(
    "Cannot run: there is no prompt",
    'bulkhead run "what to do", or bulkhead run --example greeting',
  );
}
