import { assertEquals } from "@std/assert";
import { type Frame, parseFrame } from "./frame.ts";
import { TurnLedger } from "./turns.ts";

const frame = (value: object): Frame => parseFrame(JSON.stringify(value));
const echo = (uuid: string, text = "x") =>
  frame({
    type: "user",
    isReplay: true,
    uuid,
    message: { content: [{ type: "text", text }] },
  });
const result = (fields: object = {}) =>
  frame({ type: "result", subtype: "success", result: "r", ...fields });
const told = (state: string) =>
  frame({ type: "system", subtype: "session_state_changed", state });

Deno.test("TurnLedger gives a result to the turns that were echoed before it", () => {
  const turns = new TurnLedger({ replays: true });
  for (const id of ["a", "b", "c"]) turns.written(id, true);
  turns.apply(echo("a"));
  turns.apply(echo("b"));
  assertEquals([turns.pending, turns.undelivered], [3, 1]);
  assertEquals(turns.apply(result())?.turns, ["a", "b"]);
  assertEquals([turns.phase("a"), turns.phase("c"), turns.phase("d")], [
    "done",
    "written",
    undefined,
  ]);
});

Deno.test("TurnLedger does not take a result for a turn that has not begun", () => {
  const turns = new TurnLedger({ replays: true });
  turns.written("a", true);
  assertEquals(turns.apply(result())?.selfStarted, true);
  assertEquals(turns.phase("a"), "written");
});

Deno.test("TurnLedger goes by order with an agent that does not echo", () => {
  const turns = new TurnLedger();
  turns.written("turn-1", false);
  turns.written("turn-2", false);
  turns.apply(frame({ type: "user", message: { role: "user" } }));
  assertEquals(turns.apply(result())?.turns, ["turn-1"]);
  assertEquals(turns.apply(result())?.turns, ["turn-2"]);
  assertEquals(turns.apply(result())?.turns, []);
});

Deno.test("TurnLedger does not give a turn that started by itself to one that waits", () => {
  const turns = new TurnLedger();
  turns.written("turn-1", false);
  const own = result({ origin: { kind: "task-notification" } });
  assertEquals(turns.apply(own)?.selfStarted, true);
  assertEquals(turns.apply(result())?.turns, ["turn-1"]);
});

Deno.test("TurnLedger goes by order with an agent that echoes ids of its own", () => {
  const turns = new TurnLedger();
  turns.written("turn-1", false);
  turns.written("turn-2", false);
  turns.apply(echo("its-own-1"));
  assertEquals(turns.apply(result())?.turns, ["turn-1"]);
  assertEquals(turns.apply(result())?.turns, []);
  turns.apply(echo("its-own-2"));
  assertEquals(turns.apply(result())?.turns, ["turn-2"]);
});

Deno.test("TurnLedger takes an echo at rest for a turn that the agent knew", () => {
  const turns = new TurnLedger({ replays: true, tellsState: true });
  turns.written("a", true);
  assertEquals(turns.apply(echo("a"))?.outcome, "duplicate");
  turns.written("b", true);
  turns.apply(told("running"));
  assertEquals(turns.apply(echo("b")), undefined);
  turns.apply(result());
  turns.apply(told("idle"));
  turns.written("c", true);
  assertEquals(turns.apply(echo("c"))?.outcome, "duplicate");
  assertEquals(turns.pending, 0);
});

Deno.test("TurnLedger does not take local commands for turns", () => {
  const turns = new TurnLedger({ replays: true });
  turns.written("turn-1", false);
  turns.apply(
    echo("u", "<local-command-stdout>Set model</local-command-stdout>"),
  );
  assertEquals(turns.phase("turn-1"), "written");
});

Deno.test("TurnLedger reckons the cost of each turn from the running total", () => {
  const turns = new TurnLedger();
  const cost = (total: number) =>
    turns.apply(result({ total_cost_usd: total }))?.costUsd;
  assertEquals([cost(1), cost(3), cost(3), cost(0.5)], [1, 2, 0, 0.5]);
  assertEquals(turns.apply(result())?.costUsd, null);
  assertEquals(turns.totalCostUsd, 0.5);
});

