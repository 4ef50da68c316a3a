/**
 * What a plugin prints: labelled, cleaned of control characters, at most so many lines a second, the end kept.
 *
 * @module
 */

/** Options of {@linkcode OutputLog}. */
export interface OutputLogOptions {
  /** The plugin's name: the label of each line. */
  readonly name: string;
  /** Gets each line. */
  readonly onLine?: (line: string) => void;
  /** How many lines a second are passed on. */
  readonly linesPerSecond?: number;
  /** The clock. */
  readonly now?: () => number;
}

/** Characters of a line that are told. */
const MAX_LINE = 2_000;
/** Characters of the last lines that are kept for an error. */
const MAX_TAIL = 8_192;

/** Collects what one plugin prints. */
export class OutputLog {
  readonly #options: OutputLogOptions;
  readonly #decoder = new TextDecoder();
  readonly #perSecond: number;
  readonly #now: () => number;
  #partial = "";
  #tail = "";
  #second = 0;
  #lines = 0;
  #dropped = 0;
  #reported = 0;

  /**
   * Creates a log.
   *
   * @param options The label and where lines go.
   */
  constructor(options: OutputLogOptions) {
    this.#options = options;
    this.#perSecond = options.linesPerSecond ?? 100;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The last 8192 characters, cleaned. */
  get tail(): string {
    return clean(this.#tail + this.#partial).trimEnd();
  }

  /** The number of lines that were not passed on. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Takes a chunk.
   *
   * @param chunk The bytes.
   */
  push(chunk: Uint8Array): void {
    const lines =
      (this.#partial + this.#decoder.decode(chunk, { stream: true })).split(
        "\n",
      );
    this.#partial = lines.pop() ?? "";
    if (this.#partial.length > MAX_TAIL) {
      lines.push(this.#partial);
      this.#partial = "";
    }
    for (const line of lines) this.#line(line);
    if (lines.length > 0) {
      this.#tail = (this.#tail + lines.slice(-200).map((l) =>
        l.slice(0, MAX_LINE)
      ).join("\n") + "\n").slice(-MAX_TAIL);
    }
  }

  /** Says how much was dropped, if anything. */
  end(): void {
    if (this.#partial !== "") this.#line(this.#partial);
    this.#report();
  }

  #line(line: string): void {
    const second = Math.floor(this.#now() / 1_000);
    if (second !== this.#second) {
      this.#report();
      this.#second = second;
      this.#lines = 0;
    }
    if (++this.#lines > this.#perSecond) {
      this.#dropped++;
      return;
    }
    const { name, onLine } = this.#options;
    onLine?.(`[${name}] ${clean(line).slice(0, MAX_LINE)}`);
  }

  #report(): void {
    const fresh = this.#dropped - this.#reported;
    if (fresh === 0) return;
    this.#reported = this.#dropped;
    this.#options.onLine?.(
      `[${this.#options.name}] (${fresh} more lines dropped)`,
    );
  }
}

/** Escape sequences of a terminal. */
const ESCAPES = new RegExp(
  `${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`,
  "g",
);

function clean(text: string): string {
  return text.replace(ESCAPES, "")
    .replace(/\p{Cc}/gu, (c) => c === "\t" || c === "\n" ? c : "");
}
