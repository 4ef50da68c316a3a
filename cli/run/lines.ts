import { readLines } from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";

/**
 * Reads one line that a person types; nothing at the end of input, or once the
 * signal says that the question is off. A line that is typed later then answers the
 * next question.
 */
export type ReadLine = (signal?: AbortSignal) => Promise<string | undefined>;

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
  let pending: Promise<string | undefined> | undefined;
  const next = async (): Promise<string | undefined> => {
    lines ??= readLines(io.stdin);
    const { value, done } = await lines.next();
    return done ? undefined : new TextDecoder().decode(value.bytes);
  };
  return {
    async readLine(signal): Promise<string | undefined> {
      if (signal?.aborted) return undefined;
      const line = pending ??= next();
      const off = Promise.withResolvers<undefined>();
      const onAbort = (): void => off.resolve(undefined);
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([
          line.then((text) => {
            if (pending === line && !signal?.aborted) pending = undefined;
            return text;
          }),
          off.promise,
        ]);
      } finally {
        signal?.removeEventListener("abort", onAbort);
      }
    },
    close(): void {
      // A read that is under way ends with the process.
      void lines?.return(undefined).catch(() => {});
    },
  };
}