Deno.test("TurnLedger tells outcomes apart", () => {
  const outcome = (fields: object) =>
    new TurnLedger().apply(result(fields))?.outcome;
  assertEquals(outcome({}), "completed");
  assertEquals(outcome({ is_error: true }), "error");
  assertEquals(outcome({ subtype: "error_during_execution" }), "error");
  assertEquals(
    outcome({
      subtype: "error_during_execution",
      terminal_reason: "aborted_tools",
    }),
    "aborted",
  );
  assertEquals(
    outcome({ subtype: "error_max_turns", is_error: true }),
    "max_turns",
  );
});

Deno.test("TurnLedger lists a denied call once and starts anew with each turn", () => {
  const turns = new TurnLedger();
  turns.denied({ tool: "Write", toolUseId: "t1", reason: "no" });
  turns.denied({ tool: "Write", toolUseId: "t1" });
  const denials = [{ tool_name: "Write", tool_use_id: "t1" }, {
    tool_name: "Bash",
    tool_use_id: "t2",
  }];
  assertEquals(turns.apply(result({ permission_denials: denials }))?.denied, [
    { tool: "Write", toolUseId: "t1", reason: "no" },
    { tool: "Bash", toolUseId: "t2" },
  ]);
  assertEquals(turns.apply(result())?.denied, []);
});

Deno.test("TurnLedger keeps a subagent's text out of the reply", () => {
  const turns = new TurnLedger();
  turns.apply(frame({ type: "assistant", message: { content: "main " } }));
  turns.apply(
    frame({
      type: "assistant",
      parent_tool_use_id: "t",
      message: { content: "sub" },
    }),
  );
  turns.apply(frame({ type: "assistant", message: { content: "text" } }));
  assertEquals(turns.apply(result({ result: undefined }))?.text, "main text");
});

Deno.test("TurnLedger: what is open when the agent ends is lost", () => {
  const turns = new TurnLedger({ replays: true });
  assertEquals(turns.ended(), undefined);
  turns.written("a", true);
  assertEquals([turns.ended()?.outcome, turns.outcome("a")?.outcome], [
    "lost",
    "lost",
  ]);
});

Deno.test("TurnLedger remembers so many turns and no more", () => {
  const turns = new TurnLedger({ remember: 2 });
  for (const id of ["a", "b", "c"]) {
    turns.written(id, false);
    turns.apply(result());
  }
  assertEquals([turns.phase("a"), turns.phase("b"), turns.phase("c")], [
    undefined,
    "done",
    "done",
  ]);
});

Deno.test("TurnLedger gives the result of a local command to its turn, which is never echoed", () => {
  const local = (fields: object = {}) => result({ num_turns: 0, ...fields });
  const turns = new TurnLedger({ replays: true, tellsState: true });
  turns.written("plain", true);
  turns.written("/cost", true, true);
  turns.written("/context", true, true);
  assertEquals(turns.apply(local({ origin: { kind: "cron" } }))?.turns, []);
  assertEquals(turns.apply(local({ is_error: true }))?.turns, []);
  assertEquals(turns.apply(result({ num_turns: 1 }))?.turns, []);
  turns.apply(told("running"));
  turns.apply(echo("plain"));
  assertEquals(turns.apply(local())?.turns, ["plain"]);
  assertEquals(turns.apply(local())?.turns, ["/cost"]);
  assertEquals(turns.apply(local())?.turns, ["/context"]);
  turns.written("plain 2", true);
  assertEquals(turns.apply(local())?.turns, []);
  assertEquals(turns.pending, 1);
});

Deno.test("TurnLedger tells what to do where the agent's own words do not help", () => {
  const words = "Not logged in · Please run /login";
  assertEquals(
    new TurnLedger().apply(result({ is_error: true, result: words }))?.errors,
    [words, 'start "claude" and type /login, or set ANTHROPIC_API_KEY'],
  );
  assertEquals(
    new TurnLedger().apply(result({ is_error: true, result: "no" }))?.errors,
    ["no"],
  );
  assertEquals(new TurnLedger().apply(result({ result: words }))?.errors, []);
});
