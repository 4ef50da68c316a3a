/**
 * Decompression that stops at a limit instead of filling memory.
 *
 * @module
 */
import { InstallError } from "./_install_error.ts";
import { messageOf } from "./_text.ts";

/**
 * Decompresses a whole stream.
 *
 * @param packed The compressed bytes.
 * @param format The format that they have.
 * @param maxBytes The largest result; one byte more is refused before it is kept.
 * @returns The bytes.
 * @throws {InstallError} When the data is damaged or the result too large.
 */
export async function inflate(
  packed: Uint8Array,
  format: "gzip" | "deflate-raw",
  maxBytes: number,
): Promise<Uint8Array> {
  let at = 0;
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      // A copy, because the typings of the stream ask for a plain ArrayBuffer.
      if (at < packed.length) controller.enqueue(packed.slice(at, at + 65_536));
      at += 65_536;
      if (at >= packed.length) controller.close();
    },
  });
  const reader = source.pipeThrough(new DecompressionStream(format))
    .getReader();
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      if (total > maxBytes) {
        throw new InstallError(
          "too_large",
          `Cannot unpack the archive: it unpacks to more than ${maxBytes} bytes`,
        );
      }
      chunks.push(value);
    }
  } catch (error) {
    if (error instanceof InstallError) throw error;
    throw new InstallError(
      "bad_archive",
      `Cannot unpack the archive: ${messageOf(error)}`,
      { cause: error },
    );
  } finally {
    await reader.cancel().catch(() => {});
  }
  return concatenate(chunks, total);
}

function concatenate(chunks: Uint8Array[], total: number): Uint8Array {
  const only = chunks[0];
  if (chunks.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
