import { assertEquals, assertThrows } from "@std/assert";
import type { OpenAsk } from "../asks.ts";
import { UsageError } from "@bulkhead/sandbox/command";
import {
  answerWords,
  approvalOf,
  chosenAnswer,
  questionsOf,
  withAnswers,
} from "./questions.ts";

/** An ask with one question. */
function asking(options: string[], multiSelect = false) {
  const input = { questions: [{ question: "Which?", options, multiSelect }] };
  return open("AskUserQuestion", input);
}

function open(tool: string, input: unknown): OpenAsk {
  return { id: "q", tool_name: tool, input, opened_at: 0, expires_at: null };
}

/** What an answer tells the agent. */
function told(answer: { updatedInput?: unknown }): unknown {
  return Object.entries(answer.updatedInput ?? {})
    .find(([name]) => name === "answers")?.[1];
}

Deno.test("chosenAnswer() takes an option by text or number, and nothing else unless told", () => {
  const ask = asking(["Yes, go on", "no"]);
  assertEquals(told(chosenAnswer(ask, ["2"])), { "Which?": "no" });
  assertEquals(told(chosenAnswer(ask, ["NO"])), { "Which?": "no" });
  assertThrows(
    () => chosenAnswer(ask, ["maybe"]),
    UsageError,
    `"maybe": the options are 1) "Yes, go on", 2) "no"`,
  );
  assertThrows(() => chosenAnswer(ask, ["0"]), UsageError);
  assertThrows(() => chosenAnswer(ask, ["a", "b"]), UsageError, "Which?");
  assertEquals(told(chosenAnswer(ask, ["maybe"], true)), { "Which?": "maybe" });
  assertEquals(told(chosenAnswer(asking([]), ["x y"])), { "Which?": "x y" });
  assertEquals(
    told(chosenAnswer(asking(["a", "b", "c"], true), ["3, a"])),
    { "Which?": "c, a" },
  );
});

Deno.test("approvalOf() says yes to a call, and to a question the option that says yes", () => {
  const call = open("Bash", { command: "ls" });
  assertEquals(approvalOf(call), { answer: { decision: "allow" } });
  assertEquals(approvalOf(asking(["no", "yes"])).chose, "yes");
  assertEquals(approvalOf(asking(["red", "blue"])).chose, "red");
  assertEquals(approvalOf(asking([])).answer.decision, "deny");
});

Deno.test("answerWords() can be pasted, and names what else there is", () => {
  assertEquals(answerWords(asking(["yes", "it's"])), `'yes' (or: 'it'\\''s')`);
  assertEquals(answerWords(asking([])), "TEXT");
  assertEquals(answerWords(open("Bash", {})), "allow (or: deny)");
  const two = [{ question: "A?", options: ["a"] }, {
    question: "B?",
    options: ["b", "c"],
  }];
  const both = open("AskUserQuestion", { questions: two });
  assertEquals(answerWords(both), "'a' 'b'");
});

Deno.test("questionsOf() reads choices and shrugs at other shapes", () => {
  const input = {
    questions: [
      { question: "Which?", options: [{ label: "a" }, "b", 3] },
      { question: 7 },
    ],
  };
  assertEquals(questionsOf(input), [
    { text: "Which?", options: ["a", "b"], several: false },
  ]);
  assertEquals(questionsOf({ questions: "x" }), []);
  assertEquals(questionsOf(null), []);
  assertEquals(withAnswers(input, { "Which?": "a" }), {
    ...input,
    answers: { "Which?": "a" },
  });
});
