import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { providerSafeName } from "./tools.ts";

Deno.test("providerSafeName() keeps fitting names and makes the others fit, each in its own way", () => {
  assertEquals(providerSafeName("a_b-C9"), "a_b-C9");
  assertEquals(providerSafeName("x".repeat(64)), "x".repeat(64));
  for (
    const name of ["", "a b", "größe", "x".repeat(65), "a/b", "😀", "a\0b"]
  ) {
    assertMatch(providerSafeName(name), /^[a-zA-Z0-9_-]{1,64}$/);
  }
  assertNotEquals(providerSafeName("a b"), providerSafeName("a/b"));
  assertNotEquals(
    providerSafeName("x".repeat(65)),
    providerSafeName("x".repeat(66)),
  );
});
