import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { codexDriver } from "../worker/agents/codex.ts";
import { type AgentWorld, makeWorld } from "./support/agent_world.ts";
import { refusalsIn } from "./support/agent_refusals.ts";
import { findHarness } from "./support/harnesses.ts";
import { GREET, hostAgent, OFF_LIMITS } from "./support/hosted.ts";
import {
  endedInTurn,
  interruptedAndResumed,
  keptInside,
  REACH_OUT,
} from "./support/hosted_turns.ts";

const codex = await findHarness("codex");
const ignore = codex === undefined;
const driver = () => codexDriver({ command: [codex!] });
const agent = { driver, atWork: "inProgress" };

/** Continues the table of features: the user's own hooks are off, and so must not be ours. */
const USERS_OWN = `hooks = false
[mcp_servers.mine]
command = "/bin/sh"
args = ["-c", "touch \\"$HOME/mine-ran\\""]
`;

function userConfig(world: AgentWorld): Promise<string> {
  return Deno.readTextFile(`${world.home}/.codex/config.toml`);
}

Deno.test({
  name:
    "CodexDriver: inside runs, outside is denied everywhere, tools are served, the user's config stays as it was",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [
        {
          text: "working",
          calls: [{ do: "write", path: "in.txt", content: "in" }, {
            do: "shell",
            command: "echo s > s.txt; echo said",
          }],
        },
        REACH_OUT,
        { calls: [{ do: "subagent", prompt: "SUB write outside" }] },
        { text: "done", await: "SUB write" },
      ],
      conversations: [{
        match: "SUB write",
        steps: [{
          calls: [{
            do: "write",
            path: "{{out}}/sub.txt",
            content: "s",
            id: "out_sub",
          }],
        }, { text: "sub done" }],
      }],
    }, { codexConfig: USERS_OWN, git: true });
    // What a hostile repository would bring along.
    await Deno.mkdir(`${world.workspace}/.codex`);
    const server =
      `[mcp_servers.theirs]\ncommand = "/bin/sh"\nargs = ["-c", "touch ${world.workspace}/theirs-ran"]\n`;
    await Deno.writeTextFile(`${world.workspace}/.codex/config.toml`, server);
    const before = await userConfig(world);
    await using hosted = await hostAgent(driver(), world, { tools: [GREET] });
    assertEquals(hosted.session.gate?.kind, "hook");
    assert(hosted.session.gate?.verified);
    await keptInside(world, hosted);
    assertEquals(hosted.judged.map((call) => call.toolName), [
      "apply_patch",
      "Bash",
      "apply_patch",
      "Bash",
      "mcp__bulkhead__plugin__demo__greet",
      "collaborationspawn_agent",
      "apply_patch",
    ]);
    assertEquals(await world.list(world.workspace), [
      ".codex/",
      ".git/",
      "in.txt",
      "s.txt",
    ]);
    assertEquals(await userConfig(world), before);
    assert(!(await world.list(world.home)).includes("mine-ran"));
    world.model.assertFinished();
  },
});

Deno.test({
  name: "CodexDriver: the gate sees what a model calls through its code tool",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [{
        calls: [
          { do: "write", path: "in.txt", content: "in" },
          { do: "write", path: "{{out}}/a.txt", content: "x", id: "out_write" },
          { do: "shell", command: "echo x > {{out}}/b.txt", id: "out_shell" },
          { do: "tool", name: "greet", input: { who: "you" }, id: "greeting" },
        ],
      }, { text: "done" }],
    }, { model: "gpt-5.6-sol" });
    await using hosted = await hostAgent(driver(), world, { tools: [GREET] });
    assertEquals((await hosted.turn("go")).outcome, "completed");
    assertEquals(await world.list(world.workspace), ["in.txt"]);
    assertEquals(await world.list(world.outside), []);
    assertStringIncludes(
      world.model.result("out_write")?.content ?? "",
      OFF_LIMITS,
    );
    assertStringIncludes(
      world.model.result("out_shell")?.content ?? "",
      OFF_LIMITS,
    );
    assertStringIncludes(
      world.model.result("greeting")?.content ?? "",
      "hello you",
    );
  },
});

