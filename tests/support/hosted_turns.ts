/**
 * What every hosted agent does in the middle of a turn, whichever program it is.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { ScriptStep } from "@bulkhead/guard/scripted-model";
import type { AgentDriver } from "@bulkhead/worker";
import { type AgentWorld, makeWorld } from "./agent_world.ts";
import { hostAgent, type Hosted, OFF_LIMITS } from "./hosted.ts";

/** An agent as these tests see it. */
export interface HostedAgent {
  /** A driver of it, for one session. */
  readonly driver: () => AgentDriver;
  /** How it calls an item that is not finished. */
  readonly atWork: string;
}

/** Reaches out of the workspace by a tool and by a command, and calls a tool of the host. */
export const REACH_OUT: ScriptStep = {
  calls: [
    { do: "write", path: "{{out}}/a.txt", content: "x", id: "out_write" },
    { do: "shell", command: "echo x > {{out}}/b.txt", id: "out_shell" },
    { do: "tool", name: "greet", input: { who: "you" }, id: "greeting" },
  ],
};

/**
 * Plays a turn that begins with the text "working", holds {@linkcode REACH_OUT} and a
 * subagent that reaches out as `out_sub`, and ends with "done": what reached out was
 * denied and the model was told why, and everything else was shown. Closes the session.
 *
 * @param world Where it is played.
 * @param hosted The agent, with the tool `greet`.
 */
export async function keptInside(
  world: AgentWorld,
  hosted: Hosted,
): Promise<void> {
  const outcome = await hosted.turn("go");
  assertEquals([outcome.outcome, outcome.text], ["completed", "done"]);
  const outward = ["out_write", "out_shell", "out_sub"];
  assertEquals(outcome.denied.map((call) => call.toolUseId), outward);
  for (const id of outward) {
    assertStringIncludes(world.model.result(id)?.content ?? "", OFF_LIMITS);
  }
  const greeting = world.model.result("greeting");
  assertStringIncludes(greeting?.content ?? "", "hello you");
  const frames = hosted.frames();
  assert(
    frames.some((frame) =>
      frame.kind === "stream_event" && frame.delta === "working"
    ),
  );
  const result = frames.find((frame) => frame.kind === "result");
  assert(result?.kind === "result" && (result.usage?.input_tokens ?? 0) > 0);
  assert(hosted.judged.at(-1)?.agentId !== undefined);
  await hosted.session.close();
  assertEquals(await world.list(world.outside), []);
}

/** Waits until the agent says that a command runs. */
function commandRuns(hosted: Hosted, { atWork }: HostedAgent): Promise<void> {
  return hosted.until(() =>
    hosted.frames().some((frame) =>
      frame.kind === "system" && frame.subtype === "item" &&
      frame.status === atWork
    )
  );
}

/**
 * A turn is interrupted, a turn is sent into a running one, the session is gone on
 * with, and one that does not exist is refused.
 *
 * @param agent The agent.
 * @param unknown The id of a session that does not exist.
 * @param refusal What is said of it.
 */
export async function interruptedAndResumed(
  agent: HostedAgent,
  unknown: string,
  refusal: string,
): Promise<void> {
  await using world = await makeWorld({
    steps: [
      { calls: [{ do: "shell", command: "echo x > started.txt; sleep 600" }] },
      { text: "after the interrupt", hold: "steer" },
      { text: "and after more" },
      {
        calls: [{
          do: "write",
          path: "{{out}}/late.txt",
          content: "x",
          id: "late",
        }],
      },
      { text: "resumed" },
    ],
  });
  let id: string | undefined;
  {
    await using hosted = await hostAgent(agent.driver(), world);
    const cut = hosted.turn("go");
    await commandRuns(hosted, agent);
    await hosted.session.interrupt();
    assertEquals((await cut).outcome, "aborted");
    const first = hosted.turn("again");
    await world.model.reached(2);
    const second = hosted.turn("more of it");
    await hosted.until(() => hosted.session.turns.pending === 2);
    world.model.release("steer");
    assertEquals([(await first).outcome, (await second).outcome], [
      "completed",
      "completed",
    ]);
    id = hosted.session.sessionId;
  }
  {
    await using hosted = await hostAgent(agent.driver(), world, {
      resume: id!,
    });
    assertEquals(hosted.session.sessionId, id);
    const outcome = await hosted.turn("once more");
    assertEquals(outcome.text, "resumed");
    assertStringIncludes(world.model.result("late")?.content ?? "", OFF_LIMITS);
    assertEquals(await world.list(world.outside), []);
  }
  await assertRejects(
    () => hostAgent(agent.driver(), world, { resume: unknown }),
    Error,
    refusal,
  );
  await world.quiet();
}

/**
 * The agent is ended while a command of it runs: the turn is lost and nothing is left.
 *
 * @param agent The agent.
 * @param signal What it is ended with.
 */
export async function endedInTurn(
  agent: HostedAgent,
  signal: Deno.Signal,
): Promise<void> {
  await using world = await makeWorld({
    steps: [{
      calls: [{
        do: "shell",
        command: "echo x > started.txt; sleep 600; echo late > late.txt",
      }],
    }],
  });
  await using hosted = await hostAgent(agent.driver(), world);
  const turn = hosted.turn("go");
  await commandRuns(hosted, agent);
  Deno.kill(hosted.session.driver.status().pid!, signal);
  assertEquals((await turn).outcome, "lost");
  await hosted.session.ended;
  await world.quiet();
  const left = (await world.list(world.workspace)).filter((name) =>
    name !== "started.txt"
  );
  assertEquals(left, []);
}
