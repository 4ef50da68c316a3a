import { assert, assertEquals } from "@std/assert";
import { parseFrame } from "./frame.ts";
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
  const log = new FrameLog({ maxBytes: 100 });
  for (const size of [40, 40, 40, 500]) {
    log.push({ frame: { kind: "malformed" }, raw: "x".repeat(size) });
  }
  assertEquals([log.base, log.end, log.bytes], [3, 4, 500]);
  log.push({ frame: { kind: "malformed" }, raw: "y" });
  assertEquals([log.base, log.end, log.bytes], [4, 5, 1]);
});

Deno.test("FrameLog.since() stops at its limit and gives one frame at least", () => {
  const log = filled(5);
  assertEquals(log.since(0, { maxFrames: 2 }).next, 2);
  assertEquals(log.since(0, { maxFrames: 2 }).more, true);
  assertEquals(
    log.since(1, { maxBytes: 0 }).entries.map((entry) => entry.raw),
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

Deno.test("FrameLog reads frames again that it keeps as bytes", () => {
  const log = new FrameLog({ maxFrames: 50, maxBytes: 4000 });
  let seed = 3;
  const next = (below: number) =>
    (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  const all: string[] = [];
  for (let at = 0; at < 5000; at++) {
    if (next(20) === 0) log.begin();
    const raw = JSON.stringify({
      type: "assistant",
      message: { content: `${at} é😀 ${"x".repeat(next(200))}` },
    });
    all.push(raw);
    // Some frames cannot be read again and are kept as they are, some are too long for the ring.
    const long = next(50) === 0 ? "y".repeat(next(6000)) : "";
    if (next(7) === 0 || long !== "") {
      log.push({ frame: { kind: "malformed", head: raw }, raw: raw + long });
    } else {log.push({
        frame: parseFrame(raw),
        raw,
        bytes: new TextEncoder().encode(raw),
      });}
    assert(log.end - log.base <= 50);
    assert(
      log.bytes <= 4000 || log.end - log.base === 1,
      `${at}: ${log.bytes}`,
    );
    const cursor = Math.max(0, log.end - 1 - next(60));
    const slice = log.since(cursor);
    assertEquals([slice.next, slice.gap], [at + 1, cursor < log.base]);
    for (const [index, entry] of slice.entries.entries()) {
      const expected = all[slice.from + index] ?? "";
      assert(entry.raw.startsWith(expected));
      if (entry.frame.kind === "malformed") {
        assertEquals(entry.frame.head, expected);
      } else assertEquals(entry.frame, parseFrame(expected));
    }
  }
});

Deno.test("FrameLog keeps frames of both kinds until a bound is reached", () => {
  const log = new FrameLog({ maxFrames: 10 });
  const line = {
    frame: parseFrame("{}"),
    raw: "{}",
    bytes: new TextEncoder().encode("{}"),
  };
  const whole = { frame: parseFrame("x"), raw: "x" };
  for (const entry of [whole, whole, line, whole, line]) log.push(entry);
  log.begin();
  assertEquals([
    log.base,
    log.since(0).entries.map((entry) => entry.raw).join(),
  ], [0, "x,x,{},x,{}"]);
  for (let at = 0; at < 8; at++) log.push(line);
  log.begin();
  assertEquals([
    log.base,
    log.since(0).entries.map((entry) => entry.raw).join(""),
  ], [3, "x" + "{}".repeat(9)]);
});
