import {
  bulkheadHome,
  ensurePrivateDir,
  joinPath,
  normalizePath,
  reasonOf,
  TemporaryDirectoryError,
} from "@bulkhead/sandbox";
import type { RunArguments } from "./options.ts";

/** Where one session lives. */
export interface Places {
  /** The workspace, links resolved. */
  workspace: string;
  /** Bulkhead's own files. */
  home: string;
  /** The directory above the claims, when it is not the usual one. */
  claims: string | undefined;
  /** Removes what was made for this session only. */
  dispose(): Promise<void>;
}

/** The start of the name of every directory that a demo makes; pid and start time follow. */
export const DEMO_PREFIX = "bulkhead-demo-";

/** What a session has made this recently may lack the rest that tells that the session is alive. */
export const YOUNG_MS = 60_000;

/**
 * The places of a session: those of the user, or for an example a temporary
 * directory that holds all of them and goes with the session.
 *
 * @param args The command line.
 * @returns The places; all exist.
 * @throws {Deno.errors.NotFound} When the workspace does not exist.
 */
export async function openPlaces(args: RunArguments): Promise<Places> {
  if (args.example !== undefined && args.cwd === "." && !args.home) {
    return await demoPlaces();
  }
  let workspace: string;
  try {
    workspace = await Deno.realPath(args.cwd);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    throw new Deno.errors.NotFound(
      `Cannot run in "${args.cwd}": there is no such directory; make it or give another --cwd`,
      { cause },
    );
  }
  if (!(await Deno.stat(workspace)).isDirectory) {
    throw new TypeError(
      `Cannot run in "${args.cwd}": it is not a directory; give another --cwd`,
    );
  }
  const home = normalizePath(joinPath(Deno.cwd(), bulkheadHome(args.home)));
  await ensurePrivateDir(home);
  return {
    workspace,
    home,
    claims: undefined,
    dispose: () => Promise.resolve(),
  };
}

async function demoPlaces(): Promise<Places> {
  await sweepDemos();
  // Short, since a socket's path below it may have 107 bytes at most.
  const started = Math.round(performance.timeOrigin).toString(36);
  const dir = `${demoTemp()}/${DEMO_PREFIX}${Deno.pid}-${started}`;
  await Deno.mkdir(dir, { mode: 0o700 });
  // Held while we live; the kernel lets go of it however we end.
  const lock = await Deno.open(`${dir}/lock`, { write: true, create: true });
  await lock.lock(true);
  const root = await Deno.realPath(dir);
  await Deno.mkdir(`${root}/workspace`);
  await ensurePrivateDir(`${root}/h`);
  return {
    workspace: `${root}/workspace`,
    home: `${root}/h`,
    claims: `${root}/h`,
    async dispose(): Promise<void> {
      await Deno.remove(root, { recursive: true });
      lock.close();
    },
  };
}

/** A socket's path may have 107 bytes at most; what a demo puts below this takes the rest. */
const MAX_TEMP_BYTES = 40;

/**
 * The directory for the temporary files of demos.
 *
 * @returns `TMPDIR`, or `/tmp` where a socket below it could not be bound.
 */
export function demoTemp(): string {
  const own = Deno.env.get("TMPDIR")?.replace(/(.)\/+$/, "$1") || "/tmp";
  const path = normalizePath(joinPath(Deno.cwd(), own));
  return new TextEncoder().encode(path).length > MAX_TEMP_BYTES ? "/tmp" : path;
}

/**
 * Finds the directories of demos that were killed: those whose lock is free.
 *
 * @returns Their paths.
 */
export async function leftoverDemos(): Promise<string[]> {
  const found: string[] = [];
  const temp = demoTemp();
  try {
    for await (const entry of Deno.readDir(temp)) {
      if (!entry.isDirectory || !entry.name.startsWith(DEMO_PREFIX)) continue;
      const dir = `${temp}/${entry.name}`;
      if (await isFree(`${dir}/lock`)) found.push(dir);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new TemporaryDirectoryError(
      `Cannot list the temporary directory "${temp}": ${reasonOf(error)}`,
      error,
    );
  }
  return found;
}

/** Removes what killed demos have left. */
export async function sweepDemos(): Promise<string[]> {
  const swept: string[] = [];
  for (const dir of await leftoverDemos()) {
    try {
      await Deno.remove(dir, { recursive: true });
      swept.push(dir);
    } catch {
      // Somebody else's, or being swept by another run.
    }
  }
  return swept;
}

async function isFree(lock: string): Promise<boolean> {
  try {
    using file = await Deno.open(lock, { write: true });
    return await file.tryLock(true);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) return false;
    // Killed before it made its lock; one that is only just starting is young.
    const { mtime } = await Deno.stat(lock.replace(/\/lock$/, ""));
    return Date.now() - (mtime?.getTime() ?? 0) > YOUNG_MS;
  }
}
