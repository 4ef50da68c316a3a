import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "@bulkhead/sandbox/command";
import { pipedPrompt } from "./piped.ts";

function piped(...chunks: string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(
    chunks.map((chunk) => new TextEncoder().encode(chunk)),
  );
}

Deno.test("pipedPrompt() reads all of standard input", async () => {
  assertEquals(await pipedPrompt(piped("fix ", "it\n"), true), "fix it");
  assertEquals(await pipedPrompt(piped("fix it"), false), "fix it");
});

Deno.test("pipedPrompt() refuses nothing, and more than a prompt", async () => {
  await assertRejects(() => pipedPrompt(piped(), true), UsageError);
  await assertRejects(() => pipedPrompt(piped(" \n"), false), UsageError);
  const long = "x".repeat(1_048_577);
  await assertRejects(() => pipedPrompt(piped(long), true), RangeError);
});
