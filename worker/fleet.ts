/**
 * Every worker under a home and how it stands.
 *
 * @module
 */
import { lastWords } from "./agents/start_error.ts";
import { MAX_TIMER_MS, namePermission } from "@bulkhead/sandbox";
import { connect, type SessionStatus } from "./client.ts";
import { workerFiles, type WorkerHome, workerHome } from "./store/home.ts";
import {
  type ProcessInfo,
  processInfo,
  type ProcessMark,
  processTree,
} from "./store/processes.ts";
import { findRow, readRegistry } from "./store/registry.ts";
import type { RegistryRow } from "./store/rows.ts";
import { readState, type WorkerState } from "./store/state.ts";

/**
 * How a worker stands. `running`, `requires_action`, `idle` and `dead` are the session's own word;
 * the rest is what is seen from outside: `starting`, `unresponsive` (it has the socket but does not
 * answer), `orphaned` (its process is gone without an end), `exited`.
 */
export type FleetState =
  | SessionStatus["state"]
  | "starting"
  | "unresponsive"
  | "orphaned"
  | "exited";

/** One worker of a home. */
export interface FleetEntry {
  /** The worker's short id. */
  readonly shortId: string;
  /** The agent's name in the registry, or the short id. */
  readonly name: string;
  /** How it stands. */
  readonly state: FleetState;
  /** The agent: `claude`, `scripted` … */
  readonly agent: string | null;
  /** The session's id. */
  readonly sessionId: string | null;
  /** Where it works. */
  readonly cwd: string | null;
  /** The worker's process, while it lives. */
  readonly pid: number | null;
  /** The agent's process, while it lives. */
  readonly agentPid: number | null;
  /** Milliseconds since the worker's process was started. */
  readonly ageMs: number | null;
  /** What the session has cost so far, in dollars. */
  readonly costUsd: number | null;
  /** Resident memory of the worker, its agent and everything below them. */
  readonly memoryBytes: number | null;
  /** Questions that wait for a person. */
  readonly openAsks: number;
  /** Turns that are not finished. */
  readonly pendingTurns: number;
  /** Milliseconds since the agent's last frame. */
  readonly silentMs: number | null;
  /** The worker's socket. */
  readonly socketPath: string;
  /** Whether nothing is left to put in order: it runs, or its end was noted. */
  readonly settled: boolean;
  /** What is wrong, in one line. */
  readonly problem?: string;
}

/** Options of {@linkcode listWorkers} and the functions built on it. */
export interface FleetOptions {
  /**
   * How long a worker may take to answer.
   *
   * @default {2000}
   */
  readonly timeoutMs?: number;
}

/** How long a worker may take to answer. */
export const WORKER_ANSWERS_MS = 2_000;
/** Workers that are asked at the same time. */
const AT_ONCE = 64;

/** Words of the state file for a worker that left nothing behind. */
const ENDED: readonly string[] = ["exited", "failed", "permanent_dead"];

/**
 * Every worker under a home, those that answer and those that only left files.
 *
 * @param home The home, or its path.
 * @param options How long to wait for each.
 * @returns The workers, by short id.
 *
 * @example
 * ```ts
 * import { listWorkers } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const home = await Deno.makeTempDir();
 * assertEquals(await listWorkers(home), []);
 * await Deno.remove(home, { recursive: true });
 * ```
 */
export async function listWorkers(
  home: WorkerHome | string,
  options: FleetOptions = {},
): Promise<FleetEntry[]> {
  const places = typeof home === "string" ? workerHome(home) : home;
  const rows = await rowsOf(places);
  const ids = new Set(await directories(places));
  for (const row of rows) if (row.short_id !== undefined) ids.add(row.short_id);
  const processes = await processInfo();
  const list: FleetEntry[] = [];
  const waiting = [...ids].toSorted();
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const entry = await look(
        places,
        id,
        findRow(rows, id),
        processes,
        options,
      );
      if (entry !== undefined) list.push(entry);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return list.toSorted((a, b) => a.shortId < b.shortId ? -1 : 1);
}

/**
 * The rows of the registry. A damaged one must not hide the workers that run: `doctor` names it.
 *
 * @param home The home.
 * @returns The rows; none of a registry that cannot be read.
 */
export async function rowsOf(home: WorkerHome): Promise<RegistryRow[]> {
  return await readRegistry(home).then((r) => r.rows, () => []);
}

async function directories(home: WorkerHome): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(home.root)) {
      if (entry.isDirectory && /^[A-Za-z0-9_]/.test(entry.name)) {
        names.push(entry.name);
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      throw namePermission("Listing the workers", error);
    }
  }
  return names;
}

