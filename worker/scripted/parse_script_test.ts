import { assertEquals, assertThrows } from "@std/assert";
import { parseScript } from "./parse_script.ts";
import { ScriptError } from "./script.ts";

Deno.test("parseScript() gives back every field of a script and nothing else", () => {
  const script = {
    schema: 1 as const,
    name: "all",
    turns: [{
      match: "go",
      steps: [
        { say: "a", chunk: 2, delayMs: 1 },
        { think: "b" },
        {
          tool: "Task",
          input: { prompt: "p" },
          result: { content: "c", isError: true },
          steps: [{ say: "d" }],
          then: [{ say: "e" }],
        },
        { ask: "f", options: ["g"], header: "h" },
        { message: [{ say: "i" }] },
        { repeat: 2, steps: [{ waitMs: 1 }] },
        { cron: { afterMs: 1, steps: [] } },
        {
          end: {
            subtype: "success",
            isError: false,
            result: "r",
            errors: ["x"],
            terminalReason: "completed",
          },
        },
        { fault: { kind: "api_retry" as const, attempts: 1, status: null } },
        { fault: { kind: "raw" as const, hex: "0aFF" } },
        {
          fault: { kind: "grandchild" as const, seconds: 1, holdStdout: true },
        },
        { fault: { kind: "killed" as const } },
      ],
    }],
    otherwise: [{ say: "z" }],
    costUsd: 0.1,
    tokens: { input: 1, output: 2 },
    maxTurns: 3,
    ignoreTerm: true,
    ignoreEof: false,
  };
  assertEquals(parseScript({ ...script, comment: "left out" }), script);
});

Deno.test("parseScript() names the place of what is wrong, fields that may be absent too", () => {
  const step = (value: unknown) => ({ schema: 1, turns: [{ steps: [value] }] });
  for (
    const [value, place] of [
      [{}, '"schema" is missing'],
      [{ schema: 1 }, '"turns" is missing'],
      [step({ say: "a", chunk: "4" }), 'turns[0].steps[0]: "chunk" is "4"'],
      [step({ say: "a", delayMs: -1 }), '"delayMs" is -1'],
      [step({ ask: "a", options: [1] }), '"options" is 1'],
      [step({ ask: "a", header: {} }), '"header" is {}'],
      [
        step({ tool: "T", result: { content: "c", isError: 1 } }),
        'steps[0].result: "isError" is 1, want true or false',
      ],
      [step({ end: { errors: "x" } }), 'steps[0].end: "errors" is "x"'],
      [step({ fault: { kind: "toString" } }), '"kind" is "toString"'],
      [step({ fault: { kind: "silence", ms: null } }), '"ms" is null'],
      [step({ fault: { kind: "raw", hex: "0" } }), "pairs of hex digits"],
      [step({ jump: 1 }), 'found keys "jump"'],
      [step([]), "turns[0].steps[0]: found []"],
      [{ schema: 1, turns: [], tokens: { input: 1 } }, '"output" is missing'],
      [{ schema: 1, turns: [], ignoreEof: "no" }, '"ignoreEof" is "no"'],
    ] as const
  ) {
    assertThrows(() => parseScript(value), ScriptError, place);
  }
});
