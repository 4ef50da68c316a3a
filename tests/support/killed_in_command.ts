/**
 * An agent that runs for one prompt and is killed while a command of it runs.
 *
 * @module
 */

import { assert } from "@std/assert";
import { startProcess } from "@bulkhead/sandbox";
import { makeWorld } from "./agent_world.ts";

/**
 * Kills the agent in the middle of a command, and asserts that nothing of it runs on.
 *
 * @param argv Its command line.
 * @param signal What it is killed with.
 */
export async function killedInCommand(
  argv: readonly string[],
  signal: Deno.Signal,
): Promise<void> {
  await using world = await makeWorld({
    steps: [{
      text: "go",
      calls: [{
        do: "shell",
        command: "echo x > started; sleep 600; echo late > late",
      }],
    }],
  });
  const watcher = Deno.watchFs(world.workspace);
  const child = await startProcess(argv, {
    cwd: world.workspace,
    env: world.env,
    stderr: "null",
  });
  const drained = new Response(child.stdout).text();
  await child.stdin.close();
  for await (const event of watcher) {
    if (event.paths.some((path) => path.endsWith("/started"))) break;
  }
  Deno.kill(child.pid, signal);
  await child.status;
  await child.end();
  await drained;
  await world.quiet();
  assert(!(await world.list(world.workspace)).includes("late"));
}
