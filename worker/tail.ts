/** The last bytes of a stream, cut on a character border. */
export class Tail {
  readonly #cap: number;
  #bytes = new Uint8Array(0);

  /**
   * Makes an empty tail.
   *
   * @param cap How many bytes are kept.
   */
  constructor(cap: number) {
    this.#cap = cap;
  }

  /**
   * Takes the next bytes.
   *
   * @param chunk The bytes.
   */
  push(chunk: Uint8Array): void {
    const kept = chunk.length >= this.#cap
      ? new Uint8Array(0)
      : this.#bytes.subarray(chunk.length - this.#cap);
    const fresh = chunk.subarray(-this.#cap);
    const next = new Uint8Array(kept.length + fresh.length);
    next.set(kept);
    next.set(fresh, kept.length);
    this.#bytes = next;
  }

  /** The kept text. Bytes that are no UTF-8 read as U+FFFD. */
  get text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      trimTail(this.#bytes, this.#cap),
    );
  }
}

/**
 * The last bytes of a text that fit, never cutting a character in two.
 *
 * @param bytes The text in UTF-8.
 * @param cap How many bytes are wanted at most.
 * @returns The end of the text.
 */
function trimTail(bytes: Uint8Array, cap: number): Uint8Array {
  let start = Math.max(0, bytes.length - cap);
  if (bytes.length < cap) return bytes;
  // Continuation bytes at the front belong to a character whose start is gone.
  for (
    let skipped = 0;
    skipped < 3 && start < bytes.length &&
    ((bytes[start] ?? 0) & 0xc0) === 0x80;
    skipped++
  ) start++;
  return bytes.subarray(start);
}
