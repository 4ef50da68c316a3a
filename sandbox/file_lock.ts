import { namedPermissions } from "./permissions.ts";
import { pause } from "./timer.ts";

/** Options of {@linkcode withFileLock}. */
export interface FileLockOptions {
  /** Let other readers in; writers stay out. */
  shared?: boolean;
  /**
   * How long to wait for the lock, in milliseconds.
   *
   * @default {5000}
   */
  timeoutMs?: number;
}

/** Wait between two attempts at a held lock. */
const LOCK_RETRY_MS = 10;

/**
 * Runs a function while holding an advisory lock (flock(2)) on a lock file, which
 * is created when absent and stays. Lock a file of its own, never one that is
 * replaced by a rename.
 *
 * Needs `--allow-read` and `--allow-write` of the lock file.
 *
 * @param lockPath The lock file.
 * @param fn The work.
 * @param options Shared or exclusive, and the wait.
 * @returns What the function returns.
 * @throws {Deno.errors.TimedOut} When the lock is not free in time.
 * @throws {PermissionRequiredError} When a grant is missing.
 *
 * @example Usage
 * ```ts
 * import { withFileLock } from "@bulkhead/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const dir = await Deno.makeTempDir();
 * const sum = await withFileLock(`${dir}/x.lock`, () => Promise.resolve(1 + 1));
 * assertEquals(sum, 2);
 * await Deno.remove(dir, { recursive: true });
 * ```
 */
export async function withFileLock<T>(
  lockPath: string,
  fn: () => Promise<T>,
  options: FileLockOptions = {},
): Promise<T> {
  const file = await namedPermissions(
    `Locking "${lockPath}"`,
    () =>
      Deno.open(lockPath, {
        read: true,
        write: true,
        create: true,
        mode: 0o600,
      }),
  );
  try {
    const timeoutMs = options.timeoutMs ?? 5000;
    const deadline = performance.now() + timeoutMs;
    while (!await file.tryLock(!options.shared)) {
      if (performance.now() >= deadline) {
        throw new Deno.errors.TimedOut(
          `Cannot lock "${lockPath}": another process has held it for ${timeoutMs} ms; end that process or try again`,
        );
      }
      await pause(LOCK_RETRY_MS);
    }
    return await fn();
  } finally {
    // Closing releases the lock.
    file.close();
  }
}
