/**
 * Bounds-checked reads from an untrusted file.
 *
 * @module
 */

/** The file contradicts itself; the message says where. */
export class Malformed extends Error {
  /** The name of the class. */
  override readonly name = "Malformed";
}

/** Reads numbers and names from bytes and refuses to leave them. */
export class Bytes {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #little: boolean;

  /**
   * Wraps bytes.
   *
   * @param bytes The bytes.
   * @param little Whether numbers are little-endian.
   */
  constructor(bytes: Uint8Array, little = true) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#little = little;
  }

  /** The number of bytes. */
  get length(): number {
    return this.#bytes.length;
  }

  /**
   * Refuses a range that leaves the file.
   *
   * @param what The name of the range, for the message.
   * @param offset Its start.
   * @param size Its length.
   */
  need(what: string, offset: number, size: number): void {
    if (!(offset >= 0 && size >= 0 && offset + size <= this.length)) {
      throw new Malformed(
        `${what} ends at byte ${offset + size}, the file has ${this.length}`,
      );
    }
  }

  /** One byte. */
  u8(what: string, offset: number): number {
    this.need(what, offset, 1);
    return this.#view.getUint8(offset);
  }

  /** Two bytes. */
  u16(what: string, offset: number): number {
    this.need(what, offset, 2);
    return this.#view.getUint16(offset, this.#little);
  }

  /** Four bytes. */
  u32(what: string, offset: number): number {
    this.need(what, offset, 4);
    return this.#view.getUint32(offset, this.#little);
  }

  /** Eight bytes, refused above 2^53. */
  u64(what: string, offset: number): number {
    this.need(what, offset, 8);
    const value = this.#view.getBigUint64(offset, this.#little);
    if (value > 0x1fffffffffffffn) {
      throw new Malformed(`${what} is ${value}, which no file can hold`);
    }
    return Number(value);
  }

  /** A name that ends with a zero byte, at most 4096 bytes. */
  name(what: string, offset: number, end = this.length): string {
    this.need(what, offset, 1);
    const stop = Math.min(end, this.length, offset + 4096);
    const zero = this.#bytes.subarray(offset, stop).indexOf(0);
    if (zero < 0) throw new Malformed(`${what} at byte ${offset} does not end`);
    return new TextDecoder().decode(
      this.#bytes.subarray(offset, offset + zero),
    );
  }

  /** Part of the bytes. */
  slice(what: string, offset: number, size: number): Uint8Array {
    this.need(what, offset, size);
    return this.#bytes.subarray(offset, offset + size);
  }
}

/** One exported symbol. */
export interface ExportedSymbol {
  /** The name as a C program spells it. */
  readonly name: string;
  /** Whether it lies in memory that can be executed. */
  readonly code: boolean;
}

/** What a header says. */
export interface Image {
  /** The file format. */
  readonly format: "elf" | "macho" | "pe";
  /** The machine, in Deno's spelling where it has one. */
  readonly arch: string;
  /** The exported symbols whose names start with `rpi_`. */
  readonly symbols: readonly ExportedSymbol[];
  /** The number of all exported symbols. */
  readonly exportCount: number;
  /** The libraries it needs. */
  readonly needs: readonly string[];
  /** Whether code of it runs as soon as it is opened. */
  readonly initializers: boolean;
}
