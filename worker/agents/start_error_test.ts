import { assertEquals } from "@std/assert";
import { AgentStartError, lastWords } from "./start_error.ts";

Deno.test("lastWords() is the last thing a program has said, no stack and no warning", () => {
  for (
    const [text, words] of [
      ["one\ntwo\n", "two"],
      ["Error: no\n    at x.ts:1\nBun v1.2", "Error: no"],
      ["\x1b[31mred\x1b[0m", "red"],
      ["Error: no\nWARNING: proceeding, even though\n", "Error: no"],
      ["WARNING: proceeding\nwarn: x\n", ""],
      ["Warnings are on\n", "Warnings are on"],
      ["", ""],
    ]
  ) assertEquals(lastWords(text ?? ""), words, text);
});

Deno.test("AgentStartError: a warning is not given as the reason", () => {
  const error = new AgentStartError("codex", 'run "codex login"', {
    code: null,
    signal: "SIGTERM",
    stderrTail: "WARNING: proceeding",
    by: "term",
  });
  assertEquals(
    error.message,
    'Cannot start the agent "codex": run "codex login"',
  );
});
