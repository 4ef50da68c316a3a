import { assert, assertEquals, assertThrows } from "@std/assert";
import { encodeText } from "./memory.ts";
import { emptyRegistration } from "./registration.ts";
import {
  readCode,
  readDispatch,
  readKind,
  readRegistration,
  readStats,
} from "./wire.ts";

const bytes = (value: unknown) => encodeText(JSON.stringify(value));

Deno.test("readRegistration() keeps what has the right shape and drops the rest", () => {
  for (const value of [null, 5, "x", [], {}, { tools: 5, events: {} }]) {
    assertEquals(readRegistration(bytes(value)), emptyRegistration());
  }
  const read = readRegistration(bytes({
    tools: [{ name: "t", description: 5 }, "no", null],
    renderers: [{ kind: "nonsense", name: "r" }],
    events: [2, "3", null],
    oauth: [{ id: "o", manifest: "none" }],
    platforms: ["linux", 5],
    priority: "high",
    discover: "many",
    diagnostics: [{}, "line"],
  }));
  assertEquals(read.tools, [
    { name: "t", description: "", parameters: "{}" },
  ]);
  assertEquals(read.renderers, [{ kind: "message", name: "r" }]);
  assertEquals([read.events, read.platforms, read.priority, read.discover], [
    [2],
    ["linux"],
    100,
    0,
  ]);
  assertEquals(read.oauth, [{ id: "o", manifest: {} }]);
  assertEquals(read.diagnostics, ["line"]);
  assertThrows(() => readRegistration(encodeText("{")), SyntaxError);
});

Deno.test("readStats() gives a number for every counter, whatever came", () => {
  const none = readStats(bytes(null));
  const { hostStrings, ...counters } = none;
  for (
    const value of [...Object.values(counters), ...Object.values(hostStrings)]
  ) {
    assertEquals(value, 0);
  }
  assert(Object.keys(counters).length >= 15);
  const some = readStats(
    bytes({ calls: 3, rssBytes: "big", hostStrings: { given: 2 } }),
  );
  assertEquals([some.calls, some.rssBytes, some.hostStrings.given], [3, 0, 2]);
});

Deno.test("what a child answers is one of the known words", () => {
  assertEquals([readKind("done"), readKind("nonsense"), readKind({})], [
    "done",
    "bad_tag",
    "bad_tag",
  ]);
  // A child cannot claim that it was closed, or that somebody else gave up.
  assertEquals(["open", "closed", "aborted", 5].map(readCode), [
    "open",
    "protocol",
    "protocol",
    "protocol",
  ]);
  assertEquals(
    readDispatch({
      t: "x",
      verdict: "maybe",
      failed: [5, [1, "2"]],
      late: "no",
    }),
    { verdict: "continue", failed: [[0, 0], [1, 0]], late: [] },
  );
});
