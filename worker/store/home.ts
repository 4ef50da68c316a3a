/**
 * Where a worker's files lie.
 *
 * @module
 */
import { ensurePrivateDir } from "@bulkhead/sandbox";

/** The places under a worker home. */
export interface WorkerHome {
  /** The home itself, absolute. */
  readonly root: string;
  /** The registry of all workers. */
  readonly registry: string;
  /** What happened, one line each. */
  readonly events: string;
  /** Where directories of lost workers go. */
  readonly orphaned: string;
}

/** The files of one worker. */
export interface WorkerFiles {
  /** The worker's directory. */
  readonly dir: string;
  /** Its state. */
  readonly state: string;
  /** Its socket. */
  readonly socket: string;
  /** Its timeline. */
  readonly timeline: string;
  /** Locked for as long as a worker of this name runs. */
  readonly lock: string;
}

/** Bytes that a socket path may have: the kernel's field without its final NUL. */
const SOCKET_PATH_LIMIT: number = Deno.build.os === "darwin" ? 103 : 107;

/** How long a write waits for its turn: hundreds of workers may start at once on a busy disk. */
export const WRITE_LOCK_MS = 60_000;

/**
 * The places under a home.
 *
 * @param root The home, absolute.
 * @returns Its places; nothing is created.
 *
 * @example
 * ```ts
 * import { workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(workerHome("/srv/w").registry, "/srv/w/registry.json");
 * ```
 */
export function workerHome(root: string): WorkerHome {
  const clean = root.length > 1 ? root.replace(/\/+$/, "") : root;
  return {
    root: clean,
    registry: `${clean}/registry.json`,
    events: `${clean}/events.jsonl`,
    orphaned: `${clean}/.orphaned`,
  };
}

/**
 * The files of one worker.
 *
 * @param home The home.
 * @param shortId The worker's short id.
 * @returns Its files; nothing is created.
 * @throws {RangeError} When the id could leave the home.
 *
 * @example
 * ```ts
 * import { workerFiles, workerHome } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * const files = workerFiles(workerHome("/srv/w"), "demo");
 * assertEquals(files.socket, "/srv/w/demo/worker.sock");
 * ```
 */
export function workerFiles(home: WorkerHome, shortId: string): WorkerFiles {
  checkShortId(shortId);
  const dir = `${home.root}/${shortId}`;
  return {
    dir,
    state: `${dir}/state.json`,
    socket: `${dir}/worker.sock`,
    timeline: `${dir}/timeline.jsonl`,
    lock: `${dir}/worker.lock`,
  };
}

/**
 * Refuses a short id that is no plain name.
 *
 * @param shortId The id.
 * @throws {RangeError} When it is not one.
 */
function checkShortId(shortId: string): void {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/.test(shortId)) return;
  throw new RangeError(
    `Cannot use the short id ${
      JSON.stringify(shortId)
    }: want 1 to 64 letters, digits, "_", "-" or ".", the first no "-" or "."`,
  );
}

/**
 * A short id for an agent's name: its first eight letters and digits, made unique by a number.
 *
 * @param name The agent's name.
 * @param taken The ids in use.
 * @returns The id.
 *
 * @example
 * ```ts
 * import { shortIdFor } from "@bulkhead/worker";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(shortIdFor("My agent", new Set()), "Myagent");
 * assertEquals(shortIdFor("My agent", new Set(["Myagent"])), "Myagent2");
 * ```
 */
export function shortIdFor(name: string, taken: ReadonlySet<string>): string {
  const base = name.replace(/[^A-Za-z0-9]/g, "").slice(0, 8) || "agent";
  if (!taken.has(base)) return base;
  let n = 2;
  while (taken.has(`${base}${n}`)) n++;
  return `${base}${n}`;
}

/**
 * Makes the home, readable by its owner only.
 *
 * @param home The home.
 */
export async function ensureHome(home: WorkerHome): Promise<void> {
  await ensurePrivateDir(home.root);
}

/**
 * Refuses a socket path that the kernel would refuse, with its length and the limit.
 *
 * @param path The path of the socket.
 * @throws {RangeError} When it is too long.
 */
export function checkSocketPath(path: string): void {
  const bytes = new TextEncoder().encode(path).length;
  if (bytes <= SOCKET_PATH_LIMIT) return;
  throw new RangeError(
    `Cannot bind the socket "${path}": its path has ${bytes} bytes, the limit is ${SOCKET_PATH_LIMIT}; use a shorter --home`,
  );
}

/** A lock on a worker's name, held until it is released or the process ends. */
export interface HeldLock extends Disposable {
  /** Lets go. */
  release(): void;
}

/**
 * Takes the lock on a worker's name: a second worker of the same name in the same home finds it
 * held, whatever the registry says. The kernel releases it when the process ends.
 *
 * @param home The home.
 * @param shortId The worker's short id.
 * @returns The lock, or `undefined` when another process holds it.
 */
export async function lockWorker(
  home: WorkerHome,
  shortId: string,
): Promise<HeldLock | undefined> {
  const files = workerFiles(home, shortId);
  await ensurePrivateDir(files.dir);
  const file = await Deno.open(files.lock, {
    read: true,
    write: true,
    create: true,
    mode: 0o600,
  });
  let held = false;
  try {
    held = await file.tryLock(true);
  } finally {
    if (!held) file.close();
  }
  if (!held) return undefined;
  let open = true;
  const release = () => {
    if (open) file.close();
    open = false;
  };
  return { release, [Symbol.dispose]: release };
}
