import { assertEquals } from "@std/assert";
import { run } from "@bulkhead/sandbox";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { killedInCommand } from "./support/killed_in_command.ts";

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
    fn: () =>
      killedInCommand([opencode!, "run", "--format", "json", "go"], signal),
  });
}
