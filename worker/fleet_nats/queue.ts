/**
 * A session for whichever machine has room, from a command line.
 *
 * @module
 */
import { readTextCapped } from "@bulkhead/sandbox";
import {
  type CommandIo,
  type Flags,
  type FlagSpec,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import type { FleetSettings } from "../fleet_settings.ts";
import { ASK_POLICIES } from "../session_options.ts";
import { connectFleet, type Fleet } from "./connection.ts";
import { HOST_AGENTS } from "./host_agents.ts";
import { type JobOptions, jobOptionsOf, MAX_SCRIPT } from "./job_options.ts";
import { queueSession } from "./jobs.ts";

/** What is queued. */
export interface QueueRequest {
  /** Which agent. */
  readonly agent: string;
  /** A directory that hosts share, or `git+https://…#COMMIT`. */
  readonly workspace: string;
  /**
   * The session's id.
   *
   * @default a new one
   */
  readonly sessionId?: string | undefined;
  /** A session that ran before, to go on with. Not together with `sessionId`. */
  readonly resume?: string | undefined;
  /** What people call it. */
  readonly name?: string | undefined;
  /** The first turn. */
  readonly prompt?: string | undefined;
  /** Memory that it wants, in bytes. */
  readonly memoryBytes?: number | undefined;
  /** The file of a script for the scripted agent; its text goes with the session. */
  readonly scriptFile?: string | undefined;
  /** What else it asks of its host. */
  readonly options?: JobOptions;
}

/** The flags of {@linkcode requestOf}. */
export const QUEUE_FLAGS: FlagSpec = {
  boolean: ["trust-project", "force", "approve"],
  string: [
    "agent",
    "resume",
    "session-id",
    "model",
    "script",
    "asks",
    "idle-grace-ms",
    "ask-timeout-ms",
    "stall-ms",
  ],
  collect: ["allow", "root"],
};

/**
 * What a command line wants to have queued.
 *
 * @param flags The command line.
 * @returns The request, without workspace and first turn.
 * @throws {UsageError} For what no host can be asked for.
 */
export function requestOf(
  flags: Flags,
): Omit<QueueRequest, "workspace" | "prompt"> {
  const asks = flags.choice("asks", ASK_POLICIES);
  if (flags.rest.length > 0) {
    throw new UsageError(
      "Cannot queue the session: which program an agent is says its host",
      "leave out what follows --, or start it here with --here",
    );
  }
  return {
    agent: flags.text("agent") ?? "claude",
    sessionId: flags.text("session-id"),
    resume: flags.text("resume"),
    scriptFile: flags.text("script"),
    options: jobOptionsOf({
      model: flags.text("model"),
      asks,
      askTimeoutMs: flags.integer("ask-timeout-ms"),
      idleGraceMs: flags.integer("idle-grace-ms"),
      stallMs: flags.integer("stall-ms"),
      force: flags.on("force"),
      approve: flags.on("approve"),
      trustProject: flags.on("trust-project"),
      allow: flags.list("allow"),
      roots: flags.list("root"),
    }),
  };
}

/**
 * Queues a session and says its id.
 *
 * @param to The fleet, or how to reach it.
 * @param request The session.
 * @param json Print one object.
 * @param io Where to write.
 * @returns 0.
 * @throws {FleetError} When the fleet cannot be reached or does not take it.
 * @throws {UsageError} For what no host can be asked for.
 */
export async function queueCommand(
  to: Fleet | FleetSettings,
  request: QueueRequest,
  json: boolean,
  io: CommandIo,
): Promise<number> {
  const { workspace, prompt, memoryBytes, name, resume } = request;
  if (!HOST_AGENTS.includes(request.agent)) {
    throw new UsageError(
      `Cannot queue a session of "${request.agent}": hosts start ${
        HOST_AGENTS.join(", ")
      }`,
      "--agent claude, or start it here with --here",
    );
  }
  if (resume !== undefined && request.sessionId !== undefined) {
    throw new UsageError(
      "Cannot queue the session: --resume and --session-id exclude each other",
      "give one of them",
    );
  }
  const sessionId = resume ?? request.sessionId ?? crypto.randomUUID();
  const job = {
    sessionId,
    agent: request.agent,
    workspace: workspace.startsWith("git+")
      ? { git: workspace }
      : { path: await onHosts(workspace) },
    options: await optionsOf(request),
    resume: resume !== undefined,
    ...prompt === undefined || prompt === "" ? {} : { prompt },
    ...name === undefined ? {} : { name },
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

async function optionsOf(
  { options = {}, scriptFile, agent }: QueueRequest,
): Promise<JobOptions> {
  const roots = options.roots === undefined
    ? {}
    : { roots: await Promise.all(options.roots.map(onHosts)) };
  if (scriptFile === undefined) return { ...options, ...roots };
  if (agent !== "scripted") {
    throw new UsageError(
      `Cannot queue the session: only the scripted agent plays a script, not "${agent}"`,
      "--agent scripted",
    );
  }
  const script = await readTextCapped(scriptFile, MAX_SCRIPT);
  return { ...options, ...roots, script };
}

/** A path as hosts have to have it: absolute, links resolved where it is here as well. */
async function onHosts(path: string): Promise<string> {
  return await Deno.realPath(path).catch(() =>
    path.startsWith("/") ? path : `${Deno.cwd()}/${path}`
  );
}

/** The short id of a queued session, the same on every machine. */
export function placedShortId(sessionId: string): string {
  return sessionId.replaceAll("-", "").slice(0, 12);
}
