import { assertEquals } from "@std/assert";
import { questionsOf, withAnswers } from "./questions.ts";

Deno.test("questionsOf() reads choices and shrugs at other shapes", () => {
  const input = {
    questions: [
      { question: "Which?", options: [{ label: "a" }, "b", 3] },
      { question: 7 },
    ],
  };
  assertEquals(questionsOf(input), [{ text: "Which?", options: ["a", "b"] }]);
  assertEquals(questionsOf({ questions: "x" }), []);
  assertEquals(questionsOf(null), []);
  assertEquals(withAnswers(input, { "Which?": "a" }), {
    ...input,
    answers: { "Which?": "a" },
  });
});
