import { assertEquals } from "@std/assert";
import { parseJson } from "./json.ts";
import { applyDeclaration, emptyRegistration, runsOn } from "./registration.ts";

Deno.test("applyDeclaration() takes integers and lists of strings, and leaves the rest alone", () => {
  const apply = (json: string) => {
    const registration = emptyRegistration();
    registration.priority = 7;
    registration.platforms = ["linux"];
    const ok = applyDeclaration(registration, parseJson(json));
    return [ok, registration.priority, registration.platforms];
  };
  assertEquals(apply('{"priority":60,"platforms":["macos"],"x":1}'), [
    true,
    60,
    ["macos"],
  ]);
  assertEquals(apply("{}"), [true, 7, ["linux"]]);
  for (
    const priority of [
      "60.5",
      "60.0",
      "1e1",
      '"60"',
      "null",
      "2147483648",
      "-2147483649",
      "99999999999999999999",
    ]
  ) {
    assertEquals(
      apply(`{"priority":${priority}}`),
      [true, 7, ["linux"]],
      priority,
    );
  }
  assertEquals(apply('{"priority":-2147483648}'), [true, -2147483648, [
    "linux",
  ]]);
  assertEquals(apply('{"platforms":"linux"}'), [true, 7, ["linux"]]);
  assertEquals(apply('{"platforms":[]}'), [true, 7, []]);
  assertEquals(apply("[]"), [false, 7, ["linux"]]);
  assertEquals(apply("7"), [false, 7, ["linux"]]);
});

Deno.test("runsOn() knows every platform's name, in any case", () => {
  assertEquals(runsOn([], "linux"), true);
  assertEquals(runsOn(["ALL"], "windows"), true);
  assertEquals(runsOn(["MacOS"], "darwin"), true);
  assertEquals(runsOn(["darwin"], "darwin"), false);
  assertEquals(runsOn(["windows", "android"], "linux"), false);
});
