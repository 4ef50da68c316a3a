import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Decider, ToolCall, Verdict } from "./agents/driver.ts";
import {
  answerOf,
  askResponse,
  controlError,
  hookAnswer,
  Judge,
} from "./gate.ts";

const call = (fields: Partial<ToolCall> = {}): ToolCall => ({
  toolName: "Write",
  input: {},
  cwd: "/w",
  ...fields,
});
const always = (name: string, verdict: Verdict | null): Decider => ({
  name,
  decide: () => verdict,
});

Deno.test("askResponse() has the exact nested form of an allow", () => {
  assertEquals(
    askResponse("r1", { decision: "allow" }, '{"file_path":"a"}'),
    '{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":{"file_path":"a"}}}}',
  );
  assertStringIncludes(
    askResponse("r1", { decision: "allow", updatedInput: { b: 1 } }, "{}"),
    '"updatedInput":{"b":1}',
  );
  assertStringIncludes(
    askResponse("r1", { decision: "allow" }, "null"),
    '"updatedInput":null',
  );
});

Deno.test("askResponse() carries the reason of a deny", () => {
  assertEquals(
    askResponse("r1", { decision: "deny", reason: "why" }, "{}"),
    '{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"deny","message":"why"}}}',
  );
  assertStringIncludes(
    askResponse("r1", { decision: "deny", interrupt: true }, "{}"),
    '"interrupt":true',
  );
});

Deno.test("controlError() uses the error subtype", () => {
  assertEquals(
    controlError("r1", "why"),
    '{"type":"control_response","response":{"subtype":"error","request_id":"r1","error":"why"}}',
  );
});

Deno.test("hookAnswer() is deny, ask or nothing, and never an error", () => {
  assertEquals(hookAnswer({ decision: "allow" }), {});
  assertEquals(hookAnswer({ decision: "undecided", reason: "x" }), {});
  assertEquals(hookAnswer({ decision: "deny", reason: "no" }), {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "no",
    },
  });
  assertEquals(hookAnswer({ decision: "ask", reason: "who" }), {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "ask",
      permissionDecisionReason: "who",
    },
  });
  assertEquals(hookAnswer({ decision: "allow", updatedInput: {} }), {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "ask",
    },
  });
  assertEquals(
    hookAnswer({ decision: "undecided", additionalContext: "hint" }),
    {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        additionalContext: "hint",
      },
    },
  );
});

Deno.test("Judge: the first deny is final, after that the strictest wins", async () => {
  const decide = async (...deciders: Decider[]) =>
    (await new Judge(deciders).judge(call())).decision;
  const allow = always("allow", { decision: "allow" });
  const ask = always("ask", { decision: "ask", reason: "r" });
  const open = always("open", { decision: "undecided" });
  const deny = always("deny", { decision: "deny" });
  const none = always("none", null);
  assertEquals(await decide(), "undecided");
  assertEquals(await decide(none), "undecided");
  assertEquals(await decide(none, allow), "allow");
  assertEquals(await decide(open, allow), "undecided");
  assertEquals(await decide(allow, ask), "ask");
  assertEquals(await decide(ask, allow, open), "ask");
  assertEquals(await decide(allow, deny), "deny");
  let asked = false;
  await decide(deny, { name: "after", decide: () => (asked = true, null) });
  assertEquals(asked, false);
});

Deno.test("Judge: a decider that throws or rejects is a deny that names it", async () => {
  const thrower: Decider = {
    name: "guard",
    decide: () => {
      throw new Error("boom");
    },
  };
  const rejecter: Decider = {
    name: "hook",
    decide: () => Promise.reject(new Error("bang")),
  };
  const first = await new Judge([thrower]).judge(call());
  assertEquals(first, {
    decision: "deny",
    reason: 'Cannot judge the call: "guard" failed: boom',
    by: "guard",
  });
  assertEquals((await new Judge([rejecter]).judge(call())).decision, "deny");
});

Deno.test("Judge: plain deciders answer at once, a promise makes the rest wait in order", async () => {
  const seen: string[] = [];
  const plain = (name: string): Decider => ({
    name,
    decide: () => (seen.push(name), null),
  });
  const slow: Decider = {
    name: "slow",
    decide: async () => {
      await Promise.resolve();
      seen.push("slow");
      return { decision: "allow" };
    },
  };
  assert(!(new Judge([plain("a")]).judge(call()) instanceof Promise));
  const verdict = await new Judge([plain("b"), slow, plain("c")]).judge(call());
  assertEquals([verdict.decision, verdict.by, ...seen], [
    "allow",
    "slow",
    "a",
    "b",
    "slow",
    "c",
  ]);
});

Deno.test("Judge: changed arguments are judged again before they count", async () => {
  const guard: Decider = {
    name: "guard",
    decide: (seen) =>
      JSON.stringify(seen.input).includes("/etc")
        ? { decision: "deny", reason: "outside" }
        : null,
  };
  const rewriter = always("hook", {
    decision: "allow",
    updatedInput: { file_path: "/etc/passwd" },
  });
  const denied = await new Judge([guard, rewriter]).judge(call());
  assertEquals([denied.decision, denied.reason], [
    "deny",
    "outside (the call as hook changed it)",
  ]);
  const harmless = always("hook", {
    decision: "allow",
    updatedInput: { file_path: "b" },
  });
  const verdict = await new Judge([guard, harmless]).judge(call());
  assertEquals([verdict.decision, verdict.updatedInput, verdict.updatedBy], [
    "allow",
    { file_path: "b" },
    "hook",
  ]);
});

Deno.test("Judge.recall() gives the verdict of the same call once, and judges anew what has changed", async () => {
  let rounds = 0;
  const judge = new Judge([{
    name: "count",
    decide: () => (rounds++, { decision: "allow" }),
  }]);
  const first = call({ toolUseId: "t1", input: { a: 1 } });
  await judge.judge(first);
  await judge.recall({ ...first, input: { a: 1 } });
  assertEquals(rounds, 1);
  await judge.recall(first);
  assertEquals(rounds, 2);
  await judge.judge(call({ toolUseId: "t2", input: { a: 1 } }));
  await judge.recall(call({ toolUseId: "t2", input: { a: 2 } }));
  assertEquals(rounds, 4);
});

Deno.test("Judge.recall() hears the agent that works outside the directory", async () => {
  const judge = new Judge([{
    name: "posture",
    decide: (seen) => ({
      decision: seen.reasonType === "workingDir" ? "deny" : "allow",
    }),
  }]);
  const first = call({ toolUseId: "t" });
  assertEquals((await judge.judge(first)).decision, "allow");
  assertEquals(
    (await judge.recall({ ...first, reasonType: "workingDir" })).decision,
    "deny",
  );
});

Deno.test("Judge tells each verdict once", async () => {
  const told: string[] = [];
  const judge = new Judge(
    [always("a", { decision: "deny" })],
    (seen, verdict) => told.push(`${seen.toolUseId} ${verdict.by}`),
  );
  await judge.judge(call({ toolUseId: "t" }));
  await judge.recall(call({ toolUseId: "t" }));
  assertEquals(told, ["t a"]);
});

Deno.test("answerOf() leaves to a person what is open", () => {
  assertEquals(answerOf({ decision: "undecided" }), undefined);
  assertEquals(answerOf({ decision: "ask" }), undefined);
  assertEquals(answerOf({ decision: "deny", reason: "x" }), {
    decision: "deny",
    reason: "x",
  });
  assertEquals(answerOf({ decision: "allow", updatedInput: 1 }), {
    decision: "allow",
    updatedInput: 1,
  });
});
