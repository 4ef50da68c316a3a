import { assertEquals } from "@std/assert";
import { eventOrder, EventQueue, eventRule } from "./events.ts";
import { EVENT_NAMES } from "./codes.ts";

Deno.test("eventRule() gives budgets and the meaning of a veto", () => {
  const rule = (name: typeof EVENT_NAMES[number]) => {
    const { mode, budgetMs, veto } = eventRule(name);
    return `${mode} ${budgetMs} ${veto}`;
  };
  assertEquals(rule("BeforeTuiStart"), "lifecycle 5000 exit");
  assertEquals(rule("SessionStart"), "lifecycle 10000 advisory");
  assertEquals(rule("SessionShutdown"), "lifecycle 15000 ignored");
  assertEquals(rule("Input"), "arbitrate 50 ignored");
  assertEquals(
    EVENT_NAMES.filter((name) => eventRule(name).mode === "observe").length,
    33,
  );
  assertEquals(eventRule("SessionBeforeFork", "lifecycle"), {
    mode: "lifecycle",
    budgetMs: 10_000,
    veto: "stop",
  });
  assertEquals(eventRule("BeforeTuiStart", "observe").mode, "observe");
});

Deno.test("eventOrder() sorts by priority, then by loading, and leaves other platforms out", () => {
  const plugin = (
    name: string,
    priority: number,
    platforms: string[] = [],
    events = [2],
  ) => ({
    name,
    registration: { priority, platforms, events },
  });
  const plugins = [
    plugin("a", 100),
    plugin("b", 5),
    plugin("c", 100),
    plugin("d", -1, ["windows"]),
    plugin("e", 0, [], [3]),
    plugin("f", 5),
  ];
  const { run, skipped } = eventOrder(plugins, "SessionStart", "linux");
  assertEquals(run.map((p) => p.name), ["b", "f", "a", "c"]);
  assertEquals(skipped.map((p) => p.name), ["d"]);
});

Deno.test("EventQueue drops progress first, then the oldest", () => {
  const queue = new EventQueue<{ type: typeof EVENT_NAMES[number]; n: number }>(
    3,
  );
  queue.push({ type: "TurnStart", n: 1 });
  queue.push({ type: "MessageUpdate", n: 2 });
  queue.push({ type: "TurnEnd", n: 3 });
  queue.push({ type: "AgentEnd", n: 4 });
  queue.push({ type: "MessageUpdate", n: 5 });
  queue.push({ type: "TurnStart", n: 6 });
  const left: number[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
    left.push(item.n);
  }
  assertEquals([left, queue.dropped, queue.size], [[3, 4, 6], 3, 0]);
});
