import { readLines } from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";

/** Reads one line that a person types; nothing at the end of input. */
export type ReadLine = () => Promise<string | undefined>;

/**
 * The lines of standard input, one at a time for whoever asks next. Reading starts
 * with the first question.
 *
 * @param io The terminal.
 * @returns the reader and its end.
 */
export function terminalLines(
  io: CommandIo,
): { readLine: ReadLine; close(): void } {
  let lines: ReturnType<typeof readLines> | undefined;
  return {
    async readLine(): Promise<string | undefined> {
      lines ??= readLines(io.stdin);
      const { value, done } = await lines.next();
      return done ? undefined : new TextDecoder().decode(value.bytes);
    },
    close(): void {
      // A read that is under way ends with the process.
      void lines?.return(undefined).catch(() => {});
    },
  };
}
