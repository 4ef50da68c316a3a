/**
 * The mutex under which a claim changes hands: a directory beside the file, so that
 * other programs that use the same claims take part.
 *
 * @module
 */

import { pause } from "@bulkhead/sandbox";

/** A held mutex. */
export interface HeldMutex extends AsyncDisposable {
  /** Whether it is still ours: one that is held for too long may be taken away. */
  isHeld(): Promise<boolean>;
}

/** Whoever holds it longer has died with it. */
const STALE_MS = 120_000;
/** How long it is waited for. */
const WAIT_MS = 5_000;
/** How often it is tried meanwhile. */
const STEP_MS = 20;

/** Takes the mutex; `undefined` when it stays held for too long. */
export async function takeMutex(
  path: string,
  waitMs: number = WAIT_MS,
): Promise<HeldMutex | undefined> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      await Deno.mkdir(path);
      return await held(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    if (await dropStale(path)) continue;
    if (performance.now() >= deadline) return undefined;
    await pause(STEP_MS);
  }
}

/** Moves a mutex aside whose holder died: by rename, so that only one of us does it. */
async function dropStale(path: string): Promise<boolean> {
  try {
    const info = await Deno.stat(path);
    if (Date.now() - (info.mtime?.getTime() ?? Date.now()) <= STALE_MS) {
      return false;
    }
    const aside = `${path}.${crypto.randomUUID()}`;
    await Deno.rename(path, aside);
    await Deno.remove(aside, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

async function held(path: string): Promise<HeldMutex> {
  const mine = (await Deno.stat(path)).ino;
  const isHeld = async () => {
    const now = await Deno.stat(path).catch(() => undefined);
    return now !== undefined && now.ino === mine;
  };
  return {
    isHeld,
    async [Symbol.asyncDispose]() {
      if (await isHeld()) await Deno.remove(path).catch(() => {});
    },
  };
}
