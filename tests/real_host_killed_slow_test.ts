/** Whoever hosts an agent is killed in the middle of a command: the agent, its hooks, its commands end as well. */

import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { eventually } from "./support/eventually.ts";
import { findHarness, type HarnessName } from "./support/harnesses.ts";

const HOST = fromFileUrl(new URL("./support/host_process.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../deno.json", import.meta.url));

/** Waits until a file is there. */
async function appears(dir: string, name: string): Promise<void> {
  using watcher = Deno.watchFs(dir);
  if (await Deno.stat(`${dir}/${name}`).then(() => true, () => false)) return;
  for await (const event of watcher) {
    if (event.paths.some((path) => path.endsWith(`/${name}`))) return;
  }
}

/** The directories of sessions. */
async function sessionsIn(world: AgentWorld): Promise<string[]> {
  const names = await world.list(`${world.home}/../tmp`);
  return names.filter((name) => name.startsWith("bulkhead-"));
}

for (
  const name of [
    "claude",
    "codex",
    "opencode",
  ] as const satisfies readonly HarnessName[]
) {
  const program = await findHarness(name);
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    Deno.test({
      name:
        `${name}: its host ended by ${signal} in the middle of a command, nothing is left`,
      ignore: program === undefined,
      async fn() {
        await using world = await makeWorld({
          steps: [{
            calls: [{
              do: "shell",
              command:
                "echo x > {{ws}}/started.txt; sleep 600; echo x > {{ws}}/late.txt",
            }],
          }],
        });
        const host = new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "-A",
            `--config=${CONFIG}`,
            HOST,
            name,
            program!,
            world.workspace,
          ],
          clearEnv: true,
          env: { ...world.env },
          stdin: "null",
          stdout: "null",
          stderr: "null",
        }).spawn();
        await appears(world.workspace, "started.txt");
        assert((await world.processes()).length > 1);
        host.kill(signal);
        await host.status;
        await world.quiet();
        // The socket that hooks and plugins ask through has gone too.
        // Its sweeper is nobody's child any more, so it is looked for and not waited for.
        await eventually(
          "its directory is swept up",
          async () => (await sessionsIn(world)).length === 0,
        );
        assertEquals(
          (await world.list(world.workspace)).filter((file) =>
            file.endsWith(".txt")
          ),
          ["started.txt"],
        );
      },
    });
  }
}
