/**
 * A program on a pseudo-terminal: what it shows is awaited, keys are typed, and
 * its end is its own exit code.
 *
 * @module
 */

/** How a program is started on a terminal. */
export interface TerminalOptions {
  /** Its working directory. */
  cwd?: string;
  /** Variables on top of ours. */
  env?: Record<string, string>;
}

/** How long something may take to show before the test gives up. */
const BOUND_MS = 60_000;

/** One program on a terminal of its own; `script` of util-linux keeps it. */
export class Terminal implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #keys: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #shown = "";
  #seen = 0;

  /**
   * Starts a program.
   *
   * @param argv The program and its arguments.
   * @param options Where and with what.
   */
  constructor(argv: readonly string[], options: TerminalOptions = {}) {
    const line = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    this.#child = new Deno.Command("script", {
      args: ["-qfec", `exec ${line.join(" ")}`, "/dev/null"],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
      ...options,
      env: { TERM: "xterm-256color", SHELL: "/bin/sh", ...options.env },
    }).spawn();
    this.#keys = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  /** Everything that was shown so far, echoed keys and colours included. */
  get shown(): string {
    return this.#shown;
  }

  /** Waits until a text is shown that was not awaited before. */
  async see(text: string): Promise<void> {
    for (;;) {
      const at = this.#shown.indexOf(text, this.#seen);
      if (at >= 0) {
        this.#seen = at + text.length;
        return;
      }
      if (await this.#more() === undefined) {
        throw new Error(
          `"${text}" was not shown before the end:\n${this.#shown}`,
        );
      }
    }
  }

  /** Types keys; a line ends with `\r`, Ctrl-C is `\x03`. */
  async type(keys: string): Promise<void> {
    await this.#keys.write(new TextEncoder().encode(keys));
  }

  /** Waits for the end and tells the exit code. */
  async end(): Promise<number> {
    while (await this.#more() !== undefined);
    return (await this.#child.status).code;
  }

  async #more(): Promise<string | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`nothing more is shown:\n${this.#shown}`)),
        BOUND_MS,
      );
    });
    try {
      const { value } = await Promise.race([this.#reader.read(), late]);
      this.#shown += value ?? "";
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the program by hanging up. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#keys.close().catch(() => {});
    await this.#reader.cancel().catch(() => {});
    await this.#child.status;
  }
}
