import { assert, assertEquals } from "@std/assert";
import { run } from "@bulkhead/sandbox";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { killedInCommand } from "./support/killed_in_command.ts";

const codex = await findHarness("codex");
const ignore = codex === undefined;

const EXEC = [
  "exec",
  "--json",
  "--skip-git-repo-check",
  "--dangerously-bypass-approvals-and-sandbox",
];

Deno.test({
  name: "Codex exec: patch, command, subagent and reply with a scripted model",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          text: "on it",
          calls: [{ do: "write", path: "in.txt", content: "in" }, {
            do: "shell",
            command: "echo $PWD > pwd.txt",
          }],
        },
        { calls: [{ do: "subagent", prompt: "SUB write" }] },
        { text: "done", await: "SUB" },
      ],
      conversations: [{
        match: "SUB",
        steps: [{ calls: [{ do: "write", path: "sub.txt", content: "s" }] }, {
          text: "sub done",
        }],
      }],
    });
    const { stdout, code } = await run([codex!, ...EXEC, "go"], {
      cwd: world.workspace,
      env: { ...world.env },
    });
    assertEquals(code, 0);
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(
      events.find((event) => event.item?.type === "file_change")?.item
        .changes[0].kind,
      "add",
    );
    assertEquals(
      events.findLast((event) => event.item?.type === "agent_message")?.item
        .text,
      "done",
    );
    assertEquals(events.at(-1).type, "turn.completed");
    assertEquals(await world.list(world.workspace), [
      "in.txt",
      "pwd.txt",
      "sub.txt",
    ]);
    world.model.assertFinished();
  },
});

Deno.test({
  name: "Codex exec: a code-mode model writes and runs through the code tool",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          calls: [{ do: "write", path: "in.txt", content: "in" }, {
            do: "shell",
            command: "echo hi > hi.txt; echo said",
          }],
        },
        { text: "done" },
      ],
    }, { model: "gpt-5.6-sol" });
    const { code } = await run([codex!, ...EXEC, "go"], {
      cwd: world.workspace,
      env: { ...world.env },
    });
    assertEquals(code, 0);
    assertEquals(await world.list(world.workspace), ["hi.txt", "in.txt"]);
    assert(world.model.result("call_main_0_1")?.content.includes("said"));
    world.model.assertFinished();
  },
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test({
    name:
      `Codex exec: ended by ${signal} in the middle of a command, nothing is left`,
    ignore,
    fn: () => killedInCommand([codex!, ...EXEC, "go"], signal),
  });
}
