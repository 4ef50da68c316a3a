import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  encodeMessage,
  errorBody,
  MAX_BODY,
  MessageReader,
  parseRequest,
  successBody,
} from "./rpc.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A connection that gives what it is told, in the pieces it is told. */
function source(...pieces: Uint8Array[]) {
  const left = [...pieces];
  return {
    read(buffer: Uint8Array): Promise<number | null> {
      const piece = left.shift();
      if (piece === undefined) return Promise.resolve(null);
      const taken = piece.subarray(0, buffer.length);
      buffer.set(taken);
      if (taken.length < piece.length) {
        left.unshift(piece.subarray(taken.length));
      }
      return Promise.resolve(taken.length);
    },
  };
}

Deno.test("encodeMessage() writes a little-endian length and the body", () => {
  assertEquals([...encodeMessage('"é"')], [4, 0, 0, 0, 0x22, 0xc3, 0xa9, 0x22]);
  assertEquals([...encodeMessage("{}")], [2, 0, 0, 0, 0x7b, 0x7d]);
});

Deno.test("encodeMessage() takes a body of the whole limit and refuses one more byte", () => {
  assertEquals(encodeMessage("x".repeat(MAX_BODY)).length, MAX_BODY + 4);
  assertThrows(
    () => encodeMessage("x".repeat(MAX_BODY + 1)),
    RangeError,
    "16777217",
  );
  assertThrows(
    () => encodeMessage("漢".repeat(6_000_000)),
    RangeError,
    "18000000",
  );
});

Deno.test("MessageReader puts frames together at every cut", async () => {
  const whole = new Uint8Array([
    ...encodeMessage('{"a":"é😀"}'),
    ...encodeMessage("{}"),
    ...encodeMessage('"z"'),
  ]);
  for (let cut = 0; cut <= whole.length; cut++) {
    const reader = new MessageReader(
      source(whole.subarray(0, cut), whole.subarray(cut)),
    );
    const got: string[] = [];
    for (
      let body = await reader.next();
      body !== null;
      body = await reader.next()
    ) {
      got.push(new TextDecoder().decode(body));
    }
    assertEquals(got, ['{"a":"é😀"}', "{}", '"z"']);
  }
  const reader = new MessageReader(
    source(...[...whole].map((byte) => new Uint8Array([byte]))),
  );
  assertEquals((await reader.next())?.length, 14);
});

Deno.test("MessageReader reads a large body through a small buffer", async () => {
  const text = "é".repeat(1_000_000);
  const reader = new MessageReader(
    source(encodeMessage(text), encodeMessage("1")),
  );
  assertEquals((await reader.next())?.length, 2_000_000);
  assertEquals(new TextDecoder().decode(await reader.next() ?? undefined), "1");
  assertEquals(await reader.next(), null);
});

Deno.test("MessageReader refuses a length over the limit before it reads on", async () => {
  const reader = new MessageReader(source(new Uint8Array([1, 0, 0, 1])));
  await assertRejects(() => reader.next(), RangeError, "16777217");
});

Deno.test("MessageReader tells a cut frame from a clean end", async () => {
  assertEquals(await new MessageReader(source()).next(), null);
  await assertRejects(
    () => new MessageReader(source(new Uint8Array([1, 0]))).next(),
    Deno.errors.UnexpectedEof,
  );
  const half = new MessageReader(source(encodeMessage("{}").subarray(0, 5)));
  await assertRejects(() => half.next(), Deno.errors.UnexpectedEof);
});

Deno.test("parseRequest() gives method and params and ignores other fields", () => {
  assertEquals(
    parseRequest(bytes('{"id":1,"method":"m","params":{"a":1},"x":2}')),
    {
      ok: true,
      request: { id: "1", method: "m", params: { a: 1 } },
    },
  );
  for (const params of ["null", "[]", "1", '"x"']) {
    const parsed = parseRequest(
      bytes(`{"id":0,"method":"m","params":${params}}`),
    );
    assertEquals(parsed.ok && parsed.request.params, {}, params);
  }
});

Deno.test("parseRequest() keeps every digit of an id", () => {
  const id = (text: string) => {
    const parsed = parseRequest(bytes(text));
    return parsed.ok ? parsed.request.id : parsed.id;
  };
  assertEquals(
    id('{"id":18446744073709551615,"method":"m"}'),
    "18446744073709551615",
  );
  assertEquals(
    id('{"method":"m","params":{"id":1,"method":"n"},"id":9007199254740993}'),
    "9007199254740993",
  );
  assertEquals(
    id(
      '{"id":9007199254740993,"params":{"id":9007199254740995,"method":"n"},"method":"m"}',
    ),
    "9007199254740993",
  );
  assertEquals(id('{"id":9007199254740993}'), "9007199254740993");
});

Deno.test("parseRequest() refuses what is no request and no id", () => {
  for (
    const text of [
      "",
      "x",
      "[]",
      "1",
      "null",
      "{}",
      '{"id":-1}',
      '{"id":1.5}',
      '{"id":"1"}',
      '{"id":18446744073709551616}',
      '{"id":1e300}',
      '{"id":null,"method":"m"}',
    ]
  ) {
    const parsed = parseRequest(bytes(text));
    assert(!parsed.ok && parsed.id === undefined, text);
  }
  assert(!parseRequest(new Uint8Array([0x22, 0xff, 0x22])).ok);
});

Deno.test("bodies are flat and carry result or error, never both", () => {
  assertEquals(successBody("7", "null"), '{"id":7,"result":null}');
  assertEquals(
    errorBody("7", "busy", 'a "b"'),
    '{"id":7,"error":{"code":"busy","message":"a \\"b\\""}}',
  );
});
