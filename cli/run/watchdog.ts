import { type ManagedProcess, startProcess } from "@bulkhead/sandbox";

/** Waits for the end of its input, which comes when we die, and removes one file. */
const PROGRAM = 'cat >/dev/null; rm -f -- "$1"';

/**
 * Sees to it that a socket does not outlive this process, not even a SIGKILL: a
 * shell of its own waits on a pipe from us and removes the socket when it closes.
 *
 * @param socket The socket's path.
 * @returns The shell; end it in an orderly end.
 */
export async function watchSocket(socket: string): Promise<ManagedProcess> {
  const dog = await startProcess(["/bin/sh", "-c", PROGRAM, "sh", socket], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stderr: "null",
    // It has to live for the moment after us.
    parentDeath: "none",
  });
  await dog.stdout.cancel();
  return dog;
}
