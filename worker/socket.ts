/**
 * A unix socket that is ours: taken over in one step, private from birth, and removed only while it is still ours.
 *
 * @module
 */

import { namedPermissions, pause } from "@bulkhead/sandbox";
import { checkSocketPath } from "./store/home.ts";

/** How long to wait when a connection cannot be taken. */
const RETRY_MS = 100;

/**
 * Where a socket is bound before it is moved to its place: closing the listener unlinks this name and no other.
 *
 * @param path The socket's place.
 * @returns The name, no longer than the place.
 */
export function besideOf(path: string): string {
  return `${path.slice(0, path.lastIndexOf("/"))}/w.sock`;
}

/** A bound socket with its place on the disk. */
export class OwnedSocket {
  readonly #listener: Deno.UnixListener;
  readonly #path: string;
  readonly #inode: number | null;
  #stopped = false;

  private constructor(
    listener: Deno.UnixListener,
    path: string,
    inode: number | null,
  ) {
    this.#listener = listener;
    this.#path = path;
    this.#inode = inode;
  }

  /**
   * Binds a socket beside its place, makes it private and moves it there, over whatever file was there.
   *
   * Needs read and write of the directory and `--allow-net=unix:` of both names.
   *
   * @param path Where it will be.
   * @returns The socket, listening.
   */
  static async bind(path: string): Promise<OwnedSocket> {
    checkSocketPath(path);
    const beside = besideOf(path);
    return await namedPermissions(`Binding the socket "${path}"`, async () => {
      // Left there by a worker that was killed while it bound; the name is ours by its lock.
      await Deno.remove(beside).catch(() => {});
      const listener = Deno.listen({ transport: "unix", path: beside });
      try {
        await Deno.chmod(beside, 0o600);
        const { ino } = await Deno.lstat(beside);
        await Deno.rename(beside, path);
        return new OwnedSocket(listener, path, ino);
      } catch (error) {
        listener.close();
        throw error;
      }
    });
  }

  /**
   * The next connection. When none can be taken for a while, because this process has too many files open, it waits.
   *
   * @returns The connection, or `undefined` after {@linkcode stop}.
   */
  async accept(): Promise<Deno.UnixConn | undefined> {
    while (!this.#stopped) {
      try {
        return await this.#listener.accept();
      } catch {
        if (!this.#stopped) {
          await pause(RETRY_MS);
        }
      }
    }
    return undefined;
  }

  /** Stops accepting; the file stays. */
  stop(): void {
    this.#stopped = true;
    try {
      this.#listener.close();
    } catch {
      // Stopped before.
    }
  }

  /** Removes the file if it is still ours: a later worker may have taken the place. */
  async remove(): Promise<void> {
    try {
      const { ino } = await Deno.lstat(this.#path);
      if (ino === this.#inode) await Deno.remove(this.#path);
    } catch {
      // Gone already.
    }
  }
}
