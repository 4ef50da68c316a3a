import { assertEquals } from "@std/assert";
import { FrameLog } from "./frame_log.ts";

function filled(count: number, options = {}): FrameLog {
  const log = new FrameLog(options);
  for (let at = 0; at < count; at++) {
    log.push({ frame: { kind: "malformed" }, raw: String(at) });
  }
  return log;
}

Deno.test("FrameLog.since() tells a gap after an overflow", () => {
  const slice = filled(4106).since(0);
  assertEquals([slice.gap, slice.next, slice.entries.length, slice.from], [
    true,
    4106,
    4096,
    10,
  ]);
  assertEquals(slice.entries[0]?.raw, "10");
});

Deno.test("FrameLog.since() gives the frames behind a cursor without a gap", () => {
  const log = filled(10);
  assertEquals([
    log.since(4).entries.length,
    log.since(4).next,
    log.since(4).gap,
  ], [6, 10, false]);
  assertEquals([log.since(10).entries.length, log.since(10).gap], [0, false]);
  assertEquals([
    log.since(15).entries.length,
    log.since(15).next,
    log.since(15).gap,
  ], [0, 10, false]);
  assertEquals(log.since(Number.MAX_SAFE_INTEGER).next, 10);
});

Deno.test("FrameLog.since() does not consume", () => {
  const log = filled(3);
  assertEquals(log.since(0), log.since(0));
});

Deno.test("FrameLog keeps within its size and never drops the newest frame", () => {
  const log = new FrameLog({ maxChars: 100 });
  for (const size of [40, 40, 40, 500]) {
    log.push({ frame: { kind: "malformed" }, raw: "x".repeat(size) });
  }
  assertEquals([log.base, log.end, log.chars], [3, 4, 500]);
  log.push({ frame: { kind: "malformed" }, raw: "y" });
  assertEquals([log.base, log.end, log.chars], [4, 5, 1]);
});

Deno.test("FrameLog.since() stops at its limit and gives one frame at least", () => {
  const log = filled(5);
  assertEquals(log.since(0, { maxFrames: 2 }).next, 2);
  assertEquals(log.since(0, { maxFrames: 2 }).more, true);
  assertEquals(
    log.since(1, { maxChars: 0 }).entries.map((entry) => entry.raw),
    ["1"],
  );
});

Deno.test("FrameLog keeps counting when its ring has turned many times", () => {
  const log = filled(1000, { maxFrames: 3 });
  assertEquals(log.since(998).entries.map((entry) => entry.raw), [
    "998",
    "999",
  ]);
  assertEquals(log.since(5).from, 997);
});
