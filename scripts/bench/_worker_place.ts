/**
 * A worker in a process of its own, for the figures.
 *
 * @module
 */

import { fromFileUrl } from "@std/path";

const CLI = fromFileUrl(new URL("../../worker/cli.ts", import.meta.url));

/** The configuration that everything of ours runs with. */
export const CONFIG = fromFileUrl(new URL("../../deno.json", import.meta.url));

/** A running worker; it ends with the scope. */
export interface Place extends AsyncDisposable {
  readonly dir: string;
  readonly socket: string;
  readonly pid: number;
}

/**
 * Starts a worker with an argv for its agent.
 *
 * @param argv The agent.
 * @param flags Flags of Deno.
 * @returns The worker, once its socket is bound.
 */
export async function worker(
  argv: string[],
  flags: string[] = [],
): Promise<Place> {
  const dir = await Deno.makeTempDir({ prefix: "bhwb" });
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${CONFIG}`,
      "--no-lock",
      "-A",
      ...flags,
      CLI,
      "--stream",
      "--short-id",
      "b",
      "--home",
      dir,
      "--cwd",
      dir,
      "--allow",
      "Write",
      "--",
      ...argv,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const socket = `${dir}/b/worker.sock`;
  await bound(socket);
  return {
    dir,
    socket,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      Deno.kill(child.pid, "SIGTERM");
      await child.status;
      await Deno.remove(dir, { recursive: true });
    },
  };
}

/**
 * Waits until somebody listens.
 *
 * @param socket The socket.
 */
export async function bound(socket: string): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ transport: "unix", path: socket })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
