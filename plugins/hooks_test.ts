import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fireHooks, type HookOutcome } from "@bulkhead/plugins";
import { readAnswer } from "./_hook_answer.ts";
import type { ProgramResult } from "./_plugin_run.ts";
import { exists, script, World } from "./testing/world.ts";

function ended(part: Partial<ProgramResult>): ProgramResult {
  return {
    code: 0,
    signal: null,
    success: (part.code ?? 0) === 0 && !part.timedOut,
    timedOut: false,
    aborted: false,
    stdout: "",
    stderr: "",
    truncated: { stdout: false, stderr: false },
    durationMs: 1,
    isolation: "none",
    ...part,
  };
}

Deno.test("readAnswer() follows the table of exits and answers", () => {
  const rows: [Partial<ProgramResult>, unknown][] = [
    [{}, {}],
    [{ stdout: "some words\n" }, {}],
    [{ code: 2 }, { decision: "deny" }],
    [{ code: 2, stderr: "no\n" }, { decision: "deny", reason: "no" }],
    [{ code: 2, stdout: '{"decision":"allow"}' }, { decision: "deny" }],
    [{ code: 1, stderr: "a\nb" }, { failure: "exited 1: a" }],
    [{ code: 127 }, { failure: "exited 127" }],
    [
      { code: null, signal: "SIGKILL", success: false },
      { failure: "ended by SIGKILL" },
    ],
    [{ timedOut: true }, { failure: "timed out after 50 ms" }],
    [{ stdout: '{"decision":"allow"}' }, { decision: "allow" }],
    [
      { stdout: ' {"decision":"ask","reason":"sure?"} ' },
      { decision: "ask", reason: "sure?" },
    ],
    [{ stdout: '{"decision":"block"}' }, { decision: "deny" }],
    [{ stdout: '{"continue":false,"stopReason":"x"}' }, {
      decision: "deny",
      reason: "x",
    }],
    [
      {
        stdout:
          '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}',
      },
      { decision: "deny", reason: "r" },
    ],
    [
      { stdout: '{"updatedInput":{"a":1},"additionalContext":"c"}' },
      { updatedInput: { a: 1 }, additionalContext: "c" },
    ],
    [{ stdout: "{}" }, {}],
    [{ stdout: "{" }, { failure: "printed broken JSON" }],
    [{ stdout: '{"decision":true}' }, {
      failure:
        'printed the decision true, which is none of "allow", "deny", "ask"',
    }],
    [{ stdout: '{"updatedInput":[1]}' }, {
      failure: 'printed "updatedInput" that is not an object',
    }],
    [{ stdout: '{"decision":"deny","reason":5}' }, { decision: "deny" }],
  ];
  for (const [part, expected] of rows) {
    assertEquals(readAnswer(ended(part), 50), expected);
  }
});

async function fire(
  world: World,
  event: string,
  tool?: string,
): Promise<HookOutcome> {
  const { hooks } = await world.load({ workspaceAccess: "write" });
  return await fireHooks(hooks, event, {
    payload: {
      "session_id": "s1",
      cwd: world.workspace,
      workspace: world.workspace,
      ...(tool === undefined ? {} : { tool: { name: tool, input: { a: 1 } } }),
    },
  });
}

function hook(event: string, extra = ""): string {
  return `[[hooks]]\nevent = "${event}"\ncommand = "./h.sh"\n${extra}\n`;
}

Deno.test("fireHooks() gives the payload on stdin and the place in the environment", async () => {
  await using world = await World.create();
  await world.plugin("demo", hook("pre_tool"), {
    "h.sh": script('cat > seen; echo "$PLUGIN_DIR $PWD" > where'),
  });
  const outcome = await fire(world, "pre_tool", "Write");
  assertEquals(outcome.reports.map((report) => report.failure), [undefined]);
  const seen: Record<string, unknown> = JSON.parse(
    await Deno.readTextFile(`${world.workspace}/seen`),
  );
  assertEquals({ ...seen, timestamp: "" }, {
    "session_id": "s1",
    cwd: world.workspace,
    workspace: world.workspace,
    tool: { name: "Write", input: { a: 1 } },
    event: "pre_tool",
    plugin: "demo",
    timestamp: "",
  });
  assertEquals(
    await Deno.readTextFile(`${world.workspace}/where`),
    `${world.plugins}/demo ${world.workspace}\n`,
  );
});

