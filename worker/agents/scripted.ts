/**
 * The scripted agent behind the driver interface: what runs when no agent is
 * installed, and what tests run against.
 *
 * @module
 */
import { claudeArgv, TOOL_SERVER } from "./claude.ts";
import type { AgentStart } from "./driver.ts";
import { StreamJsonDriver } from "./stream_json.ts";
import {
  type AgentScript,
  scriptedAgentEntry,
  scriptedExample,
} from "../scripted_agent.ts";

/** Options of {@linkcode scriptedDriver}. */
export interface ScriptedDriverOptions {
  /**
   * The script itself, or the path of its file.
   *
   * @default every prompt is repeated back
   */
  readonly script?: AgentScript | string;
  /** A script that ships with the agent, by name. Not together with `script`. */
  readonly example?: string;
  /**
   * Where resumable sessions are kept.
   *
   * @default `data/scripted/sessions` under the home
   */
  readonly sessions?: string;
  /** Variables on top of the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after ours. */
  readonly extraArgs?: readonly string[];
  /**
   * How long the agent may take until its gate is confirmed.
   *
   * @default {30000}
   */
  readonly readyMs?: number;
}

/**
 * The scripted agent's argv and environment for one start.
 *
 * @param start What to start.
 * @param options The script.
 * @returns The program with its arguments, and variables it needs.
 */
export function scriptedCommand(
  start: Pick<AgentStart, "cwd" | "sessionId" | "resume" | "model" | "tools">,
  options: ScriptedDriverOptions = {},
): { argv: string[]; env: Record<string, string> } {
  if (options.script !== undefined && options.example !== undefined) {
    throw new TypeError(
      "Cannot start the scripted agent: give a script or an example, not both",
    );
  }
  const script = options.example === undefined
    ? options.script
    : decodeURIComponent(scriptedExample(options.example).pathname);
  const entry = scriptedAgentEntry([]);
  const argv = claudeArgv(start, {
    command: entry.argv,
    extraArgs: [
      ...script === undefined ? [] : [
        "--script",
        typeof script === "string" ? script : JSON.stringify(script),
      ],
      ...options.sessions === undefined ? [] : ["--sessions", options.sessions],
      ...options.extraArgs ?? [],
    ],
  });
  return { argv, env: { ...entry.env } };
}

/**
 * A driver for one scripted agent.
 *
 * @param options The script.
 * @returns The driver; `start` it once.
 *
 * @example A session without a model
 * ```ts
 * import { scriptedDriver } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const cwd = await Deno.makeTempDir();
 * const driver = scriptedDriver({
 *   script: { schema: 1, turns: [{ steps: [{ say: "hello" }] }] },
 *   sessions: `${cwd}/sessions`,
 * });
 * await driver.start({ cwd, judge: () => ({ decision: "undecided" }) });
 * await driver.send({ text: "hi" });
 * let reply = "";
 * reading:
 * for await (const batch of driver.frames()) {
 *   for (const { frame } of batch) {
 *     if (frame.kind === "assistant") reply += frame.text;
 *     if (frame.kind === "result") break reading;
 *   }
 * }
 * await driver.close();
 * await Deno.remove(cwd, { recursive: true });
 * assertEquals(reply, "hello");
 * ```
 */
export function scriptedDriver(
  options: ScriptedDriverOptions = {},
): StreamJsonDriver {
  return new StreamJsonDriver({
    name: "scripted",
    argv: (start) => scriptedCommand(start, options).argv,
    env: { ...scriptedAgentEntry([]).env, ...options.env },
    serverName: TOOL_SERVER,
    ...options.readyMs === undefined ? {} : { readyMs: options.readyMs },
  });
}
