import { assertEquals, assertStringIncludes } from "@std/assert";
import type { AskAnswer } from "../agents/driver.ts";
import { TerminalAnswers } from "./terminal.ts";

/** Puts one question with two options and types lines. */
async function typed(...lines: string[]) {
  let shown = "";
  const { promise, resolve } = Promise.withResolvers<AskAnswer>();
  const person = new TerminalAnswers({
    io: { out: (text) => void (shown += text), color: false },
    readLine: () => Promise.resolve(lines.shift()),
    answer: (_id, answer) => (resolve(answer), true),
    describe: String,
  });
  const input = {
    questions: [{ question: "Go on?", options: ["yes", "no"] }],
  };
  person.asked([{
    id: "q",
    ["tool_name"]: "AskUserQuestion",
    input,
    ["opened_at"]: 0,
    ["expires_at"]: null,
  }]);
  const answer = await promise;
  const told = Object.entries(answer.updatedInput ?? {})
    .find(([name]) => name === "answers")?.[1];
  return { shown, answer, told };
}

Deno.test("TerminalAnswers takes an option by text or number, and asks again for anything else", async () => {
  assertEquals((await typed("2")).told, { "Go on?": "no" });
  assertEquals((await typed("YES")).told, { "Go on?": "yes" });
  const again = await typed("y", "3", "1");
  assertEquals(again.told, { "Go on?": "yes" });
  assertEquals(again.shown.split("None of the options").length, 3);
  assertStringIncludes(again.shown, "words of your own go behind a colon");
  assertEquals((await typed(": later, maybe")).told, {
    "Go on?": "later, maybe",
  });
});

Deno.test("TerminalAnswers denies without an answer", async () => {
  for (const lines of [[""], ["maybe", ""], []]) {
    assertEquals((await typed(...lines)).answer, {
      decision: "deny",
      reason: "the person gave no answer",
    });
  }
});
