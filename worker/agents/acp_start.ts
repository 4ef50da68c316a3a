/**
 * The start of a session of the Agent Client Protocol, and the mode in which people are asked.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../frame.ts";
import type { AgentStart } from "./driver.ts";
import { type JsonRpc, RpcError } from "./json_rpc.ts";

/** Modes in which people are asked: of Claude Code's adapter, of Codex's. */
const ASKING_MODES = ["default", "workspace-write"];

const AUTH_REQUIRED = -32000;

/** Options of {@linkcode openSession}. */
export interface SessionParts {
  /** The servers of tools that the agent starts. */
  readonly mcpServers: readonly JsonObject[];
  /**
   * Takes the id of the session as soon as it is known.
   *
   * @param session The id.
   */
  named(session: string): void;
}

/**
 * Makes a session, or loads the one to go on with.
 *
 * @param rpc The agent.
 * @param start What to start.
 * @param hello Its answer to `initialize`.
 * @param parts Tools, and who is told the id.
 * @returns The answer of the agent.
 */
export async function openSession(
  rpc: JsonRpc,
  start: AgentStart,
  hello: JsonObject,
  parts: SessionParts,
): Promise<JsonObject> {
  const params = { cwd: start.cwd, mcpServers: parts.mcpServers };
  try {
    if (start.resume === undefined) {
      const made = await rpc.request("session/new", params, 0);
      if (typeof made.sessionId !== "string") {
        throw new Error("it named no session");
      }
      parts.named(made.sessionId);
      return made;
    }
    if (!canLoad(hello)) {
      throw new Error(
        "it cannot go on with an earlier session: start without resume",
      );
    }
    parts.named(start.resume);
    return await rpc.request("session/load", {
      ...params,
      sessionId: start.resume,
    }, 0);
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== AUTH_REQUIRED) {
      throw error;
    }
    throw new Error(
      "nobody is logged in: run the agent once by itself and log in",
    );
  }
}

/**
 * Whether the agent can go on with an earlier session.
 *
 * @param hello Its answer to `initialize`.
 * @returns True when it says so.
 */
export function canLoad(hello: JsonObject): boolean {
  return isJsonObject(hello.agentCapabilities) &&
    hello.agentCapabilities.loadSession === true;
}

/**
 * Some agents start in a mode in which a model answers in place of people; this one asks them.
 *
 * @param rpc The agent.
 * @param opened Its answer to the start of the session.
 * @param sessionId The session.
 */
export async function askMode(
  rpc: JsonRpc,
  opened: JsonObject,
  sessionId: string,
): Promise<void> {
  const modes = isJsonObject(opened.modes) ? opened.modes : {};
  const known = Array.isArray(modes.availableModes)
    ? modes.availableModes.filter(isJsonObject).map((mode) => mode.id)
    : [];
  const mode = ASKING_MODES.find((mode) => known.includes(mode));
  if (mode === undefined || modes.currentModeId === mode) return;
  await rpc.request("session/set_mode", {
    sessionId,
    modeId: mode,
  });
}
