import { assertEquals, assertThrows } from "@std/assert";
import { callResult, handlerAnswer, RESTARTING } from "./answers.ts";
import { AbiError } from "./errors.ts";
import type { CallOutcome } from "./poll_driver.ts";

Deno.test("handlerAnswer() gives JSON as a value and anything else as it stands", () => {
  const answer = (text: string) =>
    handlerAnswer("p", "command", { rc: 0, text });
  assertEquals(
    ["", "null", "0", '""', '{"a":[1]}', "plain", "[1"].map(answer),
    [null, null, 0, "", { a: [1] }, "plain", "[1"],
  );
  for (
    const [text, words] of [
      ['{"error":"no such model"}', "failed with code 4: no such model"],
      ['{"error":5}', 'failed with code 4: {"error":5}'],
      ["", 'The command of plugin "p" failed with code 4'],
    ] as const
  ) {
    const error = assertThrows(
      () => handlerAnswer("p", "command", { rc: 4, text }),
      AbiError,
      words,
    );
    assertEquals([error.code, error.exitCode], ["handler", 4]);
  }
});

Deno.test("callResult() tells apart who ended a call", () => {
  const outcome = (more: Partial<CallOutcome>): CallOutcome => ({
    kind: "done",
    text: "x",
    cancelled: false,
    ignoredCancel: false,
    ...more,
  });
  const code = (more: Partial<CallOutcome>, timedOutMs?: number) => {
    try {
      callResult("p", "t", outcome(more), timedOutMs, 2_000);
      return "none";
    } catch (error) {
      return error instanceof AbiError ? error.code : "another error";
    }
  };
  // A result that came after the cancel is a result.
  assertEquals(code({ cancelled: true }, 50), "none");
  assertEquals(code({ kind: "error" }), "tool");
  assertEquals(code({ kind: "error", cancelled: true }), "aborted");
  assertEquals(code({ kind: "error", cancelled: true }, 50), "timeout");
  assertEquals(code({ kind: "null_handle", text: "" }), "tool");
  assertEquals(code({ kind: "bad_tag" }), "protocol");
  assertThrows(
    () =>
      callResult(
        "p",
        "t",
        outcome({ kind: "cancelled", ignoredCancel: true, cancelled: true }),
        undefined,
        2_000,
      ),
    AbiError,
    "was cancelled by the host and ignored cancel for 2000 ms",
  );
  assertThrows(
    () => callResult("p", "t", RESTARTING, 50, 2_000),
    AbiError,
    "timed out after 50 ms: it was being started again",
  );
});