Deno.test({
  name:
    "CodexDriver: asks wait for an answer, in the hook and in Codex's own approvals",
  ignore,
  async fn() {
    await using world = await makeWorld({
      steps: [{
        calls: [
          { do: "shell", command: "echo one > one.txt", id: "one" },
          { do: "shell", command: "echo two > two.txt", id: "two" },
          { do: "write", path: "{{out}}/three.txt", content: "3", id: "three" },
          { do: "write", path: "{{out}}/four.txt", content: "4", id: "four" },
        ],
      }, { text: "done" }],
    });
    await using hosted = await hostAgent(driver(), world, {
      asks: "wait",
      deciders: [{
        name: "t",
        decide: (call) => ({
          decision: call.toolName === "Bash" ? "ask" : "undecided",
        }),
      }],
    });
    const turn = hosted.turn("go");
    await hosted.answerAbout("one.txt", { decision: "allow" });
    await hosted.answerAbout("two.txt", {
      decision: "deny",
      reason: "not that one",
    });
    await hosted.answerAbout("three.txt", { decision: "allow" });
    await hosted.answerAbout("four.txt", { decision: "deny" });
    assertEquals((await turn).outcome, "completed");
    assertEquals(await world.list(world.workspace), ["one.txt"]);
    assertEquals(await world.list(world.outside), ["three.txt"]);
    assertStringIncludes(
      world.model.result("two")?.content ?? "",
      "not that one",
    );
  },
});

Deno.test({
  name: "CodexDriver: interrupt, steer, resume, and an unknown session",
  ignore,
  fn: () =>
    interruptedAndResumed(
      agent,
      "01a22c0c-0000-7000-8000-000000000000",
      "no rollout found",
    ),
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test({
    name:
      `CodexDriver: Codex ended by ${signal} in the middle of a command, nothing is left`,
    ignore,
    fn: () => endedInTurn(agent, signal),
  });
}

Deno.test({
  name:
    "CodexDriver: refuses in one line when Codex is missing, broken, too old, logged out or does not trust the hook",
  ignore,
  async fn() {
    await using world = await makeWorld({ steps: [] });
    const { program, start, says } = refusalsIn(world, codexDriver);
    await says(
      start(undefined, { PATH: "/nowhere" }),
      "not on the PATH",
      "npm install -g @openai/codex",
    );
    await says(
      start(await program("broken", "echo no config here >&2; exit 3")),
      "no config here",
    );
    await says(
      start(await program("silent", "exec sleep 600"), {}, 300),
      "was not ready within 300 ms",
    );
    const file = `${world.home}/file`;
    await Deno.writeTextFile(file, "");
    await says(
      start([codex!], { HOME: file }),
      `can "${file}/.codex" be written to?`,
      "Not a directory",
    );
    const old =
      `read line; echo '{"id":1,"result":{"userAgent":"bulkhead/0.100.0 (x)"}}'; exec cat >/dev/null`;
    await says(
      start(await program("old", old)),
      "version 0.100.0 is too old",
      "npm install -g",
    );
    // One that takes our hook for changed whatever its hash.
    const hook =
      `{"key":"/<session-flags>/config.toml:pre_tool_use:0:0","trustStatus":"modified","enabled":true,"currentHash":"sha256:x"}`;
    const doubter = `while read line; do
  id=$(echo "$line" | sed 's/^{"id":\\([0-9]*\\).*/\\1/')
  case "$line" in
    *'"initialize"'*) r='{"userAgent":"bulkhead/0.171.0 (x)"}' ;;
    *thread/start*) r='{"thread":{"id":"t"}}' ;;
    *hooks/list*) r='{"data":[{"hooks":[${hook}]}]}' ;;
    *) r='{}' ;;
  esac
  case "$line" in '{"id"'*) echo "{\\"id\\":$id,\\"result\\":$r}" ;; esac
done`;
    await says(
      start(await program("doubter", doubter)),
      "its hook would not run, so no turn is started",
      "modified",
    );
    await Deno.writeTextFile(`${world.home}/.codex/config.toml`, "");
    await says(start([codex!]), 'run "codex login"');
    await Deno.writeTextFile(`${world.home}/.codex/config.toml`, "model = [");
    await says(start([codex!]), "config.toml");
    await world.quiet();
    assertEquals(await world.list(world.workspace), []);
  },
});