Deno.test("fireHooks() runs all hooks and the strictest wins, in the order of plugins and manifests", async () => {
  await using world = await World.create();
  await world.plugin("b", hook("pre_tool"), {
    "h.sh": script(`echo '{"decision":"deny","reason":"b says"}'`),
  });
  await world.plugin("a", hook("pre_tool") + hook("pre_tool"), {
    "h.sh": script("touch ran-a; echo no >&2; exit 2"),
  });
  await world.plugin("c", hook("pre_tool"), {
    "h.sh": script(
      `touch ran-c; echo '{"decision":"allow","updatedInput":{"x":1},"additionalContext":"ctx"}'`,
    ),
  });
  const outcome = await fire(world, "pre_tool", "Write");
  assertEquals(outcome.decision, "deny");
  assertEquals(outcome.reason, "no\nno\nb says");
  assertEquals(outcome.updatedInput, undefined);
  assertEquals(outcome.additionalContext, ["ctx"]);
  assertEquals(outcome.reports.map((report) => report.plugin), [
    "a",
    "a",
    "b",
    "c",
  ]);
  assert(await exists(`${world.workspace}/ran-c`));
});

Deno.test("fireHooks() uses the first rewrite and reports a second", async () => {
  await using world = await World.create();
  for (const name of ["a", "b"]) {
    await world.plugin(name, hook("pre_tool"), {
      "h.sh": script(`echo '{"updatedInput":{"by":"${name}"}}'`),
    });
  }
  const outcome = await fire(world, "pre_tool", "Write");
  assertEquals(outcome.updatedInput, { by: "a" });
  assertEquals(outcome.decision, undefined);
  assertStringIncludes(outcome.reports[1]?.failure ?? "", "not used");
});

Deno.test("fireHooks() lets a failing hook through visibly, or blocks when told", async () => {
  await using world = await World.create();
  await world.plugin("a", hook("pre_tool", "timeout_ms = 200"), {
    "h.sh": script("sleep 60"),
  });
  const open = await fire(world, "pre_tool", "Write");
  assertEquals(open.decision, undefined);
  assertEquals(open.reports[0]?.failure, "timed out after 200 ms");
  await world.plugin(
    "b",
    hook("pre_tool", 'on_error = "block"').replace("h.sh", "gone.sh"),
  );
  const closed = await fire(world, "pre_tool", "Write");
  assertEquals(closed.decision, "deny");
  assertStringIncludes(closed.reason ?? "", 'of plugin "b" failed: ');
});

Deno.test("fireHooks() matches exact names, and every tool with *", async () => {
  await using world = await World.create();
  await world.plugin("a", hook("post_tool", 'matcher = "Write | Edit"'), {
    "h.sh": script("true"),
  });
  await world.plugin("b", hook("PostToolUse", 'matcher = "*"'), {
    "h.sh": script("true"),
  });
  const fired = async (tool?: string): Promise<string[]> =>
    (await fire(world, "post_tool", tool)).reports.map((report) =>
      report.plugin
    );
  assertEquals(await fired("Write"), ["a", "b"]);
  assertEquals(await fired("Edit"), ["a", "b"]);
  assertEquals(await fired("WriteFile"), ["b"]);
  assertEquals(await fired(), ["b"]);
});

Deno.test("fireHooks() is ended by a signal", async () => {
  await using world = await World.create();
  await world.plugin("a", hook("stop"), { "h.sh": script("sleep 60") });
  const { hooks } = await world.load();
  const outcome = await fireHooks(hooks, "stop", {
    payload: {
      "session_id": "s",
      cwd: world.workspace,
      workspace: world.workspace,
    },
    signal: AbortSignal.abort(),
  });
  assertEquals(outcome.reports[0]?.failure, "cancelled");
});
