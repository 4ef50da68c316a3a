import { assertEquals, assertRejects } from "@std/assert";
import {
  encodeFrame,
  FrameConnection,
  type Head,
  MAX_FRAME_BYTES,
  packTexts,
  unpackTexts,
} from "./rpc.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function pair(
  fn: (near: Deno.Conn, far: Deno.Conn) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  const listener = Deno.listen({ transport: "unix", path: `${dir}/s` });
  const [near, far] = await Promise.all([
    Deno.connect({ transport: "unix", path: `${dir}/s` }),
    listener.accept(),
  ]);
  try {
    await fn(near, far);
  } finally {
    for (const conn of [near, far, listener]) {
      try {
        conn.close();
      } catch {
        // Closed by the test.
      }
    }
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("FrameConnection keeps frames whole, in order, whatever their size", () =>
  pair(async (near, far) => {
    const sender = new FrameConnection(near);
    const sizes = [0, 1, 7, 65_528, 65_536, 65_537, 1 << 20, 3];
    for (const [id, size] of sizes.entries()) {
      sender.send({ t: "x", id }, new Uint8Array(size).fill(id));
    }
    const drained = sender.flushed().then(() => sender.close());
    const seen: [number | undefined, number, boolean][] = [];
    await new FrameConnection(far).read((head, body) =>
      seen.push([head.id, body.length, body.every((b) => b === head.id)])
    );
    await drained;
    assertEquals(seen, sizes.map((size, id) => [id, size, true]));
  }));

Deno.test("FrameConnection reads frames that arrive byte by byte", () =>
  pair(async (near, far) => {
    const frames: string[] = [];
    const done = new FrameConnection(far).read((head, body) =>
      frames.push(`${head.t} ${text(body)}`)
    );
    const bytes = [
      ...encodeFrame({ t: "a" }, new TextEncoder().encode("one")),
      ...encodeFrame({ t: "b" }),
    ];
    for (const byte of bytes) await near.write(new Uint8Array([byte]));
    near.close();
    await done;
    assertEquals(frames, ["a one", "b "]);
  }));

Deno.test("FrameConnection ends on frames that break the rules", async () => {
  const raw = (size: number, head: number, rest: string) => {
    const bytes = new Uint8Array(8 + rest.length);
    new DataView(bytes.buffer).setUint32(0, size, true);
    new DataView(bytes.buffer).setUint32(4, head, true);
    bytes.set(new TextEncoder().encode(rest), 8);
    return bytes;
  };
  for (
    const [bytes, error] of [
      [raw(MAX_FRAME_BYTES + 1, 2, "{}"), RangeError],
      [raw(0xffffffff, 0xffffffff, ""), RangeError],
      [raw(3, 0, ""), RangeError],
      [raw(6, 9, "{}"), RangeError],
      [raw(6, 2, "[]"), TypeError],
      [raw(6, 2, "{}"), TypeError],
      [raw(6, 2, "{x"), SyntaxError],
      [raw(17, 13, '{"t":"a","id":'.slice(0, 13)), SyntaxError],
    ] as const
  ) {
    await pair(async (near, far) => {
      await near.write(bytes);
      near.close();
      await assertRejects(() => new FrameConnection(far).read(() => {}), error);
    });
  }
});

Deno.test("FrameConnection swallows what is sent after the other side went", () =>
  pair(async (near, far) => {
    far.close();
    const connection = new FrameConnection(near);
    for (let i = 0; i < 50; i++) {
      connection.send({ t: "x" } satisfies Head, new Uint8Array(100_000));
      await connection.flushed();
    }
    assertEquals(connection.queuedBytes, 0);
    connection.close();
    connection.close();
  }));

Deno.test("packTexts() and unpackTexts() are inverse", () => {
  for (const texts of [[], [""], ["a", "", "ü€😀", "\0"]]) {
    const { body, sizes } = packTexts(texts);
    assertEquals(unpackTexts(body, sizes), texts);
  }
  assertEquals(unpackTexts(new Uint8Array(0), "no list"), []);
  assertEquals(unpackTexts(new Uint8Array(2), [99, "x"]).length, 2);
});
