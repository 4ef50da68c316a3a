/**
 * A session for whichever machine has room, from a command line.
 *
 * @module
 */
import { type CommandIo, printResult } from "@bulkhead/sandbox/command";
import type { FleetSettings } from "../fleet_settings.ts";
import { connectFleet, type Fleet } from "./connection.ts";
import { queueSession } from "./jobs.ts";

/** What is queued. */
export interface QueueRequest {
  /** Which agent. */
  readonly agent: string;
  /** A directory that hosts share, or `git+https://…#COMMIT`. */
  readonly workspace: string;
  /** The session's id. @default a new one */
  readonly sessionId?: string | undefined;
  /** The first turn. */
  readonly prompt?: string | undefined;
  /** Memory that it wants, in bytes. */
  readonly memoryBytes?: number | undefined;
}

/**
 * Queues a session and says its id.
 *
 * @param to The fleet, or how to reach it
 * @param request The session
 * @param json Print one object
 * @param io Where to write
 * @returns 0
 * @throws {FleetError} when the fleet cannot be reached or does not take it
 */
export async function queueCommand(
  to: Fleet | FleetSettings,
  request: QueueRequest,
  json: boolean,
  io: CommandIo,
): Promise<number> {
  const sessionId = request.sessionId ?? crypto.randomUUID();
  const { workspace, prompt, memoryBytes } = request;
  const job = {
    sessionId,
    agent: request.agent,
    workspace: workspace.startsWith("git+") ? { git: workspace } : {
      path: await Deno.realPath(workspace).catch(() =>
        workspace.startsWith("/") ? workspace : `${Deno.cwd()}/${workspace}`
      ),
    },
    ...prompt === undefined || prompt === "" ? {} : { prompt },
    ...memoryBytes === undefined ? {} : { memoryBytes },
  };
  if ("explicit" in to) {
    const { explicit: _, ...connection } = to;
    await using fleet = await connectFleet(connection);
    await queueSession(fleet, job);
  } else await queueSession(to, job);
  const shortId = placedShortId(sessionId);
  if (json) printResult(io, { session_id: sessionId, short_id: shortId });
  else {
    io.out(`queued ${sessionId}\n`);
    io.err(
      `bulkhead fleet list shows where it runs; its id there is HOST.${shortId}\n`,
    );
  }
  return 0;
}

/** The short id of a queued session, the same on every machine. */
export function placedShortId(sessionId: string): string {
  return sessionId.replaceAll("-", "").slice(0, 12);
}
