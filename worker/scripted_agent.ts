/**
 * A small agent that speaks Claude Code's stream-json and plays a script: the
 * same frames in the same order, real tool effects, no model and no network. It
 * is what runs when no agent is installed, and what tests run against.
 *
 * It is started as a program of its own ({@linkcode scriptedAgentEntry}) and
 * ends when its stdin does.
 *
 * @module
 */
import { denoEntry, readJsonFile, reasonOf } from "@bulkhead/sandbox";
import {
  type AgentArguments,
  ArgumentProblem,
  parseArguments,
} from "./scripted/argv.ts";
import { Frames } from "./scripted/frames.ts";
import { loadRecord, saveRecord } from "./scripted/memory.ts";
import { complain, FrameOutput, isJson, type Json } from "./scripted/output.ts";
import { loadRules } from "./scripted/permissions.ts";
import { parseScript } from "./scripted/parse_script.ts";
import {
  type AgentScript,
  ECHO_SCRIPT,
  ScriptError,
} from "./scripted/script.ts";
import { Session } from "./scripted/session.ts";

export { parseScript };

export {
  type AgentScript,
  type AskStep,
  type CronStep,
  ECHO_SCRIPT,
  type EndStep,
  type Fault,
  type FaultStep,
  type MessageStep,
  type RepeatStep,
  type SayStep,
  ScriptError,
  type ScriptStep,
  type ScriptTurn,
  type ThinkStep,
  type ToolOutcome,
  type ToolStep,
  type WaitStep,
} from "./scripted/script.ts";

/** The permissions of the program: an agent may do what its user may. */
export const SCRIPTED_AGENT_PERMISSIONS: readonly string[] = [
  "--allow-read",
  "--allow-write",
  "--allow-run",
  "--allow-env",
];

/** How to start the agent. */
export interface ScriptedAgentCommand {
  /** The command line, the deno binary first. */
  argv: string[];
  /** Variables that it needs on top of its environment. */
  env: Record<string, string>;
  /** Paths that an isolated child must be able to read. */
  readable: string[];
}

/** The scripts that ship with the agent, by name. */
export const SCRIPTED_EXAMPLES: readonly string[] = ["greeting"];

/**
 * The path of a script that ships with the agent.
 *
 * @param name One of {@linkcode SCRIPTED_EXAMPLES}.
 * @returns The URL of its file.
 * @throws {RangeError} When there is no such example.
 *
 * @example
 * ```ts
 * import { scriptedExample } from "@bulkhead/worker";
 * import { assert } from "@std/assert";
 *
 * assert(scriptedExample("greeting").pathname.endsWith("greeting.json"));
 * ```
 */
export function scriptedExample(name: string): URL {
  if (!SCRIPTED_EXAMPLES.includes(name)) {
    throw new RangeError(
      `Cannot find the example "${name}": there is ${
        SCRIPTED_EXAMPLES.join(", ")
      }`,
    );
  }
  return new URL(`./scripted/examples/${name}.json`, import.meta.url);
}

/**
 * How the agent is started: argv and environment of its Deno child.
 *
 * @param args The command line of the agent, `--script FILE` among it.
 * @returns Argv, the environment it needs, and what an isolated child must see.
 *
 * @example
 * ```ts
 * import { scriptedAgentEntry } from "@bulkhead/worker";
 * import { assert } from "@std/assert";
 *
 * const { argv } = scriptedAgentEntry(["-p", "--verbose"]);
 * assert(argv.some((word) => word.endsWith("scripted_agent.ts")));
 * ```
 */
export function scriptedAgentEntry(
  args: readonly string[],
): ScriptedAgentCommand {
  return denoEntry(new URL("./scripted_agent.ts", import.meta.url), {
    permissions: SCRIPTED_AGENT_PERMISSIONS,
    args,
  });
}

async function main(argv: readonly string[]): Promise<number> {
  let args: AgentArguments;
  let script: AgentScript;
  try {
    args = parseArguments(argv);
    script = args.script === undefined
      ? ECHO_SCRIPT
      : await loadScript(args.script);
  } catch (error) {
    if (!(error instanceof ArgumentProblem || error instanceof ScriptError)) {
      throw error;
    }
    await complain(error.message + "\n");
    return 1;
  }
  const cwd = await Deno.realPath(Deno.cwd());
  const id = args.resume ?? args.sessionId ?? crypto.randomUUID();
  const known = await loadRecord(args.sessions, id, cwd);
  if (args.resume !== undefined && known === undefined) {
    return await unknownSession(id);
  }
  if (args.sessionId !== undefined && known !== undefined) {
    await complain(`Error: Session ID ${id} is already in use.\n`);
    return 1;
  }
  const session = new Session({
    args,
    script,
    cwd,
    rules: await loadRules(args, cwd),
    record: known ?? { sessionId: id, cwd, uuids: [], played: [] },
    mcpConfigs: await loadConfigs(args.mcpConfigs),
    stateEvents: Deno.env.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") === "1",
    save: (record) => saveRecord(args.sessions, record),
  });
  for (
    const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 129], [
      "SIGINT",
      0,
    ]] as const
  ) {
    Deno.addSignalListener(signal, () => {
      if (!script.ignoreTerm) session.terminate(code);
    });
  }
  return await session.run();
}

async function loadScript(source: string): Promise<AgentScript> {
  try {
    return parseScript(
      source.startsWith("{") ? JSON.parse(source) : await readJsonFile(source),
    );
  } catch (error) {
    if (error instanceof ScriptError) throw error;
    const what = reasonOf(error);
    throw new ScriptError(
      `Cannot read the script "${source.slice(0, 80)}": ${what}`,
    );
  }
}

async function loadConfigs(sources: readonly string[]): Promise<Json[]> {
  const configs: Json[] = [];
  for (const source of sources) {
    const value: unknown = source.trimStart().startsWith("{")
      ? JSON.parse(source)
      : await readJsonFile(source);
    if (isJson(value)) configs.push(value);
  }
  return configs;
}

async function unknownSession(id: string): Promise<number> {
  const text = `No conversation found with session ID: ${id}`;
  await complain(text + "\n");
  const output = new FrameOutput();
  new Frames(output, {
    sessionId: id,
    partials: false,
    stateEvents: false,
    tokens: { input: 0, output: 0 },
  }).result({
    subtype: "error_during_execution",
    isError: true,
    errors: [text],
    durationMs: 0,
    ttftMs: 0,
    numTurns: 0,
    stopReason: null,
    messages: 0,
    denials: [],
  }, { messages: 0, costUsd: 0, apiMs: 0 });
  await output.drained();
  return 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
