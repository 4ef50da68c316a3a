import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { makeWorld } from "./support/agent_world.ts";
import { findHarness } from "./support/harnesses.ts";
import { openClaude } from "./support/stream_json.ts";

const claude = await findHarness("claude");
const ignore = claude === undefined;

/** Denies whatever names the directory outside. */
function keepInside(
  outside: string,
): (tool: string, input: unknown) => string | undefined {
  return (_tool, input) =>
    JSON.stringify(input)?.includes(outside)
      ? "outside is off limits"
      : undefined;
}

Deno.test({
  name:
    "Claude Code: init, allowed tool, denied tool, subagent, reply and result over stream-json",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          text: "on it",
          calls: [{ do: "write", path: "{{ws}}/in.txt", content: "in" }],
        },
        {
          calls: [{ do: "write", path: "{{out}}/a.txt", content: "x" }, {
            do: "shell",
            command: "echo x > {{out}}/b.txt",
          }],
        },
        { calls: [{ do: "subagent", prompt: "SUB write outside" }] },
        { text: "done" },
      ],
      conversations: [{
        match: "SUB",
        steps: [{
          calls: [{
            do: "write",
            path: "{{out}}/sub.txt",
            content: "x",
            id: "sub",
          }],
        }, { text: "sub done" }],
      }],
    });
    const gate = keepInside(world.outside);
    await using session = await openClaude(claude!, {
      cwd: world.workspace,
      env: world.env,
      gate,
    });
    await session.send("go");
    const init = await session.until("system", "init");
    assertEquals(init.claude_code_version, "2.1.197");
    const result = await session.until("result");
    assertEquals([result.subtype, result.is_error, result.result], [
      "success",
      false,
      "done",
    ]);
    assertEquals(session.gated, ["Write", "Write", "Bash", "Agent", "Write"]);
    assertEquals(await world.list(world.workspace), ["in.txt"]);
    assertEquals(await world.list(world.outside), []);
    const denied = world.model.result("call_main_1_0");
    assertEquals(denied, {
      callId: "call_main_1_0",
      content: "outside is off limits",
      isError: true,
    });
    assertEquals(world.model.result("sub")?.content, "outside is off limits");
    assertEquals((await session.child.end({ eofMs: 60_000 })).code, 0);
    world.model.assertFinished();
  },
});

Deno.test({
  name:
    "Claude Code: a rate limit is retried, a bad request is a result with is_error",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        { error: { status: 429, retryAfter: 0 } },
        { text: "second try" },
        {
          error: { status: 400, message: "no such thing" },
        },
      ],
      after: "unexpected",
    });
    await using session = await openClaude(claude!, {
      cwd: world.workspace,
      env: world.env,
      gate: () => undefined,
    });
    await session.send("go");
    const first = await session.until("result");
    assertEquals([first.is_error, first.result], [false, "second try"]);
    assert(session.lines.some((line) => line.subtype === "api_retry"));
    await session.send("again");
    const second = await session.until("result");
    assertEquals([second.subtype, second.is_error, second.api_error_status], [
      "success",
      true,
      400,
    ]);
    assertStringIncludes(String(second.result), "no such thing");
  },
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test({
    name:
      `Claude Code: ended by ${signal} in the middle of a command, nothing is left`,
    ignore,
    async fn() {
      await using world = await makeWorld({
        steps: [{
          calls: [{
            do: "shell",
            command: "echo $$ > {{ws}}/pid; sleep 600; echo late > {{ws}}/late",
          }],
        }],
      });
      await using session = await openClaude(claude!, {
        cwd: world.workspace,
        env: world.env,
        gate: () => undefined,
      });
      await session.send("go");
      await session.until("system", "task_started");
      Deno.kill(session.child.pid, signal);
      await session.child.status;
      await session.child.end();
      await world.quiet();
      assertEquals(await world.list(world.workspace), ["pid"]);
    },
  });
}
