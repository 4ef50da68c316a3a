/**
 * What sees to it that nothing an agent started outlives this process, not even a SIGKILL.
 *
 * An agent that is told to end by the kernel, because its parent died, may be gone before it has ended its shells: these
 * live in sessions of their own and hang below init then. A shell that waits on a pipe from us finds them by a mark in
 * their environment.
 *
 * @module
 */

import { type ManagedProcess, startProcess } from "@bulkhead/sandbox";

/** The variable that marks what an agent starts. */
export const AGENT_VARIABLE = "BULKHEAD_AGENT";

/** Ends with our pipe, gives the agent a second to clean up after itself, and kills what is left. */
const PROGRAM = `cat >/dev/null
sleep 1
n=0
while [ $n -lt 50 ]; do
  found=$(grep -las -- "$1" /proc/[0-9]*/environ | cut -d/ -f3)
  [ -z "$found" ] && exit 0
  kill -9 $found 2>/dev/null
  n=$((n + 1))
  sleep 0.1
done`;

/**
 * Starts the shell that waits for our end. On systems without `/proc` there is none.
 *
 * @param mark The value of {@linkcode AGENT_VARIABLE} that the agent is started with.
 * @returns A function that ends the shell, once the agent and all of its processes are gone.
 */
export async function watchAgent(mark: string): Promise<() => Promise<void>> {
  if (Deno.build.os !== "linux") return () => Promise.resolve();
  const argv = ["/bin/sh", "-c", PROGRAM, "sh", `${AGENT_VARIABLE}=${mark}`];
  const dog: ManagedProcess = await startProcess(argv, {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stderr: "null",
    // It has to live for a moment after us.
    parentDeath: "none",
  });
  await dog.stdout.cancel();
  return async () => {
    await dog.end({ eofMs: 0, termMs: 1000 });
  };
}
