import { quoteWhole } from "./_text.ts";

/** Larger files are streamed; smaller ones are read whole, which is faster. */
const STREAM_FROM = 1024 * 1024;

/** The SHA-256 of the bytes in hex. */
export async function sha256Hex(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The SHA-256 of a regular file, and its bytes when they were read whole. */
export async function contentHash(
  path: string,
  size: number,
): Promise<{ sha: string; bytes?: Uint8Array }> {
  if (size >= STREAM_FROM) return { sha: await streamedHash(path) };
  // Size again after the open: a file that was swapped for an endless one must not be read to its end.
  using file = await Deno.open(path, { read: true });
  const bytes = new Uint8Array(size + 1);
  let length = 0;
  while (length < bytes.length) {
    const wanted = bytes.length - length;
    const read = await file.read(bytes.subarray(length));
    length += read ?? 0;
    // A regular file gives less than was asked for only at its end.
    if (read === null || read < wanted) break;
  }
  if (length !== size) {
    throw new TypeError(
      `Cannot hash ${quoteWhole(path)}: it changed while it was read`,
    );
  }
  const content = bytes.subarray(0, size);
  return { sha: await sha256Hex(content), bytes: content };
}

async function streamedHash(path: string): Promise<string> {
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256");
  using file = await Deno.open(path, { read: true });
  // Read one block while the other is hashed.
  const blocks = [new Uint8Array(BLOCK), new Uint8Array(BLOCK)];
  for (let turn = 0;; turn = 1 - turn) {
    const block = blocks[turn];
    if (block === undefined) break;
    const read = await file.read(block);
    if (read === null) break;
    hash.update(block.subarray(0, read));
  }
  return hash.digest("hex");
}

const BLOCK = 256 * 1024;

function hex(bytes: Uint8Array): string {
  return bytes.toHex();
}
