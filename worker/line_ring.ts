/** How large the buffer is at first. */
const FIRST = 65_536;

/**
 * Lines as bytes in one circular buffer, found again by their number. The buffer grows up to its bound; then a new line
 * takes the place of the oldest ones.
 */
export class LineRing {
  readonly #maxLines: number;
  readonly #maxBytes: number;
  /** By number modulo the bound: the number, where it starts on an endless tape, and how long it is. */
  readonly #numbers: Float64Array;
  readonly #starts: Float64Array;
  readonly #lengths: Uint32Array;
  #buffer: Uint8Array;
  #head = 0;
  #oldest = 0;
  #newest = -1;
  #bytes = 0;

  /**
   * Makes an empty ring.
   *
   * @param maxLines How many lines it holds at most.
   * @param maxBytes How many bytes it holds at most.
   */
  constructor(maxLines: number, maxBytes: number) {
    this.#maxLines = maxLines;
    this.#maxBytes = Math.max(1, maxBytes);
    this.#numbers = new Float64Array(maxLines).fill(-1);
    this.#starts = new Float64Array(maxLines);
    this.#lengths = new Uint32Array(maxLines);
    this.#buffer = new Uint8Array(Math.min(FIRST, this.#maxBytes));
  }

  /** How many bytes of lines are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Copies a line in.
   *
   * @param number Its number, larger than all before.
   * @param line Its bytes, no more than the bound.
   * @returns The number before which lines were written over, 0 for none.
   */
  push(number: number, line: Uint8Array): number {
    let start = this.#place(line.length);
    while (
      this.#overwrites(start, line.length) &&
      this.#buffer.length < this.#maxBytes
    ) {
      this.#grow(line.length);
      start = this.#place(line.length);
    }
    let whole = 0;
    while (this.#overwrites(start, line.length)) {
      const first = this.#first();
      this.drop(first);
      whole = first + 1;
    }
    this.#buffer.set(line, start % this.#buffer.length);
    const slot = number % this.#maxLines;
    this.#numbers[slot] = number;
    this.#starts[slot] = start;
    this.#lengths[slot] = line.length;
    this.#head = start + line.length;
    this.#bytes += line.length;
    if (this.#oldest > this.#newest) this.#oldest = number;
    this.#newest = number;
    return whole;
  }

  /**
   * The bytes of a line, valid until the next push.
   *
   * @param number Its number.
   * @returns The bytes, or `undefined` when it is not held here.
   */
  at(number: number): Uint8Array | undefined {
    const slot = number % this.#maxLines;
    if (this.#numbers[slot] !== number) return undefined;
    const start = (this.#starts[slot] ?? 0) % this.#buffer.length;
    return this.#buffer.subarray(start, start + (this.#lengths[slot] ?? 0));
  }

  /**
   * Lets a line go.
   *
   * @param number Its number; lines are let go oldest first.
   */
  drop(number: number): void {
    const slot = number % this.#maxLines;
    if (this.#numbers[slot] === number) {
      this.#numbers[slot] = -1;
      this.#bytes -= this.#lengths[slot] ?? 0;
    }
    if (number >= this.#oldest) this.#oldest = number + 1;
  }

  /** A line lies in one piece: one that does not fit before the buffer's end starts at its beginning. */
  #place(length: number): number {
    const at = this.#head % this.#buffer.length;
    return at + length > this.#buffer.length
      ? this.#head + this.#buffer.length - at
      : this.#head;
  }

  /** What starts before the tape's last lap is about to be written over. */
  #overwrites(start: number, length: number): boolean {
    if (length > this.#buffer.length) {
      return this.#buffer.length < this.#maxBytes;
    }
    const first = this.#first();
    if (first > this.#newest) return false;
    return (this.#starts[first % this.#maxLines] ?? 0) <
      start + length - this.#buffer.length;
  }

  /** The oldest line that is held; numbers in between may be kept elsewhere. */
  #first(): number {
    let number = this.#oldest;
    while (
      number <= this.#newest &&
      this.#numbers[number % this.#maxLines] !== number
    ) number++;
    return number;
  }

  #grow(wanted: number): void {
    const size = Math.min(
      this.#maxBytes,
      Math.max(this.#buffer.length * 2, wanted),
    );
    const buffer = new Uint8Array(size);
    let head = 0;
    for (let number = this.#oldest; number <= this.#newest; number++) {
      const line = this.at(number);
      if (line === undefined) continue;
      buffer.set(line, head);
      this.#starts[number % this.#maxLines] = head;
      head += line.length;
    }
    this.#buffer = buffer;
    this.#head = head;
  }
}
