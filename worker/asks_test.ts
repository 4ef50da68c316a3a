import { assertEquals } from "@std/assert";
import { AskBook } from "./asks.ts";
import { parseFrame } from "./frame.ts";

function book(timeoutMs: number) {
  const told: string[] = [];
  const settled = Promise.withResolvers<void>();
  const asks = new AskBook(timeoutMs, {
    opened: (ask) => told.push(`opened ${ask.id}`),
    settled: (ask, end, answer) => {
      told.push(
        `${end} ${ask.id}${answer === undefined ? "" : ` ${answer.decision}`}`,
      );
      if (asks.size === 0) settled.resolve();
    },
  });
  const hold = (id: string) => {
    const frame = parseFrame(
      JSON.stringify({
        type: "control_request",
        request_id: id,
        request: { subtype: "can_use_tool", tool_name: "W" },
      }),
    );
    if (frame.kind === "control_request") asks.hold(frame, "why");
  };
  return { asks, told, hold, settled: settled.promise };
}

Deno.test("AskBook holds questions until they are answered, once", () => {
  const { asks, told, hold } = book(0);
  hold("a");
  hold("b");
  assertEquals(asks.open.map((ask) => [ask.id, ask.reason, ask.expires_at]), [[
    "a",
    "why",
    null,
  ], ["b", "why", null]]);
  assertEquals(asks.answer("a", { decision: "allow" }), true);
  assertEquals(asks.answer("a", { decision: "deny" }), false);
  asks.withdraw("b");
  asks.withdraw("b");
  assertEquals(told, [
    "opened a",
    "opened b",
    "answered a allow",
    "withdrawn b",
  ]);
});

Deno.test("AskBook denies what nobody answers in time, and leaves no timer behind", async () => {
  const { asks, told, hold, settled } = book(20);
  hold("a");
  assertEquals(typeof asks.open[0]?.expires_at, "number");
  hold("b");
  asks.answer("b", { decision: "allow" });
  await settled;
  assertEquals(told, [
    "opened a",
    "opened b",
    "answered b allow",
    "expired a deny",
  ]);
});
