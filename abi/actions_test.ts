import { assert, assertEquals } from "@std/assert";
import { actionKey, answerAction, headlessActions } from "./actions.ts";
import { ACTION_NAMES } from "./codes.ts";

const context = { plugin: "p" };

Deno.test("headlessActions() answers or refuses every action, with JSON, without hanging", async () => {
  const actions = headlessActions();
  assertEquals(Object.keys(actions).sort(), ACTION_NAMES.map(actionKey).sort());
  for (const id of ACTION_NAMES.keys()) {
    for (
      const args of [
        "",
        "{}",
        "[",
        '{"op":"open","requestId":"r"}',
        "null",
        "7",
      ]
    ) {
      const answer = await answerAction(actions, id, args, context);
      assert(
        answer.rc === 0 || answer.rc === 1,
        `${ACTION_NAMES[id]}: ${answer.rc}`,
      );
      const value = JSON.parse(answer.text);
      assertEquals(answer.rc === 1, typeof value?.error === "string");
    }
  }
});

Deno.test("answerAction() names an unknown id", async () => {
  assertEquals(await answerAction(headlessActions(), 23, "{}", context), {
    rc: 2,
    text: '{"error":"unknown runtime action id 23"}',
  });
});

Deno.test("answerAction() passes values, integers and errors on", async () => {
  const actions = {
    ...headlessActions(),
    getSystemPrompt: () => Promise.resolve({ n: 2n ** 64n }),
    setModel: () => Promise.reject(new Error("no such model")),
    fork: () => new Promise(() => {}),
    getActiveTools: () => undefined,
  };
  assertEquals(
    (await answerAction(actions, 10, "", context)).text,
    '{"n":18446744073709551616}',
  );
  assertEquals(await answerAction(actions, 6, "", context), {
    rc: 1,
    text: '{"error":"no such model"}',
  });
  assertEquals(
    (await answerAction(actions, 12, "", context)).text,
    '{"queued":true}',
  );
  assertEquals(await answerAction(actions, 4, "", context), {
    rc: 0,
    text: "null",
  });
});

Deno.test("headlessActions() keeps status per plugin and says what changed", async () => {
  const actions = headlessActions();
  const set = async (value: string, plugin = "p") =>
    JSON.parse(
      (await answerAction(actions, 18, JSON.stringify({ key: "k", value }), {
        plugin,
      })).text,
    ).changed;
  assertEquals([
    await set("a"),
    await set("a"),
    await set("a", "q"),
    await set(""),
    await set(""),
  ], [
    true,
    false,
    true,
    true,
    false,
  ]);
});