async function look(
  home: WorkerHome,
  shortId: string,
  row: RegistryRow | undefined,
  processes: ReadonlyMap<number, ProcessInfo>,
  options: FleetOptions,
): Promise<FleetEntry | undefined> {
  const files = filesOf(home, shortId);
  if (files === undefined) return undefined;
  const answer = await askWorker(
    files.socket,
    options.timeoutMs ?? WORKER_ANSWERS_MS,
  );
  const state = await readState(home, shortId).catch((error: unknown) =>
    error instanceof Error ? error : undefined
  );
  if (answer === "absent" && state === undefined && row === undefined) {
    return undefined;
  }
  const known = state instanceof Error ? undefined : state;
  const pid = livePid(known, row, processes);
  const status = typeof answer === "object" ? answer : undefined;
  const agentPid = status?.childPid ?? liveAgent(known, processes)?.pid ?? null;
  const started = pid === null ? undefined : processes.get(pid)?.ms;
  const text = (value: unknown): string | null =>
    typeof value === "string" ? value : null;
  return {
    shortId,
    name: row?.name ?? shortId,
    state: status?.state ?? seenState(answer, known, row, pid),
    agent: status?.agent ?? text(known?.agent) ?? row?.harness ?? null,
    sessionId: status?.sessionId ?? text(known?.session_id) ??
      row?.harness_session_id ?? null,
    cwd: row?.cwd ?? text(known?.cwd),
    pid,
    agentPid,
    ageMs: started === undefined ? null : Math.max(0, Date.now() - started),
    costUsd: status?.costUsd ?? numberOf(known?.cost_usd),
    memoryBytes: await memory(pid ?? agentPid, processes),
    openAsks: status?.openAsks ?? 0,
    pendingTurns: status?.pendingTurns ?? 0,
    silentMs: status?.silentMs ?? null,
    socketPath: files.socket,
    settled: pid !== null || (answer === "absent" && hasEnded(known)),
    ...problemOf(state),
  };
}

function problemOf(
  state: WorkerState | Error | undefined,
): { problem?: string } {
  if (state instanceof Error) return { problem: state.message };
  if (state?.status !== "failed") return {};
  const last = lastWords(String(state.last_error ?? ""));
  return {
    problem: `its agent did not come up${last === "" ? "" : `: ${last}`}`,
  };
}

function filesOf(home: WorkerHome, shortId: string) {
  try {
    return workerFiles(home, shortId);
  } catch {
    return undefined;
  }
}

/**
 * Asks a worker.
 *
 * @param socket Its socket.
 * @param timeoutMs How long it may take.
 * @returns Its status, or why it gives none.
 */
export async function askWorker(
  socket: string,
  timeoutMs: number,
): Promise<SessionStatus | "absent" | "refused" | "silent"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    using client = await connect(socket);
    const late = new Promise<"silent">((resolve) => {
      timer = setTimeout(
        () => resolve("silent"),
        Math.min(timeoutMs, MAX_TIMER_MS),
      );
    });
    return await Promise.race([client.status(), late]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "absent";
    if (error instanceof Deno.errors.ConnectionRefused) return "refused";
    if (error instanceof Deno.errors.NotCapable) throw error;
    return "silent";
  } finally {
    clearTimeout(timer);
  }
}

function seenState(
  answer: "absent" | "refused" | "silent" | SessionStatus,
  state: WorkerState | undefined,
  row: RegistryRow | undefined,
  pid: number | null,
): FleetState {
  if (answer === "silent") return "unresponsive";
  const word = state?.status ?? row?.status;
  const over = word !== undefined && ENDED.includes(word)
    ? "exited"
    : "orphaned";
  // A host may outlive its workers: its pid says nothing about one that has ended.
  if (pid === null || answer === "absent" && hasEnded(state)) return over;
  return answer === "absent" ? "starting" : "unresponsive";
}

/**
 * Whether the end of a worker was noted.
 *
 * @param state Its state file.
 * @returns True when it was.
 */
export function hasEnded(state: WorkerState | undefined): boolean {
  return state !== undefined && !state.ready &&
    ["exited", "orphaned", "failed", "permanent_dead"].includes(state.status);
}

/** The worker's process, if the one that was recorded still lives. */
function livePid(
  state: WorkerState | undefined,
  row: RegistryRow | undefined,
  processes: ReadonlyMap<number, ProcessInfo>,
): number | null {
  const candidates: [unknown, unknown][] = [
    [state?.worker_pid, state?.worker_start],
    [row?.pid, row?.pid_start_time],
  ];
  for (const [pid, ticks] of candidates) {
    if (typeof pid !== "number") continue;
    const info = processes.get(pid);
    if (info !== undefined && (ticks === undefined || info.ticks === ticks)) {
      return pid;
    }
  }
  return null;
}

/**
 * The agent of a worker, if it still lives.
 *
 * @param state The worker's state file.
 * @param processes The processes of the machine.
 * @returns The process.
 */
export function liveAgent(
  state: WorkerState | undefined,
  processes: ReadonlyMap<number, ProcessInfo>,
): ProcessMark | undefined {
  const pid = state?.child_pid, ticks = state?.child_start;
  if (typeof pid !== "number" || typeof ticks !== "number") return undefined;
  return processes.get(pid)?.ticks === ticks ? { pid, ticks } : undefined;
}

async function memory(
  pid: number | null,
  processes: ReadonlyMap<number, ProcessInfo>,
): Promise<number | null> {
  if (pid === null) return null;
  const tree = await processTree(pid, processes);
  return tree.reduce(
    (sum, part) => sum + (processes.get(part.pid)?.rssBytes ?? 0),
    0,
  );
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
