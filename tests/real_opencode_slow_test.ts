import { assert, assertEquals } from "@std/assert";
import { run, startProcess } from "@bulkhead/sandbox";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";

const opencode = await findHarness("opencode");
const ignore = opencode === undefined;

Deno.test({
  name:
    "OpenCode run: write, command, subagent and reply with a scripted model",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          text: "on it",
          calls: [{ do: "write", path: "{{ws}}/in.txt", content: "in" }, {
            do: "shell",
            command: "echo $PWD > pwd.txt",
          }],
        },
        { calls: [{ do: "subagent", prompt: "SUB write" }] },
        { text: "done" },
      ],
      conversations: [{
        match: "SUB",
        steps: [{
          calls: [{ do: "write", path: "{{ws}}/sub.txt", content: "s" }],
        }, { text: "sub done" }],
      }],
    });
    const { stdout, code } = await run([
      opencode!,
      "run",
      "--format",
      "json",
      "go",
    ], {
      cwd: world.workspace,
      env: { ...world.env },
      timeoutMs: 60_000,
    });
    assertEquals(code, 0);
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const tools = events.filter((event) => event.type === "tool_use").map((
      event,
    ) => event.part.tool);
    assertEquals(tools, ["write", "bash", "task"]);
    assertEquals(
      events.findLast((event) => event.type === "text")?.part.text,
      "done",
    );
    assertEquals(await world.list(world.workspace), [
      "in.txt",
      "pwd.txt",
      "sub.txt",
    ]);
    world.model.assertFinished();
  },
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test({
    name:
      `OpenCode run: ended by ${signal} in the middle of a command, nothing is left`,
    ignore,
    async fn() {
      await using world = await makeWorld({
        steps: [{
          text: "go",
          calls: [{
            do: "shell",
            command: "echo x > started; sleep 600; echo late > late",
          }],
        }],
      });
      const child = await startProcess([
        opencode!,
        "run",
        "--format",
        "json",
        "go",
      ], {
        cwd: world.workspace,
        env: world.env,
        stderr: "null",
      });
      const drained = new Response(child.stdout).text();
      await child.stdin.close();
      const watcher = Deno.watchFs(world.workspace);
      for await (const event of watcher) {
        if (event.paths.some((path) => path.endsWith("/started"))) break;
      }
      Deno.kill(child.pid, signal);
      await child.status;
      await child.end();
      await drained;
      await world.quiet();
      assert(!(await world.list(world.workspace)).includes("late"));
    },
  });
}
