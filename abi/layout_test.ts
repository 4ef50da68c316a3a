import { assert, assertEquals, assertThrows } from "@std/assert";
import * as C from "./codes.ts";
import * as L from "./layout.ts";

Deno.test("layout has 37 events and 23 actions, all distinct", () => {
  assertEquals(C.EVENT_NAMES.length, C.EVENT_COUNT);
  assertEquals(new Set(C.EVENT_NAMES).size, 37);
  assertEquals(C.ACTION_NAMES.length, C.ACTION_COUNT);
  assertEquals(new Set(C.ACTION_NAMES).size, 23);
});

Deno.test("PluginApi grows only at the end: identity first, slots packed, newest last", () => {
  assertEquals(L.PLUGIN_API.map((s) => s.offset), [
    0,
    4,
    ...Array.from({ length: 17 }, (_, i) => 8 + 8 * i),
  ]);
  assertEquals(L.PLUGIN_API[0]?.name, "abi_version");
  assertEquals(L.PLUGIN_API.at(-1)?.name, "register_oauth_provider");
  assertEquals(
    L.slotOffset("register_before_agent_start"),
    L.slotOffset("declare") + 8,
  );
  assertEquals(L.PLUGIN_API_SIZE, (L.PLUGIN_API.at(-1)?.offset ?? 0) + 8);
  assertThrows(() => L.slotOffset("no_such_slot"), TypeError);
});

Deno.test("every struct is packed the way C packs it", () => {
  const sizes = new Map<string, [number, number]>([
    ["char *", [8, 8]],
    ["const char *", [8, 8]],
    ["size_t", [8, 8]],
    ["uint32_t", [4, 4]],
    ["uint8_t", [1, 1]],
  ]);
  for (const struct of L.STRUCTS) {
    let at = 0;
    let align = 1;
    let widest = 0;
    for (const field of struct.fields) {
      const [size, fieldAlign] = sizes.get(field.type) ?? [0, 0];
      assert(
        size > 0,
        `${struct.name}.${field.name}: "${field.type}" comes later in the table`,
      );
      if (struct.name === "EventPayload") at = 0;
      at = Math.ceil(at / fieldAlign) * fieldAlign;
      assertEquals(field.offset, at, `${struct.name}.${field.name}`);
      at += size;
      align = Math.max(align, fieldAlign);
      widest = Math.max(widest, at);
    }
    assertEquals(struct.align, align, struct.name);
    assertEquals(struct.size, Math.ceil(widest / align) * align, struct.name);
    sizes.set(struct.name, [struct.size, struct.align]);
  }
});

Deno.test("eventTag() takes the enum's and the snake case spelling", () => {
  assertEquals(C.eventTag("SessionStart"), 2);
  assertEquals(C.eventTag("session_start"), 2);
  assertEquals(C.eventTag("EditorChange"), 36);
  assertEquals(C.eventTag("nope"), undefined);
});

Deno.test("payloadKind() follows the contract", () => {
  const kinds = C.EVENT_NAMES.map((_, tag) => C.payloadKind(tag));
  assertEquals(kinds.flatMap((k, tag) => k === "message" ? [tag] : []), [
    21,
    22,
    23,
  ]);
  assertEquals(kinds.flatMap((k, tag) => k === "tool_call" ? [tag] : []), [
    24,
    25,
    29,
  ]);
  assertEquals(kinds.flatMap((k, tag) => k === "tool_result" ? [tag] : []), [
    26,
    30,
  ]);
});

Deno.test("describeRegisterCode() has distinct words for every fixed code", () => {
  const texts = [0, 1, 2, 3, 70, 42, -1].map(C.describeRegisterCode);
  assertEquals(new Set(texts).size, texts.length);
  assert(texts[5]?.includes("code 42"));
});
