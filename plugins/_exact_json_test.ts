import { assertEquals } from "@std/assert";
import { parseExact, parseMessage } from "./_exact_json.ts";

Deno.test("parseExact() keeps long whole numbers, and leaves all others numbers", () => {
  const text =
    '{"a":12345678901234567890,"b":[-98765432109876543210],"c":1234567890123456,"d":1.5,"e":1e30}';
  assertEquals(
    JSON.stringify(parseExact(text)),
    '{"a":12345678901234567890,"b":[-98765432109876543210],"c":1234567890123456,"d":1.5,"e":1e+30}',
  );
  assertEquals(parseExact('{"a":9007199254740991}'), { a: 9007199254740991 });
});

Deno.test("parseMessage() keeps them in a call's arguments only", () => {
  const message = parseMessage(
    '{"id":12345678901234567890,"params":{"arguments":{"n":12345678901234567890},"t":12345678901234567890}}',
  );
  assertEquals(
    JSON.stringify(message),
    '{"id":12345678901234567000,"params":{"arguments":{"n":12345678901234567890},"t":12345678901234567000}}',
  );
});
