/**
 * The command line of the scripted agent: the flags of the real child that
 * matter to a host, and `--script`.
 *
 * @module
 */
import { bulkheadHome } from "@bulkhead/sandbox";

/** What the command line asked for. */
export interface AgentArguments {
  /** Path of the script file, or its JSON; absent means the echo script. */
  script?: string;
  /** Directory of resumable sessions. */
  sessions: string;
  /** Session id to create. */
  sessionId?: string;
  /** Session id to continue. */
  resume?: string;
  /** Whether `stream_event` frames are sent. */
  partials: boolean;
  /** Whether user lines and accepted answers come back on stdout. */
  replay: boolean;
  /** Whether permission questions go to the host. */
  promptTool: boolean;
  /** `default`, `acceptEdits`, `plan`, `bypassPermissions`, … */
  permissionMode: string;
  /** Texts or paths of `--settings`. */
  settings: string[];
  /** `user`, `project`, `local`. */
  settingSources: string[];
  /** Texts or paths of `--mcp-config`. */
  mcpConfigs: string[];
  /** Tool names and rules of `--allowedTools`. */
  allowed: string[];
  /** Tool names and rules of `--disallowedTools`. */
  disallowed: string[];
  /** `--max-turns`. */
  maxTurns?: number;
}

/** The command line was refused: the message goes to stderr, exit 1. */
export class ArgumentProblem extends Error {}

const VALUED = [
  "--script",
  "--sessions",
  "--session-id",
  "--resume",
  "--settings",
  "--setting-sources",
  "--mcp-config",
  "--input-format",
  "--output-format",
  "--permission-prompt-tool",
  "--permission-mode",
  "--model",
  "--max-turns",
  "--allowedTools",
  "--allowed-tools",
  "--disallowedTools",
  "--disallowed-tools",
  "--append-system-prompt",
  "--system-prompt",
  "--add-dir",
  "--fallback-model",
];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Reads the command line.
 *
 * @param args Arguments after the program.
 * @returns What they ask for.
 * @throws {ArgumentProblem} With the real child's text where it has one.
 */
export function parseArguments(args: readonly string[]): AgentArguments {
  const values = new Map<string, string[]>();
  const flags = new Set<string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const eq = arg.startsWith("--") ? arg.indexOf("=") : -1;
    const name = eq > 0 ? arg.slice(0, eq) : arg === "-r" ? "--resume" : arg;
    if (!VALUED.includes(name)) {
      flags.add(name);
      continue;
    }
    const value = eq > 0 ? arg.slice(eq + 1) : args[++i];
    if (value === undefined) {
      throw new ArgumentProblem(`error: option '${name}' argument missing`);
    }
    values.set(name, [...values.get(name) ?? [], value]);
  }
  const last = (name: string): string | undefined => values.get(name)?.at(-1);
  refuse(flags, last);
  const list = (...names: string[]): string[] =>
    names.flatMap((n) => values.get(n) ?? []).flatMap(splitRules);
  const maxTurns = last("--max-turns");
  return {
    script: last("--script"),
    sessions: last("--sessions") ?? `${bulkheadHome()}/data/scripted/sessions`,
    sessionId: last("--session-id"),
    resume: last("--resume"),
    partials: flags.has("--include-partial-messages"),
    replay: flags.has("--replay-user-messages"),
    promptTool: last("--permission-prompt-tool") === "stdio",
    permissionMode: flags.has("--dangerously-skip-permissions")
      ? "bypassPermissions"
      : last("--permission-mode") ?? "default",
    settings: values.get("--settings") ?? [],
    settingSources: (last("--setting-sources") ?? "user,project,local").split(
      ",",
    ).filter((s) => s),
    mcpConfigs: values.get("--mcp-config") ?? [],
    allowed: list("--allowedTools", "--allowed-tools"),
    disallowed: list("--disallowedTools", "--disallowed-tools"),
    maxTurns: maxTurns === undefined ? undefined : Number(maxTurns),
  };
}

/** Refuses what the real child refuses, in its words, and what this one cannot do. */
function refuse(
  flags: ReadonlySet<string>,
  last: (name: string) => string | undefined,
): void {
  const print = flags.has("-p") || flags.has("--print");
  if (
    print && last("--output-format") === "stream-json" &&
    !flags.has("--verbose")
  ) {
    throw new ArgumentProblem(
      "Error: When using --print, --output-format=stream-json requires --verbose",
    );
  }
  if (
    last("--input-format") !== "stream-json" ||
    last("--output-format") !== "stream-json"
  ) {
    throw new ArgumentProblem(
      "Error: Cannot start the scripted agent: it speaks only --input-format stream-json --output-format stream-json",
    );
  }
  const sessionId = last("--session-id");
  const resume = last("--resume");
  if (sessionId !== undefined && resume !== undefined) {
    throw new ArgumentProblem(
      "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.",
    );
  }
  if (sessionId !== undefined && !UUID.test(sessionId)) {
    throw new ArgumentProblem(
      "Error: Invalid session ID. Must be a valid UUID.",
    );
  }
  if (resume !== undefined && !UUID.test(resume)) {
    throw new ArgumentProblem(
      `Error: --resume requires a valid session ID when used with --print. Provided value "${resume}" is not a UUID`,
    );
  }
}

/** Splits `A,B(x, y) C` on commas and blanks outside parentheses. */
function splitRules(text: string): string[] {
  const out: string[] = [];
  let depth = 0, word = "";
  for (const c of text) {
    if (c === "(") depth++;
    if (c === ")") depth--;
    if (depth === 0 && (c === "," || c === " ")) {
      if (word) out.push(word);
      word = "";
    } else word += c;
  }
  if (word) out.push(word);
  return out;
}
